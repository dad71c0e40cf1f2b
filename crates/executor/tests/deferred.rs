//! Wakers that tokio keeps until the end of a turn of its runtime, which it drops if the runtime is left before.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use redrive_executor::front;
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
