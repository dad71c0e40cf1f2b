//! A consumer whose keys are those of a function with Powertools for Python: see `dev/emulators/test_once.py`.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use md5::{Digest, Md5};
use redrive::once::Once;
use redrive::reexports::{aws_lambda_events::sqs::SqsEvent, tokio::time::Instant};
use redrive::{Consumer, Failure, MessageReport};
use redrive_dynamodb::DynamoDb;
use serde::Deserialize;
use serde_json::{Value, json};

pub(crate) const PREFIX: &str = "payments";

#[derive(Deserialize)]
struct Payment {
    id: String,
}

pub(crate) fn key(id: &str) -> String {
    let json = Value::from(id).to_string();
    Md5::digest(json).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Handles a batch of payments with these ids. Returns the ids that the handler took, and the outcome of each message.
pub(crate) async fn handle(store: DynamoDb, ids: &[&str]) -> Value {
    let (charged, ends) = (Arc::<Mutex<Vec<String>>>::default(), Arc::<Mutex<Vec<String>>>::default());
    let (charging, ending) = (Arc::clone(&charged), Arc::clone(&ends));
    let charge = move |payment: Payment| {
        let refused = payment.id.starts_with("refused");
        charging.lock().unwrap().push(payment.id);
        async move { if refused { Err(Failure::reject("refused")) } else { Ok(()) } }
    };
    let consumer = Consumer::new(charge)
        .once(Once::new(store.prefix(PREFIX)).key(|payment: &Payment| key(&payment.id)))
        .observe(move |MessageReport { outcome, .. }: &MessageReport| {
            ending.lock().unwrap().push(format!("{outcome:?}"));
        });
    let records: Vec<_> = ids.iter().enumerate().map(|(n, id)| record(n, id)).collect();
    let event: SqsEvent = serde_json::from_value(json!({ "Records": records })).unwrap();
    consumer.handle(event, Instant::now() + Duration::from_secs(30)).await.unwrap();
    let taken = |list: &Mutex<Vec<String>>| std::mem::take(&mut *list.lock().unwrap());
    let (mut charged, mut ends) = (taken(&charged), taken(&ends));
    charged.sort();
    ends.sort();
    json!({ "charged": charged, "ends": ends })
}

fn record(n: usize, id: &str) -> Value {
    json!({
        "messageId": format!("message-{n}"),
        "receiptHandle": format!("receipt-{n}-{}", std::process::id()),
        "body": json!({ "id": id }).to_string(),
        "attributes": { "ApproximateReceiveCount": "1" },
        "messageAttributes": {},
        "eventSource": "aws:sqs",
        "eventSourceARN": "arn:aws:sqs:eu-west-1:123456789012:payments",
        "awsRegion": "eu-west-1",
    })
}
