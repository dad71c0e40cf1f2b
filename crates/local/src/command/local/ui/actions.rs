//! The page's actions: send, retry, and change the pace of time.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use redrive_sqs::LONGEST_VISIBILITY;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::details::Given;
use super::letter;
use super::shared::Shared;
use crate::command::page::{error, respond};
use crate::{NewMessage, ResendError, Speed};

/// How long a skip may take before the server answers. Invocations on the way take real time, and the skip continues after
/// the answer.
const SKIP_TIMEOUT: Duration = Duration::from_secs(2);

/// Longest skip in seconds: the longest time that a message can be hidden.
const LONGEST_SKIP: f64 = LONGEST_VISIBILITY.as_secs() as f64;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SendRequest {
    queue: String,
    body: String,
    #[serde(default)]
    attributes: BTreeMap<String, Given>,
    group_id: Option<String>,
    deduplication_id: Option<String>,
    /// Delay in seconds.
    delay: Option<u64>,
}

pub(super) async fn send(State(shared): State<Arc<Shared>>, body: Bytes) -> Response {
    let sending: SendRequest = match read(&body) {
        Ok(sending) => sending,
        Err(refusal) => return *refusal,
    };
    let SendRequest { queue, body, attributes, group_id, deduplication_id, delay } = sending;
    if !shared.setup.sources.contains(&queue) {
        let sources = shared.setup.sources.join(", ");
        return error(StatusCode::BAD_REQUEST, &format!("queue {queue} is not one of: {sources}"));
    }
    let attributes = attributes.into_iter().map(|(name, given)| Ok((name.clone(), given.attribute(&name)?)));
    let attributes = match attributes.collect::<Result<_, String>>() {
        Ok(attributes) => attributes,
        Err(wrong) => return error(StatusCode::BAD_REQUEST, &wrong),
    };
    let message = NewMessage {
        body,
        attributes,
        trace_header: None,
        group_id,
        deduplication_id,
        delay: delay.map(Duration::from_secs),
    };
    match shared.control.send(&queue, message) {
        Ok(id) => respond(StatusCode::CREATED, &json!({ "id": id })),
        Err(refused) => error(StatusCode::BAD_REQUEST, &refused.to_string()),
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Retry {
    /// Id of the dead message.
    id: String,
}

pub(super) async fn retry(State(shared): State<Arc<Shared>>, body: Bytes) -> Response {
    let Retry { id } = match read(&body) {
        Ok(retry) => retry,
        Err(refusal) => return *refusal,
    };
    let queue = shared.model().find(&id).map(|message| message.queue.clone());
    let Some(queue) = queue else {
        return error(StatusCode::NOT_FOUND, &format!("message {id} is unknown, or no longer kept"));
    };
    let Some(dead_letter_queue) = shared.setup.dead_letter_queues.get(&queue) else {
        return error(StatusCode::CONFLICT, &format!("queue {queue} has no dead-letter queue"));
    };
    match letter::retry(&shared.control, dead_letter_queue, &queue, &id) {
        Ok(id) => respond(StatusCode::CREATED, &json!({ "id": id })),
        Err(gone @ ResendError::NotThere(_)) => error(StatusCode::CONFLICT, &gone.to_string()),
        Err(refused) => error(StatusCode::BAD_REQUEST, &refused.to_string()),
    }
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Time {
    /// Sets the speed of waiting.
    Speed(Value),
    /// Holds or releases the clock.
    Held(bool),
    /// Skips to this many seconds after the start.
    Until(f64),
}

pub(super) async fn clock(State(shared): State<Arc<Shared>>, body: Bytes) -> Response {
    let time: Time = match read(&body) {
        Ok(time) => time,
        Err(refusal) => return *refusal,
    };
    match time {
        Time::Held(true) => shared.control.hold(),
        Time::Held(false) => shared.control.release(),
        Time::Speed(speed) => {
            let set = speed_of(&speed).map(|speed| shared.control.set_speed(speed));
            if !matches!(set, Some(Ok(()))) {
                let reason =
                    format!("speed is {speed}, allowed: \"max\", or a number above 0 and at most 1000000");
                return error(StatusCode::BAD_REQUEST, &reason);
            }
        }
        Time::Until(until) => {
            let Some(time) = to_skip(until, shared.control.clock().at) else {
                let reason = format!("until is {until}, allowed: at most {LONGEST_SKIP} s from now");
                return error(StatusCode::BAD_REQUEST, &reason);
            };
            let skip = shared.control.skip(time);
            // The skip continues if it takes longer.
            let _ = tokio::time::timeout(SKIP_TIMEOUT, skip).await;
        }
    }
    shared.sample();
    respond(StatusCode::OK, &json!({}))
}

/// Returns the time to skip, or None if the moment is past.
fn to_skip(until: f64, at: Duration) -> Option<Duration> {
    let left = until - at.as_secs_f64();
    (left <= LONGEST_SKIP).then(|| Duration::from_secs_f64(left.max(0.0)))
}

fn speed_of(value: &Value) -> Option<Speed> {
    match value {
        Value::String(max) if max == "max" => Some(Speed::Max),
        Value::Number(times) => times.as_f64().map(Speed::Times),
        _ => None,
    }
}

pub(super) fn read<T: DeserializeOwned>(body: &Bytes) -> Result<T, Box<Response>> {
    serde_json::from_slice(body).map_err(|wrong| Box::new(error(StatusCode::BAD_REQUEST, &wrong.to_string())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_told_one_thing_at_a_time() {
        let read = |text: &str| serde_json::from_str::<Time>(text).ok();
        assert_eq!(read(r#"{"held": true}"#), Some(Time::Held(true)));
        assert_eq!(read(r#"{"until": 2.5}"#), Some(Time::Until(2.5)));
        assert_eq!(read(r#"{"until": 2.5, "held": true}"#), None);
        assert_eq!(read("{}"), None);
    }

    #[test]
    fn no_more_is_skipped_than_a_message_can_wait() {
        let at = Duration::from_secs(10);
        assert_eq!(to_skip(12.5, at), Some(Duration::from_millis(2_500)));
        assert_eq!(to_skip(9.0, at), Some(Duration::ZERO));
        assert_eq!((to_skip(50_000.0, at), to_skip(f64::NAN, at)), (None, None));
    }

    #[test]
    fn a_speed_is_a_number_or_max() {
        assert_eq!(speed_of(&json!("max")), Some(Speed::Max));
        assert_eq!(speed_of(&json!(2.5)), Some(Speed::Times(2.5)));
        assert_eq!((speed_of(&json!("fast")), speed_of(&json!(null))), (None, None));
    }
}
