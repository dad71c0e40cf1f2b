//! The program `tests/programs/ways.rs`, whose messages say how they use their threads.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::function::{Function, environment, example};

const QUEUE: &str = "arn:aws:sqs:eu-west-1:123456789012:orders";

pub(crate) fn event(bodies: &[&str]) -> String {
    let record = |(at, body): (usize, &&str)| json!({ "messageId": format!("m{at}"), "receiptHandle": "h", "body": body, "eventSourceARN": QUEUE });
    json!({ "Records": bodies.iter().enumerate().map(record).collect::<Vec<_>>() }).to_string()
}

pub(crate) async fn start(variables: &[(&str, &str)]) -> Function {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    let mut environment: BTreeMap<_, _> = environment();
    environment.extend(variables.iter().map(owned));
    Function::start(&example("ways"), environment).await
}

/// Which messages failed, by their place, and how long the answer took.
pub(crate) async fn failed(
    function: &mut Function,
    bodies: &[&str],
    left: Duration,
) -> (Vec<usize>, Duration) {
    function.offer("it", event(bodies), left);
    answered(function).await
}

/// The same for the last batch of a process, with another waiting behind it.
pub(crate) async fn last_failed(
    function: &mut Function,
    bodies: &[&str],
    left: Duration,
) -> (Vec<usize>, Duration) {
    function.offer("it", event(bodies), left);
    function.offer("for the next process", event(&["ok"]), left);
    answered(function).await
}

async fn answered(function: &mut Function) -> (Vec<usize>, Duration) {
    let began = Instant::now();
    let answer = function.answer().await;
    assert_eq!((answer.request_id.as_str(), answer.kind.as_str()), ("it", "response"), "{answer:?}");
    let response: Value = serde_json::from_str(&answer.body).unwrap();
    let ids = response["batchItemFailures"].as_array().unwrap().iter();
    let ids = ids.map(|id| id["itemIdentifier"].as_str().unwrap()[1..].parse().unwrap());
    (ids.collect(), began.elapsed())
}

pub(crate) async fn all_healthy(function: &mut Function, batches: usize) {
    for _ in 0..batches {
        let (ids, took) =
            failed(function, &["ok", "timer:5", "io", "spawn:1", "ok"], Duration::from_secs(2)).await;
        assert_eq!((ids, took < Duration::from_secs(1)), (vec![], true), "{took:?}");
    }
}
