use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use redrive::{BatchReport, Consumer, Failure};
use redrive_local::kit::Fault;
use serde_json::Value;
use tokio::time::{Instant, timeout};

use crate::support::flaky::Flaky;
use crate::support::function::{Function, ORDERS, PATIENCE};
use crate::support::scripted::{Say, Scripted};
use crate::support::shop::order;
use crate::support::{Aws, always, event, event_of, loopback};

const SEND: &str = "SendMessageBatch";
const CHANGE: &str = "ChangeMessageVisibilityBatch";

/// What the handler makes of even numbers and of odd ones.
async fn reject_even(number: u64) -> Result<(), Failure> {
    if number.is_multiple_of(2) { Err(Failure::reject("even")) } else { Err(Failure::from("odd")) }
}

async fn reject(_: u64) -> Result<(), Failure> {
    Err(Failure::reject("no"))
}

async fn fail(_: u64) -> Result<(), Failure> {
    Err(Failure::from("down"))
}

/// Hands an event to a consumer that calls a real socket.
async fn handle<H: redrive::Handler<u64>>(consumer: Consumer<H, u64>, event: Value) -> BatchReport {
    let report = Arc::new(Mutex::new(None));
    let observed = Arc::clone(&report);
    let consumer =
        consumer.observe(move |report: &BatchReport| *observed.lock().unwrap() = Some(report.clone()));
    let event = serde_json::from_value(event).unwrap();
    let handled = consumer.handle(event, Instant::now() + Duration::from_secs(20));
    timeout(PATIENCE, handled).await.unwrap().unwrap();
    let report = report.lock().unwrap().take();
    report.unwrap()
}

fn consumer<H: redrive::Handler<u64>>(handler: H, sqs: &Scripted, dead: &str) -> Consumer<H, u64> {
    let dead = format!("{}/123456789012/{dead}", sqs.url);
    Consumer::new(handler).sqs(loopback::sqs(&sqs.url)).dead_letter_queue_url(dead).max_receive_count(10)
}

#[tokio::test]
async fn a_throttled_entry_is_sent_again_as_it_is_whoever_is_blamed() {
    for code in ["RequestThrottled", "KmsThrottled", "ServiceUnavailable", "InternalError"] {
        let sqs =
            Scripted::start(move |_, before| if before == 0 { Say::EntriesFail(code) } else { Say::Done })
                .await;
        let report = handle(consumer(reject_even, &sqs, "orders-dead"), event(0..2)).await;
        assert_eq!((report.dead_lettered, report.retried, report.settle_errors), (1, 1, 0), "{code}");
        let notes: Vec<_> = sqs.calls(SEND).iter().map(|call| call.notes()).collect();
        assert_eq!(notes, [1, 1], "the letter keeps its note: {code}");
        assert_eq!(sqs.calls(CHANGE).len(), 2, "{code}");
    }
}

#[tokio::test]
async fn an_entry_that_is_at_fault_loses_its_note_and_nothing_else() {
    let sqs =
        Scripted::start(
            |call, _| {
                if call.notes() > 0 { Say::EntriesFail("InvalidParameterValue") } else { Say::Done }
            },
        );
    let sqs = sqs.await;
    let report = handle(consumer(reject, &sqs, "orders-dead"), event(0..3)).await;
    assert_eq!((report.dead_lettered, report.settle_errors), (3, 0));
    let letters: Vec<_> = sqs.calls(SEND).iter().map(|call| (call.entries.len(), call.notes())).collect();
    assert_eq!(letters, [(3, 3), (3, 0)]);
}

#[tokio::test]
async fn a_letter_that_is_refused_takes_no_other_along() {
    for code in ["InvalidParameterValue", "BatchRequestTooLong", "InvalidMessageContents"] {
        let sqs = Scripted::start(move |call, _| {
            let refused = call.operation == SEND && call.bodies().contains(&"7");
            if refused { Say::Refused(code) } else { Say::Done }
        });
        let sqs = sqs.await;
        let report = handle(consumer(reject, &sqs, "orders-dead"), event(0..10)).await;
        assert_eq!((report.dead_lettered, report.settle_errors), (9, 1), "{code}");
        let calls = sqs.calls(SEND);
        let of_the_bad: Vec<_> = calls.iter().filter(|call| call.bodies() == ["7"]).collect();
        let notes: Vec<_> = of_the_bad.iter().map(|call| call.notes()).collect();
        assert_eq!(notes, [1, 0], "by itself, and then without its note");
        assert_eq!(calls.len(), 1 + 10 + 1, "{code}");
        assert_eq!(sqs.calls(CHANGE)[0].entries.len(), 1, "it is retried with its delay");
    }
}

#[tokio::test]
async fn a_letter_that_is_refused_for_its_note_goes_without() {
    let sqs = Scripted::start(|call, _| {
        let refused = call.operation == SEND && call.notes() > 0 && call.bodies().contains(&"1");
        if refused { Say::Refused("InvalidParameterValue") } else { Say::Done }
    });
    let sqs = sqs.await;
    let report = handle(consumer(reject, &sqs, "orders-dead"), event(0..3)).await;
    assert_eq!((report.dead_lettered, report.settle_errors), (3, 0));
}

#[tokio::test]
async fn letters_of_a_fifo_queue_that_go_one_by_one_go_in_order() {
    let sqs = Scripted::start(|call, _| {
        let refused = call.operation == SEND && call.entries.len() > 1;
        if refused { Say::Refused("InvalidParameterValue") } else { Say::Done }
    });
    let sqs = sqs.await;
    let report = handle(consumer(reject, &sqs, "orders-dead.fifo"), event_of("orders.fifo", "m", 0..5)).await;
    assert_eq!((report.dead_lettered, report.settle_errors), (5, 0));
    let calls = sqs.calls(SEND);
    let alone: Vec<_> = calls[1..].iter().flat_map(|call| call.bodies()).collect();
    assert_eq!(alone, ["0", "1", "2", "3", "4"]);
}

#[tokio::test]
async fn a_call_that_no_entry_can_help_is_not_made_for_each() {
    for code in ["AccessDeniedException", "QueueDoesNotExist", "RequestThrottled"] {
        let sqs = Scripted::start(move |_, _| Say::Refused(code)).await;
        let report = handle(consumer(fail, &sqs, "orders-dead"), event(0..10)).await;
        assert_eq!((report.retried, report.settle_errors), (0, 10), "{code}");
        assert_eq!(sqs.calls(CHANGE).len(), 2, "{code}");
    }
}

#[tokio::test]
async fn a_call_whose_connections_fail_has_a_third_try() {
    for (resets, retried) in [(2, 1), (3, 0)] {
        let sqs = Flaky::start(1).await;
        sqs.reset(resets);
        let consumer = Consumer::new(fail).sqs(loopback::sqs(&sqs.url)).max_receive_count(10);
        let report = handle(consumer, event(["1"])).await;
        assert_eq!(report.retried, retried, "after {resets} resets");
    }
}

#[tokio::test]
async fn connections_that_died_in_a_freeze_cost_no_batch_its_delays() {
    let sqs = Flaky::start(10).await;
    let mut function = Function::start(ORDERS, &[("AWS_ENDPOINT_URL", &sqs.url)]).await;
    let down = |count| event(std::iter::repeat_n(order("down"), count));
    function.respond(down(100)).await;
    let opened = sqs.opened();
    assert_eq!(sqs.confirmed(), 100);
    assert!(opened >= 10, "{opened}");
    sqs.kill_connections();
    for batch in 1..=4 {
        function.respond(down(1)).await;
        assert_eq!(sqs.confirmed(), 100 + batch, "batch {batch} has set its delay");
    }
    assert_eq!(sqs.opened(), opened + 1, "the others were not tried");
    function.end().await;
}

/// How long a batch of one failing message took, or of one to reject beside it.
async fn took(aws: &Aws, consumer: &Consumer<impl redrive::Handler<u64>, u64>, count: u64) -> Duration {
    aws.send_all("orders", 0..count);
    aws.handle(consumer, "orders", 10).await.took
}

#[tokio::test(start_paused = true)]
async fn without_a_way_to_the_network_only_the_first_failing_batch_pays_seconds() {
    for messages in [1, 2] {
        let aws = Aws::standard();
        let consumer = aws.consumer("orders", reject_even);
        aws.faults(|_, _| Some(Fault::Hangs));
        assert!(took(&aws, &consumer, messages).await > Duration::from_secs(4));
        for _ in 0..2 {
            let took = took(&aws, &consumer, messages).await;
            assert!(took < Duration::from_millis(1_600), "{took:?}");
        }
        aws.faults(|_, _| None);
        assert!(took(&aws, &consumer, messages).await < Duration::from_millis(100));
        aws.faults(|_, _| Some(Fault::Hangs));
        let again = took(&aws, &consumer, messages).await;
        assert!(again > Duration::from_secs(4), "who has answered is waited for: {again:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_counts_as_an_answer() {
    let aws = Aws::standard();
    let consumer = aws.consumer("orders", fail);
    aws.faults(always(CHANGE, Fault::Hangs));
    took(&aws, &consumer, 1).await;
    let first = AtomicBool::new(true);
    aws.faults(move |called, _| {
        (called == CHANGE && first.swap(false, Ordering::SeqCst)).then_some(Fault::Throttled)
    });
    aws.send("orders", "1");
    let handled = aws.handle(&consumer, "orders", 10).await;
    assert_eq!(handled.report.settle_errors, 0, "a second try follows, as usual");
    aws.faults(always(CHANGE, Fault::Hangs));
    // It is not tried again: the message may be visible after the 2 s.
    let took = took(&aws, &consumer, 1).await;
    assert!(took > Duration::from_millis(1_900), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn metrics_that_hang_cost_later_batches_little_and_delays_nothing() {
    let aws = Aws::standard();
    let consumer = aws.consumer("orders", fail);
    aws.faults(always("PutMetricData", Fault::Hangs));
    let mut took = Vec::new();
    for number in 0..3 {
        aws.send("orders", number.to_string());
        let handled = aws.handle(&consumer, "orders", 10).await;
        assert_eq!(handled.delays().len(), handled.delivered.len());
        took.push(handled.took.as_millis());
    }
    assert!(took[0] > 1_900 && took[1..].iter().all(|took| (400..700).contains(took)), "{took:?}");
}
