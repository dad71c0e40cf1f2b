use std::sync::{Arc, Mutex};
use std::time::Duration;

use redrive::Failure;
use tokio::runtime::{Builder, Handle};
use tokio::time::Instant;

use crate::support::Aws;
use crate::support::runtimes::Runtimes;

const fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

tokio::task_local! {
    static TENANT: &'static str;
}

#[tokio::test(start_paused = true)]
async fn task_locals_of_the_caller_of_handle_reach_handlers() {
    let aws = Aws::standard();
    aws.send_all("orders", 0..3);
    let consumer = aws.consumer("orders", |_: u64| async {
        tokio::time::sleep(secs(1)).await;
        assert_eq!(TENANT.get(), "acme");
        Ok::<_, Failure>(())
    });
    let handled = TENANT.scope("acme", aws.handle(&consumer, "orders", 10)).await;
    assert_eq!(handled.report.succeeded, 3);
}

#[tokio::test(start_paused = true)]
async fn handlers_may_use_the_local_set_that_handle_is_called_in() {
    let aws = Aws::standard();
    aws.send_all("orders", 0..3);
    let consumer = aws.consumer("orders", |n: u64| async move {
        let doubled = tokio::task::spawn_local(async move { n * 2 }).await?;
        assert_eq!(doubled, n * 2);
        Ok::<_, Failure>(())
    });
    let handled = tokio::task::LocalSet::new().run_until(aws.handle(&consumer, "orders", 10)).await;
    assert_eq!(handled.report.succeeded, 3);
}

/// The error of `handle` and of `connect`, for workers on which no handler can run.
fn refused(workers: Handle) -> [String; 2] {
    let runtimes = Runtimes::new(1);
    let aws = runtimes.block_on(async { Aws::standard() });
    aws.send_all("orders", 0..3);
    let consumer =
        aws.consumer("orders", |_: u64| async { panic!("nothing may run") as Result<(), Failure> });
    let consumer = consumer.workers(workers);
    let event = aws.event("orders", 10);
    let before = aws.events().len();
    let handled = runtimes.block_on(consumer.handle(event, Instant::now() + secs(3)));
    assert_eq!(aws.events().len(), before, "no delay, no letter, nothing deleted");
    let diagnostic = lambda_runtime::Diagnostic::from(handled.unwrap_err());
    assert_eq!(diagnostic.error_type, "InvalidSetting");
    let connected = runtimes.block_on(consumer.connect());
    [diagnostic.error_message, connected.unwrap_err().to_string()]
}

/// Without this, those messages that need the runtime would fail attempt after attempt.
#[test]
fn workers_without_a_runtime_or_timers_fail_before_any_message() {
    let allowed = "allowed: one that is running and has timers (enable_time or enable_all)";
    let workers = || Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    // Its drop waits until it has ended.
    let gone = std::thread::spawn(move || workers().handle().clone()).join().unwrap();
    let expected = format!("workers is a runtime that was shut down, {allowed}");
    assert_eq!(refused(gone), [expected.clone(), expected]);

    let workers = Builder::new_multi_thread().worker_threads(1).enable_io().build().unwrap();
    let expected = format!("workers is a runtime without timers, {allowed}");
    assert_eq!(refused(workers.handle().clone()), [expected.clone(), expected]);
    workers.shutdown_background();
}

#[tokio::test]
async fn workers_that_end_during_a_batch_fail_only_messages_that_need_them() {
    let aws = Aws::standard();
    aws.send_all("orders", 0..4);
    let workers = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let handle = workers.handle().clone();
    let workers = Arc::new(Mutex::new(Some(workers)));
    let consumer = aws.consumer("orders", move |n: u64| {
        let workers = Arc::clone(&workers);
        async move {
            if n == 0 {
                workers.lock().unwrap().take().unwrap().shutdown_background();
                tokio::time::sleep(secs(5)).await;
            }
            Ok::<_, Failure>(())
        }
    });
    let handled = aws.handle(&consumer.workers(handle), "orders", 10).await;
    assert_eq!((handled.report.succeeded, handled.report.retried, handled.report.dead_lettered), (3, 1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_time_limit_is_kept_for_each_message_by_itself() {
    let aws = Aws::standard();
    aws.send_all("orders", [100, 900, 1_100, 400, 5_000, 999]);
    let consumer = aws.consumer("orders", |millis: u64| async move {
        tokio::time::sleep(Duration::from_millis(millis)).await;
        Ok::<_, Failure>(())
    });
    let handled = aws.handle(&consumer.time_limit(secs(1)).concurrency(2), "orders", 10).await;
    assert_eq!((handled.report.succeeded, handled.report.worker_errors), (4, 2));
    let longest = handled.report.worker_durations.iter().max().unwrap();
    assert!((secs(1)..Duration::from_millis(1_010)).contains(longest), "{longest:?}");
}
