//! Wakers that tokio keeps until the end of a turn of its runtime, which it drops if the runtime is left before.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(clippy::disallowed_methods, reason = "tests may read the clock")]

use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use redrive_executor::{Host, front};
use tokio::runtime::Handle;
use tokio::task::yield_now;
use tokio::time::timeout;

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_future_that_yields_goes_on_after_the_thread_has_polled_tasks() {
    let ended = front(Handle::current(), true, |executor| async move {
        let mut futures = FuturesUnordered::new();
        futures.push(yield_now());
        // The thread leaves the front's runtime to poll it.
        executor.spawn(async {});
        timeout(Duration::from_secs(10), futures.next()).await.is_ok()
    });
    assert_eq!(ended.await.unwrap(), Some(true));
}

/// A worker waits for the hooks of many batches at the same time, and polls only those that are woken.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_future_among_others_goes_on_after_its_code_has_ended() {
    let ended = front(Handle::current(), true, |executor| async move {
        let (host, until) =
            (Host::Threads(executor.into()), tokio::time::Instant::now() + Duration::from_secs(5));
        let mut futures: FuturesUnordered<_> = (0..3).map(|_| host.run(async {}, until)).collect();
        let all = async { while futures.next().await.is_some() {} };
        timeout(Duration::from_secs(10), all).await.is_ok()
    });
    assert_eq!(ended.await.unwrap(), Some(true));
}
