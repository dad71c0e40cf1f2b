//! Hooks of a real process over many batches: none delays a response past its deadline, or affects later batches.

use std::time::Duration;

use crate::support::function::{Function, example};
use crate::support::ways::failed;

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test]
async fn hooks_that_panic_or_hang_spoil_no_later_batch() {
    let mut function = Function::start(example("hooked"), &[]).await;
    // Whatever one does, more often than threads are replaced; a panic around a handler fails its message only.
    for (body, left) in
        [("settled:panic", SECOND * 10), ("flush:panic", SECOND * 10), ("flush:hang", SECOND / 3)]
    {
        for _ in 0..20 {
            let (ids, took) = failed(&mut function, &[body], left).await;
            assert_eq!((ids, took < SECOND * 10), (vec![], true), "{body}: {took:?}");
        }
    }
    for _ in 0..5 {
        assert_eq!(failed(&mut function, &["around:panic"], SECOND * 10).await.0, [0]);
        assert_eq!(failed(&mut function, &["ok"], SECOND * 10).await.0, [0; 0]);
    }
    failed(&mut function, &["flush:log"], SECOND * 10).await;
    let (stdout, stderr) = function.end().await;
    let line = stdout.lines().find(|line| line.contains("flushing")).unwrap();
    assert!(line.contains(r#""request_id":"it""#), "{line}");
    let log = stdout + &stderr;
    for (line, count) in [("a hook panicked", 40), ("a hook did not end in time", 20)] {
        assert_eq!(log.matches(line).count(), count, "{line}");
    }
}

#[tokio::test]
async fn blocking_hooks_cost_threads_but_no_response_its_deadline() {
    for body in ["around:block", "settled:block", "flush:block"] {
        let mut function = Function::start(example("hooked"), &[]).await;
        for _ in 0..5 {
            let (_, took) = failed(&mut function, &[body], SECOND * 2).await;
            assert!(took < SECOND * 4, "{body}: {took:?}");
            let (ids, took) = failed(&mut function, &["ok"], SECOND * 10).await;
            assert_eq!((ids, took < SECOND * 5), (vec![], true), "{body}: {took:?}");
        }
        function.end().await;
    }
}
