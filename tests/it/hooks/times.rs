//! The time limits of hooks, and the measured time of the handler within them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use aws_lambda_events::sqs::SqsEvent;
use redrive::hook::{Delivery, Hook, Next};
use redrive::{Consumer, Failure, MessageReport, Text};

use super::{Elsewhere, Log, Witness};
use crate::support::Aws;

/// Takes its time when it is told.
struct Slow(Arc<AtomicUsize>);

impl Hook for Slow {
    fn settled(&self, _: &MessageReport) {
        std::thread::sleep(Duration::from_millis(20));
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[tokio::test]
async fn a_slow_hook_gets_as_many_messages_as_time_allows() {
    let record = |at: u32| serde_json::json!({ "messageId": at.to_string(), "body": "a" });
    let records: Vec<_> = (0..250).map(record).collect();
    let event: SqsEvent = serde_json::from_value(serde_json::json!({ "Records": records })).unwrap();
    for workers in [None, Some(tokio::runtime::Handle::current())] {
        let (told, log) = (Arc::new(AtomicUsize::new(0)), Log::default());
        let mut consumer = Consumer::new(|_: Text| async { Ok::<_, Failure>(()) });
        if let Some(workers) = workers {
            consumer = consumer.workers(workers);
        }
        let consumer =
            consumer.hook(Slow(Arc::clone(&told))).hook(Witness { name: "other", log: Arc::clone(&log) });
        let (began, left) = (Instant::now(), Duration::from_secs(2));
        for (batch, event) in [event.clone(), event.clone()].into_iter().enumerate() {
            let before = told.swap(0, Ordering::Relaxed);
            assert_eq!(before > 0, batch > 0);
            let response = consumer.handle(event, tokio::time::Instant::now() + left).await.unwrap();
            assert!(response.batch_item_failures.is_empty());
        }
        assert!(began.elapsed() < 2 * left, "{:?}", began.elapsed());
        let told = told.load(Ordering::Relaxed);
        assert!(told > 0 && told < 250, "{told}");
        assert_eq!(log.lock().unwrap().iter().filter(|line| *line == "other flushes").count(), 2);
    }
}

#[tokio::test(start_paused = true)]
async fn the_time_of_the_handler_is_its_own() {
    /// Waits a second before and after.
    struct Waits;
    impl Hook for Waits {
        async fn around<'a>(&'a self, _: &'a Delivery<'a>, next: Next<'a>) -> Result<(), Failure> {
            tokio::time::sleep(Duration::from_secs(1)).await;
            let result = next.await;
            tokio::time::sleep(Duration::from_secs(1)).await;
            result
        }
    }
    let aws = Aws::standard();
    let ids = aws.send_all("orders", ["3", "hangs", "30"]);
    let seen: Arc<Mutex<Vec<MessageReport>>> = Arc::default();
    let noted = Arc::clone(&seen);
    let consumer = aws.consumer("orders", |seconds: u64| async move {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        Ok::<_, Failure>(())
    });
    let consumer = consumer.hook(Waits).bodies(Elsewhere).time_limit(Duration::from_secs(10));
    let consumer =
        consumer.observe(move |message: &MessageReport| noted.lock().unwrap().push(message.clone()));
    let handled = aws.handle(&consumer, "orders", 10).await;
    let of = |at: usize| seen.lock().unwrap().iter().find(|message| message.id == ids[at]).unwrap().handler;
    let took = |at| of(at).map(|handler| handler.took.as_secs());
    // The second one's body never came, and the third was canceled 9 s after its call.
    assert_eq!([took(0), took(1), took(2)], [Some(3), None, Some(9)]);
    assert_eq!(handled.report.worker_durations.len(), 2);
}
