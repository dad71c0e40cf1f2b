//! The program `tests/programs/ways.rs`, whose messages choose how its handlers use their threads.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::event;
use super::function::{Function, example};

pub(crate) async fn start(variables: &[(&str, &str)]) -> Function {
    Function::start(example("ways"), variables).await
}

/// Which messages failed, by their place, and how long the answer took.
pub(crate) async fn failed(
    function: &mut Function,
    bodies: &[&str],
    left: Duration,
) -> (Vec<usize>, Duration) {
    function.offer("it", event(bodies), left);
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
