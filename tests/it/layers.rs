use std::time::Duration;

use serde_json::{Value, json};

use crate::support::function::{Function, ORDERS, example, response};
use crate::support::shop::order;
use crate::support::{event, event_of};

const LEFT: Duration = Duration::from_secs(30);
const NONE: [&str; 0] = [];

fn batches(at_a_time: &str) -> [(&str, &str); 1] {
    [("AWS_LAMBDA_MAX_CONCURRENCY", at_a_time)]
}

/// A message of the example is the number of milliseconds that it takes, and above 10,000 it fails.
#[tokio::test]
async fn a_layer_is_around_each_batch_and_changes_no_response() {
    for variables in [&[][..], &batches("4")] {
        let mut function = Function::start(example("layered"), variables).await;
        function.offer("first", event([1, 20_000, 1]), LEFT);
        assert_eq!(function.answer().await.body, response(["m1"]));
        function.offer("second", event([0; 0]), LEFT);
        assert_eq!(function.answer().await.body, response(NONE));

        let (stdout, _) = function.end().await;
        let lines: Vec<Value> = stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let timed = lines.iter().filter(|line| line["fields"]["message"] == "timed");
        let timed: Vec<_> =
            timed.map(|line| (&line["fields"]["request_id"], &line["fields"]["records"])).collect();
        assert_eq!(timed, [(&json!("first"), &json!(3)), (&json!("second"), &json!(0))], "{variables:?}");
    }
}

/// The order in which a slow and a quick batch are answered.
async fn order_of_answers(function: &mut Function) -> [String; 2] {
    function.offer("slow", event([1_500]), LEFT);
    function.offer("quick", event([1]), LEFT);
    let [first, second] = [function.answer().await, function.answer().await];
    assert_eq!((first.body, second.body), (response(NONE), response(NONE)));
    [first.request_id, second.request_id]
}

#[tokio::test]
async fn batches_run_in_turn_under_run_and_together_under_run_concurrent() {
    let mut function = Function::start(example("layered"), &[]).await;
    assert_eq!(order_of_answers(&mut function).await, ["slow", "quick"]);
    function.end().await;

    let mut function = Function::start(example("layered"), &batches("2")).await;
    assert_eq!(order_of_answers(&mut function).await, ["quick", "slow"]);
    function.end().await;
}

#[tokio::test]
async fn batches_that_run_at_the_same_time_keep_to_their_own_messages() {
    let mut function = Function::start(ORDERS, &batches("8")).await;
    for batch in 0..40 {
        let bodies = (0..5).map(|at| order(if at == batch % 5 { "down" } else { "up" }));
        function.offer(&format!("b{batch}"), event_of("orders", &format!("b{batch}-"), bodies), LEFT);
    }
    for _ in 0..40 {
        let answer = function.answer().await;
        let batch: usize = answer.request_id[1..].parse().unwrap();
        assert_eq!(answer.body, response([format!("b{batch}-{}", batch % 5)]));
    }
    function.end().await;
}
