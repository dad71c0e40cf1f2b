//! The program `tests/programs/bulk.rs` under the real `run`.

use std::time::{Duration, Instant};

use crate::support::event;
use crate::support::function::{Function, example, response};

const SECOND: Duration = Duration::from_secs(1);

async fn start(variables: &[(&str, &str)]) -> Function {
    Function::start(example("bulk_ways"), variables).await
}

async fn failed(function: &mut Function, bodies: &[&str], left: Duration, expected: &[usize]) {
    function.offer("it", event(bodies), left);
    let began = Instant::now();
    let answer = function.answer().await;
    let expected = response(expected.iter().map(|at| format!("m{at}")));
    assert_eq!((answer.kind.as_str(), answer.body), ("response", expected), "{bodies:?}");
    assert!(began.elapsed() < left, "{bodies:?}: {:?}", began.elapsed());
}

async fn all_healthy(function: &mut Function) {
    for _ in 0..3 {
        failed(function, &["ok", "timer", "ok"], SECOND * 2, &[]).await;
    }
}

#[tokio::test]
async fn a_blocked_call_fails_open_messages_and_keeps_done_ones() {
    let mut function = start(&[]).await;
    failed(&mut function, &["done", "block", "reject", "ok"], SECOND * 2, &[1, 2, 3]).await;
    all_healthy(&mut function).await;
    let (stdout, _) = function.end().await;
    assert!(stdout.contains("blocks its thread"), "{stdout}");
}

#[tokio::test]
async fn a_panic_and_the_time_limit_fail_what_is_open_and_later_batches_go_on() {
    let mut function = start(&[("REDRIVE_TIME_LIMIT", "0.2")]).await;
    for _ in 0..3 {
        failed(&mut function, &["done", "panic", "ok"], SECOND * 5, &[1, 2]).await;
        failed(&mut function, &["done", "hang", "ok"], SECOND * 5, &[1, 2]).await;
        all_healthy(&mut function).await;
    }
    function.end().await;
}

#[tokio::test]
async fn a_panic_of_twelve_messages_counts_once_toward_the_ten() {
    let mut function = start(&[]).await;
    let bodies: Vec<_> = ["panic"].into_iter().chain(["ok"; 11]).collect();
    for _ in 0..2 {
        failed(&mut function, &bodies, SECOND * 5, &(0..12).collect::<Vec<_>>()).await;
    }
    all_healthy(&mut function).await;
    function.end().await;
}

#[tokio::test]
async fn an_error_after_all_results_are_set_is_logged() {
    let mut function = start(&[]).await;
    failed(&mut function, &["done", "done, then fail"], SECOND * 5, &[]).await;
    failed(&mut function, &["fail", "done, then fail"], SECOND * 5, &[0]).await;
    let (stdout, _) = function.end().await;
    let said = stdout.matches("failed after it had set the outcome of all its messages").count();
    assert!(said == 2 && stdout.contains("not committed"), "{stdout}");
}

#[tokio::test]
async fn several_calls_run_while_one_blocks() {
    let mut function = start(&[("CHUNK_SIZE", "1")]).await;
    failed(&mut function, &["ok", "block", "timer", "done", "fail"], SECOND * 2, &[1, 4]).await;
    all_healthy(&mut function).await;
    function.end().await;
}
