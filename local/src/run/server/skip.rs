//! Time control for those who only have HTTP: `curl -d 3600 http://127.0.0.1:PORT/_redrive/skip` skips an hour.

use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use axum::extract::State;
use http::StatusCode;
use redrive_sqs::Quoted;

use crate::run::World;

/// A year, which is longer than anything that SQS and CloudWatch wait for.
const LONGEST: f64 = 31_536_000.0;

/// Skips as many seconds as the body says, and answers with the time that it is then, in seconds since 1970.
pub(super) async fn skip(
    State(world): State<Arc<World>>,
    body: String,
) -> Result<String, (StatusCode, String)> {
    let seconds = seconds(&body).map_err(|reason| (StatusCode::BAD_REQUEST, reason))?;
    world.clock.skip(seconds).await;
    Ok(world.clock.now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64().to_string())
}

fn seconds(body: &str) -> Result<Duration, String> {
    match body.trim().parse() {
        Ok(seconds) if (0.0..=LONGEST).contains(&seconds) => Ok(Duration::from_secs_f64(seconds)),
        _ => Err(format!("seconds to skip: {}, allowed: 0 to {LONGEST}", Quoted(body))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_body_is_a_number_of_seconds() {
        assert_eq!(seconds("3600\n"), Ok(Duration::from_secs(3_600)));
        assert_eq!(seconds("0.5"), Ok(Duration::from_millis(500)));
        for wrong in ["", "-1", "NaN", "inf", "31536001", "soon"] {
            let reason = seconds(wrong).unwrap_err();
            assert_eq!(reason, format!("seconds to skip: {wrong:?}, allowed: 0 to 31536000"));
        }
    }
}
