use std::time::Duration;

use serde_json::Value;

use crate::support::event;
use crate::support::ways::{all_healthy, failed, start};

const SECOND: Duration = Duration::from_secs(1);

/// The runtimes that `run` may be called from: two workers, one, and none but the main thread.
const RUNTIMES: [(&str, &str); 3] =
    [("TOKIO_WORKER_THREADS", "2"), ("TOKIO_WORKER_THREADS", "1"), ("FLAVOR", "current_thread")];

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
async fn a_message_done_before_another_blocks_stays_done() {
    let mut function = start(&[("REDRIVE_CONCURRENCY", "1")]).await;
    assert_eq!(failed(&mut function, &["ok", "ok", "forever", "ok"], SECOND * 2).await.0, [2, 3]);
    function.end().await;
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
async fn any_user_code_that_blocks_fails_only_its_own_message() {
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
async fn handlers_that_block_when_cancelled_do_not_delay_the_response() {
    for (blocking, reserve) in [(17, "0.5"), (10, "0.2"), (3, "0.2")] {
        let variables = [("REDRIVE_CONCURRENCY", "20"), ("REDRIVE_RESERVE", reserve)];
        let mut function = start(&variables).await;
        let mut bodies = vec!["drop"; blocking];
        bodies.extend(["pending"; 3]);
        let (ids, took) = failed(&mut function, &bodies, SECOND * 2).await;
        assert_eq!((ids.len(), took < SECOND * 2), (blocking + 3, true), "{blocking}: {took:?}");
        function.end().await;
    }
}

#[tokio::test]
async fn a_message_that_waits_behind_a_blocked_thread_does_not_count_as_blocked() {
    for batches in ["1", "2"] {
        let variables = [
            ("REDRIVE_CONCURRENCY", "20"),
            ("AWS_LAMBDA_MAX_CONCURRENCY", batches),
            ("TOKIO_WORKER_THREADS", "1"),
        ];
        let run = async || {
            let mut function = start(&variables).await;
            let mut bodies = ["pending"; 20];
            bodies[..3].fill("drop");
            let (ids, took) = failed(&mut function, &bodies, SECOND * 2).await;
            assert_eq!((ids.len(), took < SECOND * 2), (20, true), "{took:?}");
            all_healthy(&mut function, 3).await;
            function.end().await.0
        };
        once_says(run, |blocked| (1..=3).contains(&blocked)).await;
    }
}

/// In one of some runs, so many messages are said to block their threads: a thread that waits for a processor looks blocked too.
async fn once_says(run: impl AsyncFn() -> String, is_right: impl Fn(usize) -> bool) {
    let mut stdout = String::new();
    for _ in 0..5 {
        stdout = run().await;
        if is_right(stdout.lines().filter(|line| line.contains("blocks its thread")).count()) {
            return;
        }
    }
    panic!("{stdout}");
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
async fn a_handler_may_use_its_thread_in_any_other_way() {
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
        let run = async || {
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
            function.end().await.0
        };
        once_says(run, |blocked| blocked == 0).await;
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
    // On a busy machine the watchdog may find of most polls that they have lasted.
    assert!(names.len() == 200 && in_line >= 10, "{in_line} of {}", names.len());
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
    function.offer("slow", event(["forever", "block:1500"]), SECOND * 4);
    function.offer("quick", event(["ok", "timer:5"]), SECOND * 4);
    let [first, second] = [function.answer().await, function.answer().await];
    assert_eq!((first.request_id.as_str(), first.body.as_str()), ("quick", r#"{"batchItemFailures":[]}"#));
    assert_eq!(second.body, r#"{"batchItemFailures":[{"itemIdentifier":"m0"}]}"#);
    all_healthy(&mut function, 3).await;
    function.end().await;
}
