//! A worker adapts its concurrency while the service behind it slows down, in virtual time.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use redrive::{Consumer, Failure, Handler};
use redrive_local::kit::TestAws;
use serde_json::{Value, json};
use tokio::time::sleep;

/// `make explore` takes a minute.
const SECONDS: u32 = if option_env!("REDRIVE_EXPLORE").is_some() { 60 } else { 20 };
const SLOW: Duration = Duration::from_millis(200);

/// A service that answers in 100 ms up to 20 calls at a time. With more it slows down by the square, so it does less.
#[derive(Clone, Default)]
struct Service(Arc<Mutex<Calls>>);

#[derive(Default)]
struct Calls {
    running: usize,
    most: usize,
    took: Vec<Duration>,
    is_down: bool,
}

impl Handler<Value> for Service {
    type Error = Failure;

    async fn call(&self, _: Value) -> Result<(), Failure> {
        let took = {
            let mut calls = self.0.lock().unwrap();
            calls.running += 1;
            calls.most = calls.most.max(calls.running);
            Duration::from_millis(100).mul_f64((calls.running as f64 / 20.0).max(1.0).powi(2))
        };
        sleep(took).await;
        let mut calls = self.0.lock().unwrap();
        calls.running -= 1;
        if calls.is_down {
            return Err(Failure::outage("503"));
        }
        calls.took.push(took);
        Ok(())
    }
}

impl Service {
    /// How many calls a second were answered, and how long they took in the mean.
    fn figures(&self) -> (f64, Duration) {
        let took = &self.0.lock().unwrap().took;
        let count = u32::try_from(took.len()).unwrap();
        (f64::from(count / SECONDS), took.iter().sum::<Duration>() / count.max(1))
    }
}

/// A worker with a concurrency of 100, and as many messages as the service can answer.
async fn behind(slow: Option<Duration>) -> (f64, Duration) {
    let (aws, service) = (TestAws::new(), Service::default());
    aws.latency(Duration::from_millis(20));
    let queue = aws.queue("orders").dead_letter_queue("orders-dead", 3).create();
    (0..200 * SECONDS).for_each(|number| drop(queue.send(json!(number))));
    let consumer = Consumer::new(service.clone()).sqs(aws.sqs()).concurrency(100);
    let consumer = match slow {
        Some(slow) => consumer.adaptive_concurrency(slow),
        None => consumer,
    };
    queue
        .worked_by(|url, stop| consumer.work_until(url, stop))
        .run_for(Duration::from_secs(SECONDS.into()))
        .await;
    let (each_second, took) = service.figures();
    println!("slow above {slow:?}: {each_second:.0} a second, {took:?}");
    (each_second, took)
}

#[tokio::test(start_paused = true)]
async fn a_service_that_slows_down_gets_no_more_calls_than_it_can_answer() {
    let (fixed, adaptive) = (behind(None).await, behind(Some(SLOW)).await);
    assert!(adaptive.0 > 2.0 * fixed.0 && adaptive.1 < Duration::from_millis(200), "{fixed:?} {adaptive:?}");
}

#[tokio::test(start_paused = true)]
async fn a_service_that_was_down_gets_few_calls_at_first() {
    let (aws, service) = (TestAws::new(), Service::default());
    let queue = aws.queue("orders").dead_letter_queue("orders-dead", 10).create();
    (0..2_000).for_each(|number| drop(queue.send(json!(number))));
    let consumer = Consumer::new(service.clone()).sqs(aws.sqs()).concurrency(20);
    let consumer = consumer.adaptive_concurrency(SLOW);
    let mut workers = queue.worked_by(|url, stop| consumer.work_until(url, stop));
    let calls = || service.0.lock().unwrap();
    let down = async {
        sleep(Duration::from_secs(5)).await;
        assert_eq!(calls().most, 20);
        calls().is_down = true;
        sleep(Duration::from_secs(120)).await;
        let answered = calls().took.len();
        (calls().is_down, calls().most) = (false, 0);
        while calls().took.len() < answered + 10 {
            sleep(Duration::from_millis(10)).await;
        }
        let most = calls().most;
        assert!((1..=5).contains(&most), "{most} at a time");
    };
    let ((), ()) = tokio::join!(workers.run_for(Duration::from_secs(190)), down);
}
