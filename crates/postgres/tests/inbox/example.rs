use serde_json::{Value, json};

use crate::server::Database;

#[path = "../../../../tests/it/support/function.rs"]
#[allow(dead_code, reason = "the tests of redrive use the rest")]
pub(crate) mod function;

use function::{Function, example, response};

/// The example's own messages, in one batch.
fn event() -> Value {
    let record = |(at, line): (usize, &str)| {
        let message: Value = serde_json::from_str(line).unwrap();
        json!({
            "messageId": format!("m{at}"),
            "receiptHandle": "handle",
            "body": message["body"].to_string(),
            "attributes": { "ApproximateReceiveCount": "1" },
            "eventSourceARN": "arn:aws:sqs:eu-west-1:123456789012:payments",
        })
    };
    let lines = include_str!("../../examples/payments.jsonl").lines();
    json!({ "Records": lines.enumerate().map(record).collect::<Vec<_>>() })
}

#[tokio::test]
async fn the_example_makes_each_payment_once_however_often_it_is_sent() {
    check("payments").await;
}

#[tokio::test]
async fn the_sqlx_example_makes_each_payment_once_however_often_it_is_sent() {
    check("payments_sqlx").await;
}

async fn check(name: &str) {
    let Some(database) = Database::empty().await else { return };
    let url = database.url();
    let variables = [("DATABASE_URL", url.as_str())];
    let mut function = Function::start(example(name), &variables).await;
    for _ in 0..2 {
        // A second message with the same payment may have met the first one in its transaction.
        let answer = function.respond(event()).await;
        assert!(answer.contains("\"m3\"") && !answer.contains("\"m2\""), "{answer}");
        let cents = |name| format!("SELECT cents FROM accounts WHERE name = '{name}'");
        assert_eq!(database.count(&cents("ada")).await, 750);
        assert_eq!(database.count(&cents("bob")).await, 100);
    }
    assert_eq!(function.respond(event()).await, response(["m3"]));
    let (stdout, stderr) = function.end().await;
    assert!((stdout + &stderr).contains("was made before"));
}
