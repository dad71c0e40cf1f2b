use std::time::Duration;

use tokio::time::timeout;

use crate::support::event;
use crate::support::function::{Function, example};
use crate::support::scripted::Scripted;
use crate::support::ways::{failed, start};

const SECOND: Duration = Duration::from_secs(1);
const PANICS: &str = "Error: 10 handlers panicked in a row: the process ends, so that a fresh one is started";

#[tokio::test]
async fn with_the_seventeenth_the_batch_is_handed_back_and_the_process_ends() {
    for sizes in [vec![17], vec![10, 7]] {
        let sqs = Scripted::obliging().await;
        // With one thread at a time, none starts the last message while the seventeenth blocks.
        let variables = [
            ("REDRIVE_CONCURRENCY", "17"),
            ("AWS_ENDPOINT_URL", sqs.url.as_str()),
            ("TOKIO_WORKER_THREADS", "1"),
        ];
        let mut function = start(&variables).await;
        for &size in &sizes {
            let mut bodies = vec!["forever"; size];
            bodies.push("ok");
            let (ids, took) = failed(&mut function, &bodies, SECOND * 4).await;
            assert!(took < SECOND * 4, "{took:?}");
            assert_eq!(ids[..size], (0..size).collect::<Vec<_>>());
        }
        let (code, stderr) = function.exit().await;
        assert_eq!(code, Some(1));
        let line = "Error: 17 threads are blocked by handlers that do not end: the process ends, so that a fresh one is started\n";
        assert_eq!(stderr, line);
        let back = sqs.entries("ChangeMessageVisibilityBatch");
        let waits = back.iter().filter(|entry| entry["VisibilityTimeout"] == 2).count();
        // With the one that was not started. Those of an earlier batch were left alone, since the process was to live.
        assert_eq!(waits, sizes.last().unwrap() + 1, "{back:?}");
    }
}

#[tokio::test]
async fn ten_panics_in_a_row_end_the_process_after_its_answer() {
    let sqs = Scripted::obliging().await;
    let dead = format!("{}/123456789012/orders-dead", sqs.url);
    let variables =
        [("AWS_ENDPOINT_URL", sqs.url.as_str()), ("REDRIVE_DEAD_LETTER_QUEUE_URL", dead.as_str())];
    let mut function = start(&variables).await;
    assert_eq!(failed(&mut function, &["poison"; 4], SECOND * 10).await.0, [1, 2, 3]);
    // A success between them: the next is the first of a row again.
    assert_eq!(failed(&mut function, &["ok", "panic"], SECOND * 10).await.0, [0; 0]);
    assert_eq!(failed(&mut function, &["poison"; 30], SECOND * 10).await.0, (0..30).collect::<Vec<_>>());
    let (code, stderr) = function.exit().await;
    assert_eq!(code, Some(1));
    assert_eq!(stderr.lines().last(), Some(PANICS));
    assert_eq!(sqs.entries("SendMessageBatch").len(), 2, "a letter for the first of each row");
    let back = sqs.entries("ChangeMessageVisibilityBatch");
    assert_eq!(back.len(), 33, "all the others are back later");
    assert!(back.iter().all(|entry| entry["VisibilityTimeout"] == 2), "{back:?}");
}

/// The bytes of a message may make a decoder or a client panic: a sender must not end the process that way.
#[tokio::test]
async fn panics_before_the_handler_is_called_end_no_process() {
    for program in ["ways", "bulk_ways"] {
        let sqs = Scripted::obliging().await;
        let dead = format!("{}/123456789012/orders-dead", sqs.url);
        let variables =
            [("AWS_ENDPOINT_URL", sqs.url.as_str()), ("REDRIVE_DEAD_LETTER_QUEUE_URL", dead.as_str())];
        let mut function = Function::start(example(program), &variables).await;
        for way in ["decoder panics", "store panics"] {
            let (ids, _) = failed(&mut function, &[way; 30], SECOND * 10).await;
            assert_eq!(ids.len(), 29, "{program}: the first is a dead letter, the others come back");
            assert_eq!(failed(&mut function, &["ok"], SECOND * 10).await.0, [0; 0], "{program}: {way}");
        }
        assert_eq!(sqs.entries("SendMessageBatch").len(), 2, "{program}");
        function.end().await;
    }
}

#[tokio::test]
async fn a_panic_before_the_handler_does_not_hide_those_of_the_handler() {
    let sqs = Scripted::obliging().await;
    let mut function = start(&[("AWS_ENDPOINT_URL", sqs.url.as_str())]).await;
    let bodies = ["panic", "store panics", "decoder panics"].repeat(10);
    failed(&mut function, &bodies, SECOND * 10).await;
    let (code, stderr) = function.exit().await;
    assert_eq!((code, stderr.lines().last()), (Some(1), Some(PANICS)));
}

/// What keeps `main` from returning: a task that blocks a thread of the runtime, one that blocks its only thread, and a
/// handler that blocks when it is dropped.
#[tokio::test]
async fn a_process_that_is_to_end_ends_whatever_else_blocks() {
    let blocking =
        [("spawn_blocking_forever", "FLAVOR", "multi"), ("spawn_forever", "FLAVOR", "current_thread")];
    for (way, name, value) in blocking.into_iter().chain([("ok", "MODE", "drop-blocks")]) {
        let sqs = Scripted::obliging().await;
        let mut function = start(&[("AWS_ENDPOINT_URL", &sqs.url), (name, value)]).await;
        assert_eq!(failed(&mut function, &[way], SECOND * 10).await.0, [0; 0]);
        assert_eq!(failed(&mut function, &["panic"; 12], SECOND * 10).await.0.len(), 12);
        let (code, stderr) =
            timeout(SECOND * 10, function.exit()).await.unwrap_or_else(|_| panic!("{way} ends"));
        assert_eq!((code, stderr.lines().last()), (Some(1), Some(PANICS)), "{way}");
    }
}

#[tokio::test]
async fn a_process_that_is_to_end_answers_for_every_batch_in_hand_first() {
    let sqs = Scripted::obliging().await;
    let variables = [("AWS_ENDPOINT_URL", sqs.url.as_str()), ("AWS_LAMBDA_MAX_CONCURRENCY", "3")];
    let mut function = start(&variables).await;
    function.offer("slow", event(["timer:1000"]), SECOND * 10);
    function.offer("quick", event(["fail", "timer:100"]), SECOND * 10);
    // However the three successes fall between them, ten are in a row.
    let bodies = [vec!["block:300"], vec!["panic"; 40]].concat();
    function.offer("panics", event(&bodies), SECOND * 10);
    let mut answered = Vec::new();
    for _ in 0..3 {
        let answer = function.answer().await;
        assert_eq!(answer.kind, "response");
        answered.push(answer.request_id);
    }
    answered.sort();
    assert_eq!(answered, ["panics", "quick", "slow"]);
    assert_eq!(function.exit().await.0, Some(1));
}

#[tokio::test]
async fn ten_panics_end_the_process_even_if_a_later_message_succeeds() {
    let mut function = start(&[("REDRIVE_CONCURRENCY", "3")]).await;
    let mut bodies = vec!["timer:300"];
    // On a busy machine the success may fall between them.
    bodies.extend(["panic"; 19]);
    bodies.extend(["timer:10"; 20]);
    let (ids, _) = failed(&mut function, &bodies, SECOND * 10).await;
    assert!(!ids.contains(&0) && ids.len() >= 34, "{ids:?}");
    assert_eq!(function.exit().await.0, Some(1));
}

#[tokio::test]
async fn nothing_is_left_of_a_run_that_was_dropped() {
    for batches in ["1", "2"] {
        let variables = [("MODE", "drop-run"), ("AWS_LAMBDA_MAX_CONCURRENCY", batches)];
        let function = start(&variables).await;
        function.offer("it", event(["guarded"]), SECOND * 20);
        function.offer("another", event(["ok"]), SECOND * 20);
        let (code, stderr) = function.end_by_itself().await;
        assert_eq!(code, Some(0), "{stderr}");
        assert!(stderr.contains("the handler was dropped"), "{stderr}");
        assert_eq!(stderr.lines().last(), Some("threads: []"), "{stderr}");
    }
}
