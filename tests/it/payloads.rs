use std::path::Path;
use std::time::Duration;

use redrive_local::Config;
use serde_json::{Value, json};

use crate::support::function::{Function, ORDERS, response};
use crate::support::shop::{Open, shop};

/// The largest event that Lambda hands over.
/// <https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html>
const LARGEST_EVENT: usize = 6 << 20;

fn id(number: usize) -> String {
    format!("059f36b4-87a3-44ab-83d2-{number:012}")
}

/// A record as Lambda hands it over, 1,100 bytes or so.
fn record(number: usize, gateway: &str) -> Value {
    let order = json!({
        "order_id": format!("A-{number}"),
        "lines": [{ "sku": "tea", "quantity": 1 }],
        "gateway": gateway,
        "note": "kindly ".repeat(80),
    });
    json!({
        "messageId": id(number),
        "receiptHandle": format!("receipt-handle-{number}"),
        "body": order.to_string(),
        "attributes": {
            "ApproximateReceiveCount": "1",
            "SentTimestamp": "1545082649183",
            "SenderId": "AIDAIENQZJOLO23YVJ4VO",
            "ApproximateFirstReceiveTimestamp": "1545082649185",
        },
        "messageAttributes": {},
        "md5OfBody": "e4e68fb7bd0e697a0ae8f1bb342846b3",
        "eventSource": "aws:sqs",
        "eventSourceARN": "arn:aws:sqs:eu-west-1:123456789012:orders",
        "awsRegion": "eu-west-1",
    })
}

/// A sample event, and the ids in it.
fn sample(name: &str) -> (String, Vec<String>) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("events").join(name);
    let event = std::fs::read_to_string(path).unwrap();
    let records: Value = serde_json::from_str(&event).unwrap();
    let ids = records["Records"].as_array().unwrap().iter();
    let ids = ids.map(|record| record["messageId"].as_str().unwrap().to_owned()).collect();
    (event, ids)
}

#[tokio::test]
async fn events_of_0_1_10_and_5500_records_are_answered_byte_for_byte() {
    let aws = Open::start(Config { functions: vec![], mappings: vec![], ..shop(10) }).await;
    let mut function = Function::start(ORDERS, &[("AWS_ENDPOINT_URL", &aws.local.endpoint_url())]).await;

    for (size, fails) in [(0_usize, 1), (1, 2), (1, 1), (10, 11), (10, 3), (10, 1), (5_500, 10)] {
        let failing: Vec<_> = (1..=size).filter(|number| number.is_multiple_of(fails)).collect();
        let gateway = |number: usize| if number.is_multiple_of(fails) { "down" } else { "up" };
        let records: Vec<_> = (1..=size).map(|number| record(number, gateway(number))).collect();
        let event = json!({ "Records": records }).to_string();
        assert!(event.len() <= LARGEST_EVENT, "{}", event.len());
        assert!(size < 5_500 || event.len() > 5_900_000, "{}", event.len());
        let answer = function.respond(event).await;
        assert!(answer == response(failing.iter().copied().map(id)), "{size} records: {answer:.1000}");
    }
    function.end().await;
    // 1, 3, 10 and 550 failures, at most ten in a call. On a busy machine a call may leave before it has ten.
    let calls = aws.close().await.totals.aws_calls;
    let [(name, count)] = &calls.into_iter().collect::<Vec<_>>()[..] else { panic!("one kind of call") };
    assert_eq!(name, "sqs.ChangeMessageVisibilityBatch");
    assert!((1 + 1 + 1 + 55..70).contains(count), "{count}");
}

#[tokio::test]
async fn the_sample_events_are_answered_as_their_documentation_says() {
    let variables = [("REDRIVE_TIME_LIMIT", "0.2"), ("REDRIVE_MAX_RECEIVE_COUNT", "10")];
    let mut function = Function::start(ORDERS, &variables).await;
    // Without a dead-letter queue, what would be a dead letter is a failure.
    let table: [(&str, &[usize]); 8] = [
        ("empty.json", &[]),
        ("standard.json", &[]),
        ("one-in-ten-fails.json", &[6]),
        ("poison.json", &[0]),
        ("redelivered.json", &[0]),
        ("last-delivery.json", &[0]),
        ("mixed.json", &[1, 2, 3, 4, 5, 6, 7]),
        ("fifo.json", &[1, 2]),
    ];
    for (name, failing) in table {
        let (event, ids) = sample(name);
        let expected = response(failing.iter().map(|&at| &ids[at]));
        if name == "fifo.json" {
            // Another queue: its function is another one.
            function.end().await;
            function = Function::start(ORDERS, &variables).await;
        }
        assert_eq!(function.respond(event).await, expected, "{name}");
    }
    function.end().await;
}

/// Nothing of such an event is deleted, and the next one is handled by the same process.
#[tokio::test]
async fn an_unanswerable_event_fails_and_the_next_one_is_handled() {
    let mut function = Function::start(ORDERS, &[]).await;
    let mut nameless = record(2, "up");
    nameless["messageId"] = Value::Null;
    let nameless = json!({ "Records": [record(1, "up"), nameless] }).to_string();
    let table = [
        (
            nameless.as_str(),
            "MissingMessageId",
            "record 1 has no messageId and could not be reported as failed",
        ),
        (
            "{\"Records\":[",
            "InvalidEvent",
            "expected an SQS event, got a payload that is not JSON (EOF while parsing a list at line 1 column 12)",
        ),
    ];
    for (event, kind, error) in table {
        function.offer("broken", event.to_owned(), Duration::from_secs(10));
        let answer = function.answer().await;
        assert_eq!((answer.request_id.as_str(), answer.kind.as_str()), ("broken", "error"), "{answer:?}");
        let report: Value = serde_json::from_str(&answer.body).unwrap();
        assert_eq!((&report["errorType"], &report["errorMessage"]), (&json!(kind), &json!(error)));
    }
    let good = json!({ "Records": [record(3, "up")] }).to_string();
    assert_eq!(function.respond(good).await, response([""; 0]));
    function.end().await;
}
