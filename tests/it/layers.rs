use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::function::{Function, ORDERS, environment, example};
use crate::support::shop::order;

/// An event of messages with these bodies, whose ids begin with the batch's name.
fn event<B: ToString>(batch: &str, bodies: impl IntoIterator<Item = B>) -> String {
    let record =
        |(at, body): (usize, B)| json!({ "messageId": format!("{batch}-{at}"), "body": body.to_string() });
    json!({ "Records": bodies.into_iter().enumerate().map(record).collect::<Vec<_>>() }).to_string()
}

fn response(failed: &[&str]) -> String {
    let failed = failed.iter().map(|id| json!({ "itemIdentifier": id })).collect::<Vec<_>>();
    json!({ "batchItemFailures": failed }).to_string()
}

async fn start(function: &Path, concurrency: Option<&str>) -> Function {
    let mut environment = environment();
    environment
        .extend(concurrency.map(|batches| ("AWS_LAMBDA_MAX_CONCURRENCY".to_owned(), batches.to_owned())));
    Function::start(function, environment).await
}

const LEFT: Duration = Duration::from_secs(30);

/// A message of the example is the number of milliseconds that it takes, and above 10,000 it fails.
#[tokio::test]
async fn a_layer_is_around_each_batch_and_changes_no_response() {
    for concurrency in [None, Some("4")] {
        let mut function = start(&example("layered"), concurrency).await;
        function.offer("first", event("a", [1, 20_000, 1]), LEFT);
        assert_eq!(function.answer().await.body, response(&["a-1"]));
        function.offer("second", event("b", [0; 0]), LEFT);
        assert_eq!(function.answer().await.body, response(&[]));

        let (stdout, _) = function.end().await;
        let lines: Vec<Value> = stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let timed = lines.iter().filter(|line| line["fields"]["message"] == "timed");
        let timed: Vec<_> =
            timed.map(|line| (&line["fields"]["request_id"], &line["fields"]["records"])).collect();
        assert_eq!(timed, [(&json!("first"), &json!(3)), (&json!("second"), &json!(0))], "{concurrency:?}");
    }
}

/// The order in which a slow and a quick batch are answered.
async fn order_of_answers(function: &mut Function) -> [String; 2] {
    function.offer("slow", event("s", [1_500]), LEFT);
    function.offer("quick", event("q", [1]), LEFT);
    let [first, second] = [function.answer().await, function.answer().await];
    assert_eq!((first.body, second.body), (response(&[]), response(&[])));
    [first.request_id, second.request_id]
}

#[tokio::test]
async fn batches_run_one_by_one_under_run_and_at_the_same_time_under_run_concurrent() {
    let mut function = start(&example("layered"), None).await;
    assert_eq!(order_of_answers(&mut function).await, ["slow", "quick"]);
    function.end().await;

    let mut function = start(&example("layered"), Some("2")).await;
    assert_eq!(order_of_answers(&mut function).await, ["quick", "slow"]);
    function.end().await;
}

#[tokio::test]
async fn batches_that_run_at_the_same_time_keep_to_their_own_messages() {
    let mut function = start(Path::new(ORDERS), Some("8")).await;
    for batch in 0..40 {
        let bodies = (0..5).map(|at| order(if at == batch % 5 { "down" } else { "up" }));
        function.offer(&format!("b{batch}"), event(&format!("b{batch}"), bodies), LEFT);
    }
    for _ in 0..40 {
        let answer = function.answer().await;
        let batch: usize = answer.request_id[1..].parse().unwrap();
        assert_eq!(answer.body, response(&[&format!("b{batch}-{}", batch % 5)]));
    }
    function.end().await;
}

/// A message of the example is the number of milliseconds for which it blocks its thread.
#[tokio::test]
async fn handlers_that_block_every_thread_push_no_response_past_the_deadline_of_the_function() {
    let mut environment = environment();
    environment.insert("TOKIO_WORKER_THREADS".to_owned(), "2".to_owned());
    let mut function = Function::start(&example("blocking"), environment).await;
    assert_eq!(function.respond(event("warm", [1, 1])).await, response(&[]));

    let left = Duration::from_millis(1_500);
    for batch in ["first", "second-while-they-still-block"] {
        let began = Instant::now();
        function.offer(batch, event("b", [4_000; 4]), left);
        let answer = function.answer().await;
        assert!(began.elapsed() < left, "{batch}: {:?}", began.elapsed());
        assert_eq!(answer.kind, "response", "{answer:?}");
        assert_eq!(answer.body, response(&["b-0", "b-1", "b-2", "b-3"]), "{batch}");
    }
    // Threads that have been let go of work again.
    assert_eq!(function.respond(event("after", [1, 1])).await, response(&[]));
    let (stdout, _) = function.end().await;
    assert!(stdout.contains("a handler blocks its thread and could not be cancelled"), "{stdout}");
}

#[tokio::test]
async fn what_is_done_before_others_block_stays_done() {
    let mut environment = environment();
    environment.insert("TOKIO_WORKER_THREADS".to_owned(), "2".to_owned());
    environment.insert("REDRIVE_CONCURRENCY".to_owned(), "1".to_owned());
    let mut function = Function::start(&example("blocking"), environment).await;
    function.offer("mixed", event("m", [0, 0, 4_000, 0]), Duration::from_millis(1_500));
    assert_eq!(function.answer().await.body, response(&["m-2", "m-3"]));
    function.end().await;
}
