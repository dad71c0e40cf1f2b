//! The end of a worker: its duration, and the metrics that it still publishes.

use std::future::{Future, pending};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

use redrive::hook::Hook;
use redrive::once::{Change, Claim, Claimed, Memory, Store};
use redrive::{BoxError, Consumer, Failure, Message, Metrics};
use redrive_local::kit::{Fault, TestAws};
use tokio::time::{Instant, sleep};

const SECOND: Duration = Duration::from_secs(1);

/// Its answers to changes never come.
struct Silent(Memory);

impl Store for Silent {
    async fn claim(&self, claim: &Claim) -> Result<Claimed, BoxError> {
        self.0.claim(claim).await
    }

    async fn change(&self, _: &str, _: &str, _: &Change) -> Result<bool, BoxError> {
        pending().await
    }
}

struct Endless;

impl Hook for Endless {
    fn flush(&self, _: std::time::Instant) -> impl Future<Output = ()> + Send {
        pending()
    }
}

/// ECS and Kubernetes wait for 30 s, and the default drain is 25 s.
#[tokio::test(start_paused = true)]
async fn a_worker_ends_soon_after_its_drain_although_everything_hangs() {
    let aws = TestAws::new();
    let queue = aws.queue("orders").visibility_timeout(60 * SECOND).create();
    let is_down = Arc::new(AtomicBool::new(false));
    let down = Arc::clone(&is_down);
    aws.faults(move |_, _| down.load(SeqCst).then_some(Fault::Hangs));
    let handle = async |order: Message<usize>| {
        sleep(SECOND * if order.body == 1 { 1_000 } else { 1 }).await;
        Ok::<_, Failure>(())
    };
    let consumer = Consumer::new(handle).sqs(aws.sqs()).cloudwatch(aws.cloudwatch());
    let consumer = consumer.metrics(Metrics::CloudWatch).drain(25 * SECOND).hook(Endless);
    let consumer = consumer.once(Silent(Memory::default()));
    queue.send("1");
    let began = Instant::now();
    let stop = async {
        sleep(2 * SECOND).await;
        is_down.store(true, SeqCst);
    };
    let end = consumer.work_until(queue.url(), stop).await;
    assert!(end.is_err(), "its message was not handed back");
    let took = began.elapsed() - 2 * SECOND;
    assert!(took >= 28 * SECOND && took <= Duration::from_millis(29_500), "{took:?}");
}

/// One message fails and is counted. The handler of another ends while the call that publishes this is on its way.
#[tokio::test(start_paused = true)]
async fn counts_that_are_being_published_when_a_worker_ends_are_not_lost() {
    let aws = TestAws::new();
    let queue = aws.queue("orders").create();
    let (is_first, is_told) = (AtomicBool::new(true), Arc::new(AtomicBool::new(false)));
    let (own, told) = (aws.clone(), Arc::clone(&is_told));
    let handle = move |_: Message<usize>| {
        let (fails, aws, told) = (is_first.swap(false, SeqCst), own.clone(), Arc::clone(&told));
        async move {
            if fails {
                return Err("down");
            }
            while !told.load(SeqCst) {
                sleep(SECOND / 100).await;
            }
            aws.latency(Duration::ZERO);
            Ok(())
        }
    };
    let consumer = Consumer::new(handle).sqs(aws.sqs()).cloudwatch(aws.cloudwatch());
    let consumer = consumer.metrics(Metrics::CloudWatch).concurrency(1);
    queue.send("1");
    queue.send("2");
    // Each call acts after that.
    aws.latency(SECOND / 2);
    let stop = async {
        while !aws.calls().contains_key("PutMetricData") {
            sleep(SECOND / 10).await;
        }
        is_told.store(true, SeqCst);
    };
    consumer.work_until(queue.url(), stop).await.unwrap();
    assert_eq!(aws.metric_sum("Redrive", "WorkerErrors"), 1.0);
}
