use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use redrive::{Consumer, Failure, Text};
use redrive_local::kit::TestAws;
use redrive_opentelemetry::Telemetry;
use serde_json::json;

async fn fine(_: Text) -> Result<(), Failure> {
    Ok(())
}

/// Handles a batch of one message on the real clock, and returns how long its answer took.
async fn batch(consumer: &Consumer<impl redrive::Handler<Text>, Text>, left: Duration) -> Duration {
    let queue = TestAws::new().queue("orders").create();
    queue.send("tea");
    let event = serde_json::from_value(json!({ "Records": queue.receive(1) })).unwrap();
    let began = Instant::now();
    let response = consumer.handle(event, tokio::time::Instant::now() + left).await.unwrap();
    assert!(response.batch_item_failures.is_empty());
    began.elapsed()
}

/// Returns an exporter that hangs until the sender is dropped, and the number of its calls.
fn hanging() -> (impl Fn() -> Result<(), String> + Send + Sync, Arc<AtomicUsize>, Sender<()>) {
    let (release, hangs): (_, Receiver<()>) = channel();
    let (hangs, entered) = (Mutex::new(hangs), Arc::new(AtomicUsize::new(0)));
    let seen = Arc::clone(&entered);
    let export = move || {
        seen.fetch_add(1, Ordering::SeqCst);
        let _ = hangs.lock().unwrap().recv();
        Ok(())
    };
    (export, entered, release)
}

#[tokio::test]
async fn exports_run_in_order_before_the_answer_and_may_fail() {
    let log = Arc::new(Mutex::new(Vec::new()));
    let export = |name: &'static str, result: Result<(), &'static str>| {
        let log = Arc::clone(&log);
        move || {
            log.lock().unwrap().push(name);
            result
        }
    };
    let telemetry = Telemetry::new()
        .flush(export("spans", Err("refused")))
        .flush(export("metrics", Ok(())))
        .flush_timeout(Duration::from_secs(60));
    let consumer = Consumer::new(fine).hook(telemetry);
    for batches in 1..=3 {
        batch(&consumer, Duration::from_secs(60)).await;
        assert_eq!(log.lock().unwrap().len(), 2 * batches);
    }
    assert_eq!(*log.lock().unwrap(), ["spans", "metrics", "spans", "metrics", "spans", "metrics"]);
}

#[tokio::test]
async fn an_exporter_that_hangs_delays_the_answer_by_at_most_the_limit() {
    let (export, entered, release) = hanging();
    let limit = Duration::from_millis(20);
    let consumer = Consumer::new(fine).hook(Telemetry::new().flush(export).flush_timeout(limit));
    for _ in 0..40 {
        let took = batch(&consumer, Duration::from_secs(60)).await;
        assert!(took >= limit && took < Duration::from_secs(30), "{took:?}");
    }
    assert_eq!(entered.load(Ordering::SeqCst), 1);
    drop(release);
}

#[tokio::test]
async fn an_exporter_that_hangs_never_keeps_the_answer_past_the_deadline() {
    let (export, _, release) = hanging();
    let telemetry = Telemetry::new().flush(export).flush_timeout(Duration::from_secs(600));
    let consumer = Consumer::new(fine).hook(telemetry);
    let took = batch(&consumer, Duration::from_secs(2)).await;
    assert!(took < Duration::from_secs(2), "{took:?}");
    drop(release);
}

#[tokio::test(start_paused = true)]
async fn a_paused_clock_stands_still_until_the_exports_are_done() {
    let exported = Arc::new(AtomicUsize::new(0));
    let done = Arc::clone(&exported);
    let export = move || {
        std::thread::sleep(Duration::from_millis(50));
        done.fetch_add(1, Ordering::SeqCst);
        Ok::<_, String>(())
    };
    let consumer = Consumer::new(fine).hook(Telemetry::new().flush(export));
    let began = tokio::time::Instant::now();
    batch(&consumer, Duration::from_secs(60)).await;
    assert_eq!((exported.load(Ordering::SeqCst), began.elapsed()), (1, Duration::ZERO));
}
