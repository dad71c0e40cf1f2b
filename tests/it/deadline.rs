use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use redrive::{Failure, Message};
use redrive_local::kit::Fault;

use crate::support::Aws;
use crate::support::runtimes::Runtimes;

const fn millis(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

async fn one_second(_: u64) -> Result<(), Failure> {
    tokio::time::sleep(millis(1_000)).await;
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn successes_stay_and_the_rest_returns_at_once() {
    let aws = Aws::standard();
    let ids = aws.send_all("orders", 0..10);
    let consumer = aws.consumer("orders", one_second).concurrency(1);
    let handled = aws.handle_within(millis(3_500 + 500), &consumer, "orders", 10).await;
    assert_eq!(handled.deleted(), ids[..3]);
    assert_eq!(handled.failed, ids[3..]);
    let delays = handled.delays();
    assert_eq!(delays[ids[3].as_str()], 2, "the one that was cancelled failed");
    assert!(ids[4..].iter().all(|id| delays[id.as_str()] == 0), "the others never ran: {delays:?}");
    let report = &handled.report;
    assert_eq!((report.succeeded, report.worker_errors, report.not_started), (3, 1, 6));
}

#[tokio::test(start_paused = true)]
async fn unstarted_messages_wait_if_nothing_was_finished() {
    let aws = Aws::standard();
    let ids = aws.send_all("orders", 0..3);
    let consumer =
        aws.consumer("orders", |_: u64| std::future::pending::<Result<(), Failure>>()).concurrency(1);
    let handled = aws.handle_within(millis(2_000), &consumer, "orders", 10).await;
    assert_eq!(ids.iter().map(|id| handled.delays()[id.as_str()]).collect::<Vec<_>>(), [2, 2, 2]);
    assert_eq!((handled.report.worker_errors, handled.report.not_started), (1, 2));
}

#[tokio::test(start_paused = true)]
async fn without_time_left_nothing_starts_and_nothing_is_lost() {
    let aws = Aws::standard();
    aws.send_all("orders", 0..3);
    let consumer = aws.consumer("orders", one_second).concurrency(1);
    let handled = aws.handle_within(Duration::ZERO, &consumer, "orders", 10).await;
    assert_eq!((handled.failed.len(), handled.report.not_started), (3, 3));
}

#[tokio::test(start_paused = true)]
async fn handlers_are_cancelled_when_the_reserve_begins() {
    for (left, until) in [(500, 250), (2_000, 1_500), (20_000, 18_000), (600_000, 595_000)] {
        let aws = Aws::new();
        aws.queue("orders-dead").create();
        aws.queue("orders").visibility_timeout(millis(900_000)).create();
        aws.send_all("orders", 0..1);
        let consumer = aws.consumer("orders", |_: u64| std::future::pending::<Result<(), Failure>>());
        let handled = aws.handle_within(millis(left), &consumer, "orders", 10).await;
        let cancelled = handled.report.worker_durations.first().copied();
        assert!(cancelled.is_some_and(|ran| ran >= millis(until)), "{left}: {cancelled:?}");
        assert!((millis(until)..millis(until + 70)).contains(&handled.took), "{left}: {:?}", handled.took);
    }
}

#[tokio::test(start_paused = true)]
async fn hanging_calls_end_before_the_deadline() {
    for left in [1_000, 4_000, 30_000] {
        let aws = Aws::standard();
        aws.faults(|_, _| Some(Fault::Hangs));
        aws.send_all("orders", 0..40);
        let handler = |n: u64| async move {
            if n < 15 { Err(Failure::reject("no")) } else { std::future::pending().await }
        };
        let consumer = aws.consumer("orders", handler).concurrency(40);
        let handled = aws.handle_within(millis(left), &consumer, "orders", 40).await;
        assert_eq!(handled.failed.len(), 40, "nothing is lost");
        assert!(handled.took < millis(left), "{left}: {:?}", handled.took);
    }
}

#[tokio::test(start_paused = true)]
async fn no_more_run_at_a_time_than_was_asked_for() {
    let aws = Aws::standard();
    aws.send_all("orders", 0..50);
    let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (counted, peak) = (Arc::clone(&running), Arc::clone(&most));
    let handler = move |_: u64| {
        let (running, most) = (Arc::clone(&counted), Arc::clone(&peak));
        async move {
            most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            tokio::time::sleep(millis(100)).await;
            running.fetch_sub(1, Ordering::SeqCst);
            Ok::<_, Failure>(())
        }
    };
    let handled = aws.handle(&aws.consumer("orders", handler).concurrency(7), "orders", 50).await;
    assert_eq!((handled.report.succeeded, most.load(Ordering::SeqCst)), (50, 7));
    assert_eq!(handled.took.as_millis() / 100, 8, "50 in rounds of 7");
}

#[tokio::test(start_paused = true)]
async fn messages_with_the_most_attempts_behind_them_start_first() {
    let aws = Aws::standard();
    let old = aws.send_all("orders", [7]);
    let failing = aws
        .consumer("orders", |_: u64| async { Err::<(), _>(Failure::retry_after(Duration::ZERO, "again")) });
    aws.handle(&failing, "orders", 1).await;
    aws.send_all("orders", 0..3);
    let order = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&order);
    let handler = move |message: redrive::Message<u64>| {
        seen.lock().unwrap().push(message.id.clone());
        async { Ok::<_, Failure>(()) }
    };
    aws.handle(&aws.consumer("orders", handler).concurrency(1), "orders", 10).await;
    assert_eq!(order.lock().unwrap()[0], old[0]);
}

/// In real time, since what blocks a thread stops tokio's clock too.
#[test]
fn handlers_that_block_every_thread_do_not_delay_the_response() {
    let runtimes = Runtimes::new(2);
    let (release, blocked) = std::sync::mpsc::channel::<()>();
    let blocked = Arc::new(Mutex::new(blocked));
    let aws = runtimes.block_on(async { Aws::standard() });
    let ids = aws.send_all("orders", 0..4);
    let handler = move |_: u64| {
        let held = Arc::clone(&blocked);
        async move {
            let _ = held.lock().unwrap().recv_timeout(Duration::from_secs(60));
            Ok::<_, Failure>(())
        }
    };
    let consumer = aws.consumer("orders", handler).concurrency(2).workers(runtimes.workers());
    let began = std::time::Instant::now();
    let handled = runtimes.block_on(aws.handle_within(millis(1_000), &consumer, "orders", 4));
    assert!(began.elapsed() < millis(1_000), "{:?}", began.elapsed());
    assert_eq!(handled.failed, ids);
    assert_eq!(
        handled.delays().len(),
        2,
        "what holds a thread keeps its visibility, what never ran is released"
    );
    drop(release);
}

/// Three messages one after the other, of which the first blocks its thread for so long.
fn behind_a_blocker(blocked: Duration, max_receive_count: u32) -> crate::support::Handled {
    let runtimes = Runtimes::new(1);
    let aws = runtimes.block_on(async { Aws::standard() });
    aws.send_all("orders", 0..3);
    let handler = move |_: u64| async move {
        std::thread::sleep(blocked);
        Ok::<_, Failure>(())
    };
    let consumer = aws.consumer("orders", handler).max_receive_count(max_receive_count);
    let consumer = consumer.concurrency(1).workers(runtimes.workers());
    runtimes.block_on(aws.handle_within(millis(1_000), &consumer, "orders", 3))
}

#[test]
fn a_message_behind_a_blocked_thread_counts_as_not_started() {
    // With a second to go the handlers are cancelled at 500 ms, and have 50 ms to let go.
    for blocked in [520, 900] {
        let handled = behind_a_blocker(millis(blocked), 10);
        let mut delays: Vec<_> = handled.delays().into_values().collect();
        delays.sort_unstable();
        // On a slow machine the first may not end within its 50 ms either.
        let released = if handled.report.succeeded == 1 { [0, 0] } else { [2, 2] };
        assert_eq!(delays, released, "{blocked}");
        let handled = behind_a_blocker(millis(blocked), 1);
        let reasons: Vec<_> = handled.notes().into_iter().map(|note| note.reason).collect();
        assert_eq!(reasons, ["not-started", "not-started"], "{blocked}");
    }
}

/// Notes when it is dropped.
struct Ends(Arc<Mutex<Vec<std::time::Instant>>>);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.lock().unwrap().push(tokio::time::Instant::now().into_std());
    }
}

#[tokio::test(start_paused = true)]
async fn a_message_knows_when_its_handler_is_canceled() {
    let (limit, left) = (millis(1_000), millis(3_000));
    let aws = Aws::standard();
    aws.send_all("orders", 0..4);
    let deadlines = Arc::new(Mutex::new(Vec::new()));
    let ends = Arc::new(Mutex::new(Vec::new()));
    let (told, ended) = (Arc::clone(&deadlines), Arc::clone(&ends));
    let hanging = move |message: Message<u64>| {
        told.lock().unwrap().push(message.deadline);
        let ends = Ends(Arc::clone(&ended));
        async move {
            std::future::pending::<()>().await;
            drop(ends);
            Ok::<_, Failure>(())
        }
    };
    let consumer = aws.consumer("orders", hanging).concurrency(1).time_limit(limit);
    let began = tokio::time::Instant::now().into_std();
    aws.handle_within(left, &consumer, "orders", 10).await;
    let deadlines = deadlines.lock().unwrap();
    assert_eq!(deadlines.len(), 3, "three have begun");
    for (deadline, end) in deadlines.iter().zip(&*ends.lock().unwrap()) {
        let late = end.duration_since(*deadline);
        assert!(*end >= *deadline && late <= millis(2), "canceled {late:?} after {:?}", *deadline - began);
    }
    assert!(deadlines[2] < began + limit * 3, "the batch ends before the time limit of the third");
}

/// `handle` does not check settings; `connect` refuses this one.
#[tokio::test(start_paused = true)]
async fn a_time_limit_after_the_deadline_limits_nothing() {
    let aws = Aws::standard();
    aws.send_all("orders", [1]);
    let handler = |_: u64| async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        Ok::<_, Failure>(())
    };
    let consumer = aws.consumer("orders", handler).time_limit(Duration::from_secs(5_400));
    assert_eq!(aws.handle(&consumer, "orders", 1).await.report.succeeded, 1);
}
