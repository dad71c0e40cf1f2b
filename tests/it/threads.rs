use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::function::{Function, environment, example};
use crate::support::recorder::Recorder;

const SECOND: Duration = Duration::from_secs(1);
const QUEUE: &str = "arn:aws:sqs:eu-west-1:123456789012:orders";

/// The runtimes that `run` may be called from: two workers, one, and none but the main thread.
const RUNTIMES: [(&str, &str); 3] =
    [("TOKIO_WORKER_THREADS", "2"), ("TOKIO_WORKER_THREADS", "1"), ("FLAVOR", "current_thread")];

fn event(bodies: &[&str]) -> String {
    let record = |(at, body): (usize, &&str)| json!({ "messageId": format!("m{at}"), "receiptHandle": "h", "body": body, "eventSourceARN": QUEUE });
    json!({ "Records": bodies.iter().enumerate().map(record).collect::<Vec<_>>() }).to_string()
}

async fn start(variables: &[(&str, &str)]) -> Function {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    let mut environment: BTreeMap<_, _> = environment();
    environment.extend(variables.iter().map(owned));
    Function::start(&example("ways"), environment).await
}

/// Which messages failed, by their place, and how long the answer took.
async fn failed(function: &mut Function, bodies: &[&str], left: Duration) -> (Vec<usize>, Duration) {
    function.offer("it", event(bodies), left);
    answered(function).await
}

/// The same for the last batch of a process, with another waiting behind it.
async fn last_failed(function: &mut Function, bodies: &[&str], left: Duration) -> (Vec<usize>, Duration) {
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

async fn all_healthy(function: &mut Function, batches: usize) {
    for _ in 0..batches {
        let (ids, took) = failed(function, &["ok", "timer:5", "io", "spawn:1", "ok"], SECOND * 2).await;
        assert_eq!((ids, took < SECOND), (vec![], true), "{took:?}");
    }
}

#[tokio::test]
async fn handlers_that_block_for_ever_fail_alone_and_cost_later_batches_nothing() {
    for runtime in RUNTIMES {
        let mut function = start(&[runtime]).await;
        let bodies = ["ok", "forever", "ok", "forever", "timer:20"];
        let (ids, took) = failed(&mut function, &bodies, SECOND * 2).await;
        assert_eq!((ids, took < SECOND * 2), (vec![1, 3], true), "{runtime:?}: {took:?}");
        all_healthy(&mut function, 6).await;
        let (stdout, _) = function.end().await;
        let blocked = stdout.lines().filter(|line| line.contains("blocks its thread"));
        let blocked: Vec<Value> = blocked.map(|line| serde_json::from_str(line).unwrap()).collect();
        let told =
            blocked.iter().map(|line| (line["message_id"].as_str().unwrap(), line["for_seconds"].as_f64()));
        let told: Vec<_> = told.map(|(id, seconds)| (id, seconds.is_some_and(|it| it > 0.5))).collect();
        assert_eq!(told, [("m1", true), ("m3", true)], "once each: {stdout}");
    }
}

#[tokio::test]
async fn sixteen_blocked_threads_are_replaced() {
    let mut function = start(&[("REDRIVE_CONCURRENCY", "20")]).await;
    let (ids, took) = failed(&mut function, &["forever"; 16], SECOND * 4).await;
    assert_eq!((ids, took < SECOND * 4), ((0..16).collect(), true), "{took:?}");
    all_healthy(&mut function, 6).await;
    function.end().await;
}

#[tokio::test]
async fn with_the_seventeenth_the_batch_is_handed_back_and_the_process_ends() {
    for sizes in [vec![17], vec![10, 7]] {
        let recorder = Recorder::start().await;
        let variables = [("REDRIVE_CONCURRENCY", "17"), ("AWS_ENDPOINT_URL", &recorder.url)];
        let mut function = start(&variables).await;
        for (batch, &size) in sizes.iter().enumerate() {
            let mut bodies = vec!["forever"; size];
            bodies.push("ok");
            let is_last = batch + 1 == sizes.len();
            let (ids, took) = match is_last {
                true => last_failed(&mut function, &bodies, SECOND * 4).await,
                false => failed(&mut function, &bodies, SECOND * 4).await,
            };
            assert!(took < SECOND * 4, "{took:?}");
            assert_eq!(ids[..size], (0..size).collect::<Vec<_>>());
        }
        let (code, stderr) = function.exit().await;
        assert_eq!(code, Some(1));
        let line = "Error: 17 threads are blocked by handlers that do not end: the process ends, so that Lambda starts a fresh one\n";
        assert_eq!(stderr, line);
        let back = recorder.entries("ChangeMessageVisibilityBatch");
        let waits = back.iter().filter(|entry| entry["VisibilityTimeout"] == 2).count();
        // With the one that was not started. Those of an earlier batch were left alone, since the process was to live.
        assert_eq!(waits, sizes.last().unwrap() + 1, "{back:?}");
    }
}

#[tokio::test]
async fn whatever_code_of_the_users_blocks_fails_its_own_message_alone() {
    for way in ["drop", "decoder", "display", "late:60000"] {
        let mut function = start(&[("TOKIO_WORKER_THREADS", "1")]).await;
        for _ in 0..2 {
            let (ids, took) = failed(&mut function, &["ok", way, "timer:50", "io:50"], SECOND * 2).await;
            assert_eq!((ids, took < SECOND * 2), (vec![1], true), "{way}: {took:?}");
        }
        all_healthy(&mut function, 3).await;
        function.end().await;
    }
}

#[tokio::test]
async fn while_one_blocks_the_others_have_their_timers_and_their_io() {
    for runtime in RUNTIMES {
        let mut function = start(&[runtime]).await;
        let mut bodies = ["io:200"; 10];
        (bodies[0], bodies[5]) = ("late:5000", "block:5000");
        let (ids, took) = failed(&mut function, &bodies, SECOND * 2).await;
        assert_eq!((ids, took < SECOND * 2), (vec![0, 5], true), "{runtime:?}: {took:?}");
        all_healthy(&mut function, 3).await;
        function.end().await;
    }
}

#[tokio::test]
async fn a_handler_may_use_its_thread_in_every_other_way_too() {
    let ways = [
        "timer:20",
        "timeout:20",
        "io:20",
        "spawn:20",
        "spawn_blocking:20",
        "block_in_place:20",
        "yield",
        "spin:20",
        "block:20",
        "block:2",
        "ok",
    ];
    for runtime in RUNTIMES {
        let mut function = start(&[runtime]).await;
        for way in ways {
            for bodies in [vec![way], vec!["ok", way, "ok", way, way, "ok"]] {
                let (ids, took) = failed(&mut function, &bodies, SECOND * 10).await;
                assert_eq!((ids, took < SECOND * 2), (vec![], true), "{runtime:?}, {way}: {took:?}");
            }
        }
        assert_eq!(failed(&mut function, &ways, SECOND * 10).await.0, [0; 0]);
        for bad in ["nested", "panic", "else"] {
            assert_eq!(failed(&mut function, &["ok", bad, "ok"], SECOND * 10).await.0, [1], "{bad}");
        }
        for endless in ["pending", "greedy", "timer:60000", "spawn:60000"] {
            let (ids, took) = failed(&mut function, &["ok", endless, "ok"], SECOND).await;
            assert_eq!(ids, [1], "{endless}");
            assert!((SECOND / 3..SECOND).contains(&took), "{endless}: {took:?}");
        }
        let (stdout, _) = function.end().await;
        assert!(!stdout.contains("blocks its thread"), "{stdout}");
    }
}

#[tokio::test]
async fn handlers_that_do_not_wait_run_on_the_thread_that_answers_and_no_other() {
    let mut function = start(&[]).await;
    for _ in 0..20 {
        assert_eq!(failed(&mut function, &["where"; 10], SECOND * 10).await.0, [0; 0]);
    }
    let (stdout, _) = function.end().await;
    let names: Vec<_> = stdout.lines().filter(|line| line.contains("\"where\"")).collect();
    let in_line = names.iter().filter(|line| line.contains("\"redrive\"")).count();
    // On a busy machine the watchdog may find that a poll has lasted.
    assert!(names.len() == 200 && in_line >= 180, "{in_line} of {}", names.len());
}

#[tokio::test]
async fn batches_of_every_size_end_also_where_some_handlers_wait_or_compute() {
    let mut function = start(&[]).await;
    for size in [1, 127, 128, 129, 300, 2_000] {
        let bodies: Vec<_> = (0..size).map(|at| if at % 50 == 49 { "timer:1" } else { "ok" }).collect();
        assert_eq!(failed(&mut function, &bodies, SECOND * 20).await.0, [0; 0], "{size}");
    }
    assert_eq!(failed(&mut function, &["spin:4"; 100], SECOND * 20).await.0, [0; 0]);
    function.end().await;
}

#[tokio::test]
async fn batches_at_the_same_time_are_not_held_up_by_each_others_handlers() {
    let mut function = start(&[("AWS_LAMBDA_MAX_CONCURRENCY", "3")]).await;
    function.offer("slow", event(&["forever", "block:1500"]), SECOND * 4);
    function.offer("quick", event(&["ok", "timer:5"]), SECOND * 4);
    let [first, second] = [function.answer().await, function.answer().await];
    assert_eq!((first.request_id.as_str(), first.body.as_str()), ("quick", r#"{"batchItemFailures":[]}"#));
    assert_eq!(second.body, r#"{"batchItemFailures":[{"itemIdentifier":"m0"}]}"#);
    all_healthy(&mut function, 3).await;
    function.end().await;
}

#[tokio::test]
async fn ten_panics_in_a_row_end_the_process_after_its_answer() {
    let recorder = Recorder::start().await;
    let dead = format!("{}/123456789012/orders-dead", recorder.url);
    let variables =
        [("AWS_ENDPOINT_URL", recorder.url.as_str()), ("REDRIVE_DEAD_LETTER_QUEUE_URL", dead.as_str())];
    let mut function = start(&variables).await;
    assert_eq!(failed(&mut function, &["poison"; 4], SECOND * 10).await.0, [1, 2, 3]);
    // A success between them: the next is the first of a row again.
    assert_eq!(failed(&mut function, &["ok", "panic"], SECOND * 10).await.0, [0; 0]);
    assert_eq!(last_failed(&mut function, &["poison"; 30], SECOND * 10).await.0, (0..30).collect::<Vec<_>>());
    let (code, stderr) = function.exit().await;
    assert_eq!(code, Some(1));
    let last = stderr.lines().last().unwrap();
    assert_eq!(
        last,
        "Error: 10 handlers panicked in a row: the process ends, so that Lambda starts a fresh one"
    );
    assert_eq!(recorder.entries("SendMessageBatch").len(), 2, "a letter for the first of each row");
    let back = recorder.entries("ChangeMessageVisibilityBatch");
    assert_eq!(back.len(), 33, "all the others are back later");
    assert!(back.iter().all(|entry| entry["VisibilityTimeout"] == 2), "{back:?}");
}
