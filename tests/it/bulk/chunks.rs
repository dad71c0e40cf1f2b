//! The size of calls, their number at the same time, and the work that is done once for each call.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use redrive::hook::{Delivery, Hook, Next};
use redrive::{Bodies, Body, Bulk, Chunks, Failure, Record, Text};
use tokio::time::sleep;

use super::{noted, taken};
use crate::support::Aws;

#[tokio::test(start_paused = true)]
async fn a_call_keeps_its_limits_and_a_larger_message_is_alone() {
    let aws = Aws::standard();
    aws.send_all("orders", (0..250).map(|_| "a"));
    let (consumer, calls) = noted(&aws, "orders");
    let lengths = || taken(&calls).iter().map(Vec::len).collect::<Vec<_>>();
    let handled = aws.handle(&consumer.clone().concurrency(1), "orders", 250).await;
    assert_eq!((handled.report.succeeded, lengths()), (250, vec![100, 100, 50]));
    aws.send_all("orders", (0..10).map(|_| "a"));
    aws.handle(&consumer.clone().concurrency(1).chunks(Chunks::of(4)), "orders", 10).await;
    assert_eq!(lengths(), [4, 4, 2]);
    aws.send_all("orders", ["aaaa", "aaaa", "aaaa", "aaaaaaaaaaaaaaaaaaaa", "aaaa"]);
    aws.handle(&consumer.concurrency(1).chunks(Chunks::default().bytes(10)), "orders", 10).await;
    assert_eq!(lengths(), [2, 1, 1, 1]);
}

#[tokio::test(start_paused = true)]
async fn concurrency_is_the_number_of_calls_at_a_time() {
    let aws = Aws::standard();
    aws.send_all("orders", 0..12);
    let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (runs, seen) = (Arc::clone(&running), Arc::clone(&most));
    let handler = move |_: Bulk<u64>| {
        let (running, most) = (Arc::clone(&runs), Arc::clone(&seen));
        async move {
            most.fetch_max(running.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
            sleep(Duration::from_millis(10)).await;
            running.fetch_sub(1, Ordering::Relaxed);
            Ok::<_, Failure>(())
        }
    };
    let consumer = aws.consumer("orders", handler).chunks(Chunks::of(2)).concurrency(3);
    let handled = aws.handle(&consumer, "orders", 12).await;
    assert_eq!((handled.report.succeeded, most.load(Ordering::Relaxed)), (12, 3));
}

/// Notes how many messages it was called for.
struct Counts(Arc<Mutex<Vec<usize>>>);

impl Hook for Counts {
    async fn around<'a>(&'a self, delivery: &'a Delivery<'a>, next: Next<'a>) -> Result<(), Failure> {
        self.0.lock().unwrap().push(delivery.records().len());
        next.await
    }
}

#[tokio::test(start_paused = true)]
async fn hooks_run_once_around_a_call() {
    let aws = Aws::standard();
    aws.send_all("orders", ["a", "b", "c"]);
    let (consumer, _) = noted(&aws, "orders");
    let counts = Arc::default();
    aws.handle(&consumer.hook(Counts(Arc::clone(&counts))), "orders", 10).await;
    assert_eq!(*counts.lock().unwrap(), [3]);
}

struct Store;

impl Bodies for Store {
    async fn body(&self, record: &Record<'_>) -> Result<Option<Body>, Failure> {
        match record.body() {
            "gone" => Err("no such object")?,
            "forbidden" => Err(Failure::reject("not ours")),
            "slow" => std::future::pending().await,
            key => {
                sleep(Duration::from_millis(50)).await;
                Ok(Some(format!("the body of {key}").into()))
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn bodies_are_fetched_in_parallel_and_a_failed_one_skips_the_handler() {
    let aws = Aws::standard();
    let ids = aws.send_all("orders", ["x", "gone", "y", "forbidden"]);
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let sees = Arc::clone(&seen);
    let handler = move |bulk: Bulk<Text>| {
        sees.lock().unwrap().extend(bulk.iter().map(|text| text.0.clone()));
        async { Ok::<_, Failure>(()) }
    };
    let consumer = aws.consumer("orders", handler).bodies(Store).time_limit(Duration::from_secs(1));
    let handled = aws.handle(&consumer, "orders", 10).await;
    assert_eq!(*seen.lock().unwrap(), ["the body of x", "the body of y"]);
    assert_eq!((handled.failed, handled.report.dead_lettered), (vec![ids[1].clone()], 1));
    assert!(handled.took < Duration::from_millis(80), "{:?}", handled.took);

    aws.send_all("orders", ["x", "slow"]);
    let handled = aws.handle(&consumer, "orders", 10).await;
    assert_eq!((handled.report.succeeded, handled.report.worker_errors), (0, 2), "they ran out of time");
}
