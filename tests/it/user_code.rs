use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::time::{Duration, SystemTime};

use redrive::tools::simulated;
use redrive::{BatchReport, Consumer, Failure, Metrics, Text};
use tokio::time::Instant;

use crate::support::Aws;
use crate::support::runtimes::Runtimes;

/// An error whose text is never to be had.
#[derive(Debug)]
struct Unspeakable;

impl fmt::Display for Unspeakable {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        panic!("no words")
    }
}

impl std::error::Error for Unspeakable {}

/// A value that panics when it is dropped.
struct Landmine;

impl Drop for Landmine {
    fn drop(&mut self) {
        panic!("stepped on");
    }
}

async fn obey(body: Text) -> Result<(), Failure> {
    match body.0.as_str() {
        "unspeakable" => Err(Unspeakable)?,
        "landmine" => std::panic::panic_any(Landmine),
        "fail" => Err("down")?,
        _ => Ok(()),
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_that_panics_when_it_is_printed_is_a_panic_of_its_own_message() {
    for body in ["unspeakable", "landmine"] {
        let aws = Aws::standard();
        aws.send_all("orders", ["ok", body, "ok"]);
        let handled = aws.handle(&aws.consumer("orders", obey), "orders", 10).await;
        assert_eq!((handled.report.succeeded, handled.report.dead_lettered), (2, 1), "{body}");
        assert_eq!(handled.notes()[0].reason, "panic");
    }
}

#[tokio::test(start_paused = true)]
async fn an_observer_that_panics_changes_nothing() {
    let aws = Aws::standard();
    aws.send_all("orders", ["ok", "fail"]);
    let consumer = aws.consumer("orders", obey).observe(|_: &BatchReport| std::panic::panic_any(Landmine));
    let event = aws.event("orders", 2);
    let response = consumer.handle(event, Instant::now() + Duration::from_secs(9)).await.unwrap();
    assert_eq!(response.batch_item_failures.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_a_closure_counts_as_a_panic_of_its_message() {
    let aws = Aws::standard();
    aws.send_all("orders", ["ok", "fail"]);
    let backoff = aws.consumer("orders", obey).backoff_by(|_, _| Duration::from_secs_f64(f64::INFINITY));
    let handled = aws.handle(&backoff, "orders", 10).await;
    assert_eq!((handled.report.succeeded, handled.report.dead_lettered), (1, 1));

    aws.send_all("orders", ["ok", "fail"]);
    let classify = aws.consumer("orders", obey).classify(|_| panic!("undecided"));
    let handled = aws.handle(&classify, "orders", 10).await;
    assert_eq!((handled.report.succeeded, handled.report.dead_lettered), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn the_order_of_metrics_settings_does_not_matter() {
    let sums = async |said: fn(Consumer<_, Text>) -> Consumer<_, Text>,
                      variable: fn(&str) -> Option<String>| {
        let aws = Aws::standard();
        aws.send_all("orders", ["x"]);
        let consumer = said(aws.consumer("orders", |_: Text| async { Err::<(), Failure>("down".into()) }));
        let consumer = simulated(consumer, variable, SystemTime::now).unwrap();
        aws.handle(&consumer, "orders", 10).await;
        ["Redrive", "Mine"].map(|namespace| aws.metric_sum(namespace, "WorkerErrors"))
    };
    let mine = |name: &str| (name == "REDRIVE_METRICS_NAMESPACE").then(|| "Mine".to_owned());
    assert_eq!(sums(|consumer| consumer, |_| None).await, [1.0, 0.0]);
    assert_eq!(sums(|consumer| consumer, mine).await, [0.0, 1.0]);
    assert_eq!(sums(|consumer| consumer.metrics(Metrics::Off), mine).await, [0.0, 0.0]);
}

#[tokio::test]
async fn values_out_of_range_in_code_are_refused_at_the_start() {
    async fn refused(consumer: Consumer<impl redrive::Handler<Text>, Text>) -> String {
        consumer.connect().await.unwrap_err().to_string()
    }
    let consumer = || Consumer::new(obey);
    let table = [
        (refused(consumer().max_receive_count(5_000)).await, "max receive count is 5000, allowed: 1 to 1000"),
        (
            refused(consumer().time_limit(Duration::ZERO)).await,
            "time limit is 0ns, allowed: more than 0 s, at most 5400 s",
        ),
        (
            refused(consumer().dead_letter_queue_url("dead")).await,
            "dead-letter queue URL is \"dead\", allowed: a",
        ),
    ];
    for (refusal, expected) in table {
        assert!(refusal.starts_with(expected), "{refusal}");
    }
}

#[test]
fn handlers_that_block_run_side_by_side_on_as_many_threads_as_there_are() {
    let runtimes = Runtimes::new(3);
    let aws = runtimes.block_on(async { Aws::standard() });
    aws.send_all("orders", ["x"; 6]);
    let event = aws.event("orders", 10);
    let meeting = Arc::new(Barrier::new(3));
    let consumer = aws.consumer("orders", move |_: Text| {
        let meeting = Arc::clone(&meeting);
        async move {
            meeting.wait();
            Ok::<_, Failure>(())
        }
    });
    let consumer = consumer.workers(runtimes.workers());
    let handled = async { consumer.handle(event, Instant::now() + Duration::from_secs(20)).await };
    let response = runtimes.block_on(handled).unwrap();
    assert_eq!(response.batch_item_failures, []);
}

/// Says when it is dropped, and for how many of them.
struct Leaves(Arc<AtomicUsize>);

impl Drop for Leaves {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[tokio::test(start_paused = true)]
async fn a_batch_that_nobody_waits_for_any_more_ends_its_handlers() {
    let aws = Aws::standard();
    aws.send_all("orders", ["x", "y", "z"]);
    let left = Arc::new(AtomicUsize::new(0));
    let consumer = aws.consumer("orders", {
        let left = Arc::clone(&left);
        move |_: Text| {
            let leaves = Leaves(Arc::clone(&left));
            async move {
                std::future::pending::<()>().await;
                drop(leaves);
                Ok::<_, Failure>(())
            }
        }
    });
    let event = aws.event("orders", 10);
    let handled = consumer.handle(event, Instant::now() + Duration::from_secs(20));
    assert!(tokio::time::timeout(Duration::from_secs(1), handled).await.is_err());
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(left.load(Ordering::SeqCst), 3);
}
