use std::sync::{Arc, Mutex};
use std::time::Duration;

use redrive::{Backoff, Consumer, Failure, Message, OnFailure, Text};
use redrive_local::{NewMessage, QueueEvent};

use crate::support::runtimes::Runtimes;
use crate::support::{Aws, VISIBILITY_TIMEOUT};

const fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// When something first happened in the account.
fn first(aws: &Aws, wanted: impl Fn(&QueueEvent) -> bool) -> Duration {
    let found = aws.events().into_iter().find(|(_, event)| wanted(event));
    found.map(|(at, _)| at).expect("it happened")
}

fn is_change(event: &QueueEvent) -> bool {
    matches!(event, QueueEvent::VisibilityChanged { .. })
}

fn is_letter(event: &QueueEvent) -> bool {
    matches!(event, QueueEvent::Sent { queue, .. } if queue.contains("dead"))
}

#[tokio::test(start_paused = true)]
async fn a_failure_waits_for_none_that_still_run() {
    let aws = Aws::new();
    aws.queue("orders").dead_letter_queue("orders-dead", 10).visibility_timeout(secs(5_700)).create();
    aws.send_all("orders", 0..3);
    let began = tokio::time::Instant::now();
    let consumer = aws.consumer("orders", |n: u64| async move {
        match n {
            0 => Err(Failure::from("down")),
            1 => Err(Failure::reject("no")),
            _ => {
                tokio::time::sleep(secs(600)).await;
                Ok(())
            }
        }
    });
    let consumer = consumer.visibility_timeout(secs(5_700));
    let sent = first(&aws, |event| matches!(event, QueueEvent::Sent { .. }));
    let handled = aws.handle_within(secs(890), &consumer, "orders", 10).await;
    assert_eq!((handled.report.succeeded, handled.report.retried, handled.report.dead_lettered), (1, 1, 1));
    assert!(began.elapsed() >= secs(600));
    for at in [first(&aws, is_change), first(&aws, is_letter)] {
        assert!(at - sent < Duration::from_millis(50), "{at:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn failures_within_20_ms_share_a_call_also_while_others_run() {
    let aws = Aws::standard();
    aws.send_all("orders", 0..13);
    let consumer = aws.consumer("orders", |n: u64| async move {
        tokio::time::sleep(Duration::from_millis(if n == 12 { 5_000 } else { n })).await;
        if n == 12 { Ok(()) } else { Err(Failure::from("down")) }
    });
    let handled = aws.handle(&consumer.concurrency(13), "orders", 20).await;
    assert_eq!(handled.report.retried, 12);
    assert_eq!(aws.calls()["ChangeMessageVisibilityBatch"], 2, "ten at once, and two after 20 ms");
}

#[tokio::test(start_paused = true)]
async fn a_group_goes_on_behind_its_letter_while_another_hangs() {
    let aws = Aws::fifo();
    for name in ["A1", "A2", "A3", "B1"] {
        aws.send("orders.fifo", NewMessage::from(name).group(&name[..1]));
    }
    let ran = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&ran);
    let consumer = aws.consumer("orders.fifo", move |message: Message<Text>| {
        let name = message.body.0.clone();
        seen.lock().unwrap().push(name.clone());
        async move {
            match name.as_str() {
                "A1" => Err(Failure::reject("no")),
                "B1" => std::future::pending().await,
                _ => Ok(()),
            }
        }
    });
    let handled = aws.handle(&consumer, "orders.fifo", 10).await;
    assert_eq!(*ran.lock().unwrap(), ["A1", "B1", "A2", "A3"]);
    assert_eq!((handled.report.dead_lettered, handled.report.succeeded, handled.failed.len()), (1, 2, 1));
}

#[tokio::test(start_paused = true)]
async fn a_message_that_never_ran_is_counted_when_sqs_moves_it() {
    let aws = Aws::new();
    aws.queue("orders").dead_letter_queue("orders-dead", 1).visibility_timeout(secs(180)).create();
    aws.send_all("orders", 0..10);
    let slow = |_: u64| async {
        tokio::time::sleep(secs(1)).await;
        Ok::<_, Failure>(())
    };
    let consumer = Consumer::new(slow).sqs(aws.sqs()).cloudwatch(aws.cloudwatch()).max_receive_count(1);
    let consumer = consumer.visibility_timeout(secs(VISIBILITY_TIMEOUT)).concurrency(1);
    let handled = aws.handle_within(secs(4), &consumer, "orders", 10).await;
    let report = &handled.report;
    // Three are done, the fourth is cut off, and six never ran.
    assert_eq!(
        (report.succeeded, report.worker_errors, report.not_started, report.dead_lettered),
        (3, 7, 0, 7)
    );
    assert_eq!(aws.metric_sum("Redrive", "DeadLettered"), 7.0);
    assert!(handled.delays().values().all(|delay| *delay == 0));
}

#[tokio::test(start_paused = true)]
async fn a_last_delivery_counts_as_dead_lettered_once_sqs_has_confirmed_it() {
    for (confirmed, refused) in [(1, false), (0, true)] {
        let aws = Aws::standard();
        if refused {
            aws.faults(crate::support::always(
                "ChangeMessageVisibilityBatch",
                redrive_local::kit::Fault::Refused,
            ));
        }
        aws.send_all("orders", [1]);
        let down = |_: u64| async { Err::<(), _>(Failure::from("down")) };
        let handled = aws.handle(&aws.consumer("orders", down).max_receive_count(1), "orders", 10).await;
        let report = &handled.report;
        assert_eq!((report.dead_lettered, report.settle_errors), (confirmed, u64::from(refused)));
    }
}

/// One order under a lock makes it panic, and then it does for all.
fn poisoned() -> impl Fn(u64) -> std::future::Ready<Result<(), Failure>> {
    let lock = Mutex::new(0);
    move |n| {
        let mut sum = lock.lock().unwrap();
        assert!(n != 0, "one bad order");
        *sum += n;
        std::future::ready(Ok(()))
    }
}

#[tokio::test(start_paused = true)]
async fn the_first_of_several_panics_is_a_letter_and_the_others_are_retried() {
    let aws = Aws::standard();
    let consumer = aws.consumer("orders", poisoned()).concurrency(1);
    let (mut letters, mut retried) = (0, 0);
    for batch in 0..3 {
        aws.send_all("orders", batch * 10..batch * 10 + 10);
        let handled = aws.handle(&consumer, "orders", 10).await;
        letters += handled.notes().len();
        retried += handled.report.retried;
    }
    assert_eq!((letters, retried), (1, 29));

    // A success between them, and the next is the first of its row.
    let aws = Aws::standard();
    let odd = |n: u64| async move {
        assert!(n.is_multiple_of(2), "odd");
        Ok::<_, Failure>(())
    };
    aws.send_all("orders", 0..6);
    let handled = aws.handle(&aws.consumer("orders", odd).concurrency(1), "orders", 10).await;
    assert_eq!((handled.report.succeeded, handled.report.dead_lettered), (3, 3));
    aws.send_all("orders", [1]);
    let patient = aws.consumer("orders", odd).on_panic(OnFailure::Retry);
    assert_eq!(aws.handle(&patient, "orders", 10).await.report.retried, 1);
}

#[test]
fn behind_a_message_that_blocks_for_ever_no_other_becomes_a_letter() {
    let runtimes = Runtimes::new(1);
    let aws = runtimes.block_on(async { Aws::standard() });
    let handler = |n: u64| async move {
        if n == 666 {
            loop {
                std::thread::park();
            }
        }
        Ok::<_, Failure>(())
    };
    let consumer = aws.consumer("orders", handler).max_receive_count(3).workers(runtimes.workers());
    let consumer = consumer.backoff(Backoff::fixed(secs(1)).unwrap());
    aws.send_all("orders", [666]);
    let poison = runtimes.block_on(aws.handle_within(secs(1), &consumer, "orders", 10));
    assert_eq!((poison.report.stuck, poison.report.worker_errors), (1, 1));
    assert_eq!(aws.metric_sum("Redrive", "Stuck"), 1.0);
    aws.send_all("orders", 0..5);
    let healthy = runtimes.block_on(aws.handle_within(secs(1), &consumer, "orders", 10));
    assert_eq!((healthy.report.succeeded, healthy.failed.len()), (5, 0));
}

/// Whenever the runner leaves, which is chance here.
#[test]
fn a_group_goes_on_behind_its_letter_however_threads_take_turns() {
    let runtimes = Runtimes::new(2);
    let aws = runtimes.block_on(async { Aws::fifo() });
    aws.latency(Duration::from_micros(100));
    let consumer = aws.consumer("orders.fifo", |message: Message<Text>| async move {
        if message.body.0 == "1" { Err(Failure::reject("no")) } else { Ok(()) }
    });
    let consumer = consumer.workers(runtimes.workers());
    for round in 0..200 {
        for name in ["1", "2", "3"] {
            aws.send("orders.fifo", NewMessage::from(name).group(&format!("g{round}")));
        }
        let handled = runtimes.block_on(aws.handle(&consumer, "orders.fifo", 10));
        assert_eq!((handled.report.succeeded, handled.report.dead_lettered), (2, 1), "{round}");
        assert!(handled.took < secs(5), "{round}: {:?}", handled.took);
    }
}

#[test]
fn a_handler_that_waits_and_then_blocks_starves_no_other() {
    let runtimes = Runtimes::new(2);
    let aws = runtimes.block_on(async { Aws::standard() });
    aws.send_all("orders", 0..10);
    let handler = |n: u64| async move {
        tokio::time::sleep(Duration::from_millis(if n == 0 { 50 } else { 200 })).await;
        if n == 0 {
            std::thread::sleep(secs(3));
        }
        Ok::<_, Failure>(())
    };
    let consumer = aws.consumer("orders", handler).workers(runtimes.workers());
    let handled = runtimes.block_on(aws.handle_within(secs(2), &consumer, "orders", 10));
    assert_eq!((handled.report.succeeded, handled.report.stuck), (9, 1));
}
