use std::time::Duration;

use redrive::Failure;
use tokio::runtime::Builder;

use crate::support::runtimes::Runtimes;
use crate::support::{Aws, at_a_time};

const fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

tokio::task_local! {
    static TENANT: &'static str;
}

#[tokio::test(start_paused = true)]
async fn what_is_local_to_the_task_that_calls_handle_reaches_handlers() {
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

#[tokio::test]
async fn workers_that_are_gone_fail_only_what_needs_them_and_that_is_retried() {
    let gone = std::thread::spawn(|| Runtimes::new(1).workers()).join().unwrap();
    let aws = Aws::standard();
    aws.send_all("orders", 0..4);
    let consumer = aws.consumer("orders", |n: u64| async move {
        if n == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        Ok::<_, Failure>(())
    });
    let handled = aws.handle(&consumer.workers(gone), "orders", 10).await;
    assert_eq!((handled.report.succeeded, handled.report.retried, handled.report.dead_lettered), (3, 1, 0));
}

#[test]
fn a_time_limit_needs_no_timers_of_the_workers() {
    let workers = Builder::new_multi_thread().worker_threads(1).enable_io().build().unwrap();
    let runtimes = Runtimes::with(workers);
    let aws = runtimes.block_on(async { Aws::standard() });
    aws.send_all("orders", 0..3);
    let consumer = aws.consumer("orders", |n: u64| async move {
        if n == 0 {
            std::future::pending::<()>().await;
        }
        Ok::<_, Failure>(())
    });
    let consumer = consumer.time_limit(Duration::from_millis(100)).workers(runtimes.workers());
    let handled = runtimes.block_on(aws.handle_within(secs(3), &consumer, "orders", 10));
    assert_eq!((handled.report.succeeded, handled.report.retried, handled.report.dead_lettered), (2, 1, 0));
    assert!(handled.took < secs(1), "{:?}", handled.took);
}

#[tokio::test(start_paused = true)]
async fn a_time_limit_is_kept_for_each_message_by_itself() {
    let aws = Aws::standard();
    aws.send_all("orders", [100, 900, 1_100, 400, 5_000, 999]);
    let consumer = aws.consumer("orders", |millis: u64| async move {
        tokio::time::sleep(Duration::from_millis(millis)).await;
        Ok::<_, Failure>(())
    });
    let handled = aws.handle(&consumer.time_limit(secs(1)).concurrency(at_a_time(2)), "orders", 10).await;
    assert_eq!((handled.report.succeeded, handled.report.worker_errors), (4, 2));
    let longest = handled.report.worker_durations.iter().max().unwrap();
    assert!((secs(1)..Duration::from_millis(1_010)).contains(longest), "{longest:?}");
}
