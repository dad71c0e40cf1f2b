//! Works on the messages of a queue. What fails is tried again, what cannot succeed becomes a dead letter.

use redrive::Failure;
use serde::Deserialize;

#[derive(Deserialize)]
struct Job {
    id: String,
    amount: i64,
}

#[tokio::main]
async fn main() -> Result<(), redrive::Error> {
    redrive::run(work).await
}

async fn work(job: Job) -> Result<(), Failure> {
    if job.amount <= 0 {
        return Err(Failure::reject("the amount must be above 0").with_reason("bad-amount"));
    }
    tracing::info!(job.id, job.amount, "done");
    Ok(())
}

#[cfg(test)]
mod tests {
    use redrive::{Consumer, Invocation};

    use super::*;

    #[tokio::test]
    async fn only_what_fails_is_reported() {
        let event = serde_json::from_str(include_str!("../events/batch.json")).unwrap();
        let response = Consumer::new(work).handle(event, Invocation::default()).await.unwrap();
        let failed: Vec<_> = response.batch_item_failures.iter().map(|failure| &failure.item_identifier).collect();
        assert_eq!(failed, ["c7e3f0a4-2d0b-4b52-9d55-2a8f6b1e9c02"]);
    }
}
