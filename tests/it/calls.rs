use std::collections::BTreeSet;
use std::time::Duration;

use aws_lambda_events::sqs::SqsEvent;
use redrive::{BatchReport, Failure};
use redrive_local::QueueEvent;
use redrive_local::kit::Fault;
use serde_json::json;
use tokio::time::Instant;

use crate::support::runtimes::Runtimes;
use crate::support::{Aws, Handled, LATENCY, always};

async fn fail(_: u64) -> Result<(), Failure> {
    Err("down")?
}

/// An event of so many records with handles that belong to real messages of the account.
fn event(aws: &Aws, records: usize) -> SqsEvent {
    aws.send_all("orders", 0..records);
    aws.event("orders", records)
}

#[tokio::test(start_paused = true)]
async fn visibility_calls_carry_at_most_ten_entries() {
    for (records, calls) in [(1, 1), (10, 1), (11, 2), (25, 3)] {
        let aws = Aws::standard();
        aws.send_all("orders", 0..records);
        let handled = aws.handle(&aws.consumer("orders", fail), "orders", records).await;
        assert_eq!(handled.delays().len(), records, "every entry was accepted, so their ids were distinct");
        assert_eq!(aws.calls()["ChangeMessageVisibilityBatch"], calls);
    }
}

#[tokio::test(start_paused = true)]
async fn an_event_without_records_has_an_empty_response_and_no_call() {
    let aws = Aws::standard();
    let event: SqsEvent = serde_json::from_value(json!({ "Records": [] })).unwrap();
    let response =
        aws.consumer("orders", fail).handle(event, Instant::now() + Duration::from_secs(9)).await.unwrap();
    assert_eq!(serde_json::to_string(&response).unwrap(), r#"{"batchItemFailures":[]}"#);
    assert!(aws.calls().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_thousand_failures_are_a_hundred_calls_and_one_for_metrics() {
    let aws = Aws::standard();
    let event = event(&aws, 10_000);
    let handler = |n: u64| async move { if n.is_multiple_of(10) { Err("down") } else { Ok(()) } };
    let consumer = aws.consumer("orders", handler);
    let began = Instant::now();
    let response = consumer.handle(event, began + Duration::from_secs(60)).await.unwrap();
    assert_eq!(response.batch_item_failures.len(), 1_000);
    let calls = aws.calls();
    assert_eq!(calls["ChangeMessageVisibilityBatch"], 100);
    assert_eq!(calls["PutMetricData"], 1);
    assert_eq!(calls.len(), 2, "{calls:?}");
    // Sixteen at a time, and then the metrics.
    assert!(began.elapsed() <= LATENCY * (100 / 16 + 2) + Duration::from_millis(2), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_record_without_a_message_id_fails_before_anything_runs() {
    let aws = Aws::standard();
    for id in [json!(null), json!("")] {
        let event =
            json!({ "Records": [{ "messageId": "a", "body": "1" }, { "messageId": id, "body": "2" }] });
        let consumer =
            aws.consumer("orders", |_: u64| async { panic!("nothing may run") as Result<(), Failure> });
        let event = serde_json::from_value(event).unwrap();
        let error = consumer.handle(event, Instant::now() + Duration::from_secs(9)).await.unwrap_err();
        assert_eq!(error.to_string(), "record 1 has no messageId and could not be reported as failed");
        assert_eq!(lambda_runtime::Diagnostic::from(error).error_type, "MissingMessageId");
    }
}

/// Twelve failing messages under a fault of one operation.
async fn twelve(operation: &'static str, fault: Fault) -> Handled {
    let aws = Aws::standard();
    aws.faults(always(operation, fault));
    let ids: BTreeSet<_> = aws.send_all("orders", 0..12).into_iter().collect();
    let handled = aws.handle(&aws.consumer("orders", fail), "orders", 12).await;
    assert_eq!(
        handled.failed.iter().cloned().collect::<BTreeSet<_>>(),
        ids,
        "{fault:?} must not change the response"
    );
    assert!(handled.took < Duration::from_secs(30), "{:?}", handled.took);
    handled
}

#[tokio::test(start_paused = true)]
async fn failing_visibility_calls_leave_the_response_as_it_was_and_are_counted() {
    for fault in [Fault::Refused, Fault::Throttled, Fault::Denied, Fault::Hangs, Fault::Blank] {
        let handled = twelve("ChangeMessageVisibilityBatch", fault).await;
        assert_eq!(handled.delays().len(), 0);
        assert_eq!((handled.report.settle_errors, handled.report.retried), (12, 0), "{fault:?}");
        assert_eq!(handled.report.worker_errors, 12);
    }
}

#[tokio::test(start_paused = true)]
async fn entries_that_fail_in_an_http_200_are_retried_once_then_counted() {
    let handled = twelve("ChangeMessageVisibilityBatch", Fault::HalfFails).await;
    // Ten entries leave five and then two; two leave one and then none.
    assert_eq!((handled.report.retried, handled.report.settle_errors), (10, 2));
    assert_eq!(handled.delays().len(), 10);
}

#[tokio::test(start_paused = true)]
async fn entries_that_are_refused_for_good_are_not_tried_again() {
    let aws = Aws::standard();
    let mut event = event(&aws, 3);
    event.records[1].receipt_handle = Some("garbage".to_owned());
    event.records[2].receipt_handle = None;
    let consumer = aws.consumer("orders", fail);
    let response = consumer.handle(event, Instant::now() + Duration::from_secs(9)).await.unwrap();
    assert_eq!(response.batch_item_failures.len(), 3);
    assert_eq!(aws.calls()["ChangeMessageVisibilityBatch"], 1);
    let changed = |event: &QueueEvent| matches!(event, QueueEvent::VisibilityChanged { .. });
    assert_eq!(aws.events().iter().filter(|(_, event)| changed(event)).count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_failing_metrics_sink_changes_nothing_else() {
    for fault in [Fault::Refused, Fault::Throttled, Fault::Denied, Fault::Hangs] {
        let handled = twelve("PutMetricData", fault).await;
        assert_eq!((handled.report.retried, handled.report.settle_errors), (12, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn a_second_try_mends_a_call_that_failed_once() {
    for fault in [Fault::Refused, Fault::Throttled, Fault::Blank] {
        let aws = Aws::standard();
        aws.faults(move |operation, number| {
            (operation == "ChangeMessageVisibilityBatch" && number == 0).then_some(fault)
        });
        aws.send_all("orders", 0..3);
        let handled = aws.handle(&aws.consumer("orders", fail), "orders", 3).await;
        assert_eq!((handled.report.retried, handled.report.settle_errors), (3, 0), "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn metrics_say_what_happened_by_the_queues_name() {
    let aws = Aws::standard();
    aws.send_all("orders", 0..5);
    let handler = |n: u64| async move {
        match n {
            0 => Err(Failure::reject("no")),
            1 => Err(Failure::defer(Duration::from_secs(5))),
            2 => Err(Failure::from("down")),
            _ => Ok(()),
        }
    };
    aws.handle(&aws.consumer("orders", handler), "orders", 5).await;
    let sum = |name| aws.metric_sum("Redrive", name);
    assert_eq!(
        ["WorkerErrors", "Retried", "DeadLettered", "Deferred", "Succeeded"].map(sum),
        [2.0, 1.0, 1.0, 1.0, 0.0]
    );
}

#[test]
fn an_observer_that_blocks_cannot_push_the_response_past_the_deadline() {
    let runtimes = Runtimes::new(1);
    let aws = runtimes.block_on(async { Aws::standard() });
    let event = event(&aws, 2);
    let (release, blocked) = std::sync::mpsc::channel::<()>();
    let blocked = std::sync::Mutex::new(blocked);
    let consumer =
        aws.consumer("orders", fail).workers(runtimes.workers()).observe(move |_: &BatchReport| {
            let _ = blocked.lock().unwrap().recv_timeout(Duration::from_secs(30));
        });
    let began = std::time::Instant::now();
    let handled = async { consumer.handle(event, Instant::now() + Duration::from_secs(1)).await };
    assert_eq!(runtimes.block_on(handled).unwrap().batch_item_failures.len(), 2);
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    drop(release);
}
