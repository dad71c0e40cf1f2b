//! `halve_on_failure` finds the messages that fail alone.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use redrive::{Bulk, Chunks, Failure, Text};
use redrive_local::NewMessage;
use tokio::time::{Instant, sleep};

use super::{noted, taken};
use crate::support::Aws;

#[tokio::test(start_paused = true)]
async fn the_message_that_fails_a_call_is_found_and_the_others_are_done() {
    for (poison, letters, failed) in [("all-fail", 0, 1), ("all-reject", 1, 0), ("all-panic", 1, 0)] {
        let aws = Aws::standard();
        let ids = aws.send_all("orders", ["a", "b", "c", poison, "d", "e", "done", "f"]);
        let (consumer, calls) = noted(&aws, "orders");
        let handled = aws.handle(&consumer.chunks(Chunks::default().halve_on_failure()), "orders", 10).await;
        assert_eq!(
            taken(&calls),
            [
                vec!["a", "b", "c", poison, "d", "e", "done", "f"],
                vec!["a", "b", "c", poison],
                vec!["a", "b"],
                vec!["c", poison],
                vec!["c"],
                vec![poison],
                vec!["d", "e", "f"],
            ],
            "what was ruled on is not tried again"
        );
        assert_eq!((handled.report.succeeded, handled.report.dead_lettered), (7, letters), "{poison}");
        assert_eq!(handled.failed, ids[3..3 + failed]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_result_for_all_messages_is_not_halved() {
    for whole in ["all-later", "all-defer", "all-discard", "all-hang"] {
        let aws = Aws::standard();
        aws.send_all("orders", ["a", whole, "b"]);
        let (consumer, calls) = noted(&aws, "orders");
        let consumer =
            consumer.chunks(Chunks::default().halve_on_failure()).time_limit(Duration::from_secs(1));
        aws.handle(&consumer, "orders", 10).await;
        assert_eq!(taken(&calls).len(), 1, "{whole}");
    }
}

#[tokio::test(start_paused = true)]
async fn in_a_group_nothing_behind_the_poison_is_tried_before_its_letter() {
    let aws = Aws::fifo();
    let send = |body: &str| aws.send("orders.fifo", NewMessage::from(body).group(&body[..1]));
    let ids: Vec<_> = ["A1", "A2 all-reject", "A3", "A4", "B1"].map(send).into();
    let (consumer, calls) = noted(&aws, "orders.fifo");
    let handled = aws.handle(&consumer.chunks(Chunks::default().halve_on_failure()), "orders.fifo", 10).await;
    assert_eq!(
        taken(&calls),
        [
            vec!["A1", "A2 all-reject", "A3", "A4", "B1"],
            vec!["A1", "A2 all-reject"],
            vec!["A1"],
            vec!["A2 all-reject"],
            vec!["B1"],
            vec!["A3", "A4"],
        ]
    );
    let notes = handled.notes();
    assert_eq!((handled.failed, notes[0].message_id.as_str()), (vec![], ids[1].as_str()));

    let aws = Aws::fifo();
    let send = |body: &str| aws.send("orders.fifo", NewMessage::from(body).group(&body[..1]));
    for body in ["A1", "A2 all-fail", "A3", "A4"] {
        send(body);
    }
    let (consumer, _) = noted(&aws, "orders.fifo");
    let handled = aws.handle(&consumer.chunks(Chunks::default().halve_on_failure()), "orders.fifo", 10).await;
    let report = &handled.report;
    assert_eq!((report.succeeded, report.worker_errors, report.not_started), (1, 1, 2));
}

#[tokio::test(start_paused = true)]
async fn a_half_runs_only_while_the_time_of_the_last_call_is_left() {
    let aws = Aws::standard();
    let ids = aws.send_all("orders", 0..4);
    let calls = Arc::new(Mutex::new(Vec::new()));
    let (began, noted) = (Instant::now(), Arc::clone(&calls));
    let handler = move |bulk: Bulk<u64>| {
        noted.lock().unwrap().push((bulk.len(), began.elapsed().as_secs()));
        async move {
            sleep(Duration::from_secs(9)).await;
            if bulk.iter().any(|number| **number >= 2) { Err("poison") } else { Ok(()) }
        }
    };
    let consumer = aws
        .consumer("orders", handler)
        .chunks(Chunks::default().halve_on_failure())
        .reserve(Duration::from_secs(1));
    let handled = aws.handle_within(Duration::from_secs(20), &consumer, "orders", 10).await;
    assert_eq!(*calls.lock().unwrap(), [(4, 0), (2, 9)]);
    assert_eq!(handled.failed, ids[2..], "they failed with the whole");
    assert_eq!((handled.report.succeeded, handled.report.worker_errors), (2, 2));
    assert_eq!(handled.report.not_started, 0);
}

#[tokio::test(start_paused = true)]
async fn a_rejection_of_several_without_time_to_halve_is_retried() {
    let aws = Aws::standard();
    let ids = aws.send_all("orders", ["a", "poison", "b", "c"]);
    let consumer = aws.consumer("orders", async |numbers: Bulk<Text>| {
        sleep(Duration::from_secs(if numbers.len() > 1 { 3 } else { 1 })).await;
        match numbers.iter().any(|text| text.0 == "poison") {
            true => Err(Failure::reject("a bad row")),
            false => Ok(()),
        }
    });
    let consumer = consumer.chunks(Chunks::default().halve_on_failure()).reserve(Duration::from_secs(1));
    // Time for the whole and one half, whose rejection is of two.
    let handled = aws.handle_within(Duration::from_secs(8), &consumer, "orders", 10).await;
    assert_eq!((handled.report.retried, handled.report.dead_lettered), (4, 0));
    assert_eq!(handled.failed, ids);
}
