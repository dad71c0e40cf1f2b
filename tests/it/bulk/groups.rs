//! Calls on a FIFO queue.

use std::time::Duration;

use redrive::Chunks;
use redrive_local::NewMessage;

use super::{ends, noted, taken};
use crate::support::Aws;

const QUEUE: &str = "orders.fifo";

#[tokio::test(start_paused = true)]
async fn a_failed_message_stops_the_open_ones_behind_it_in_its_group() {
    let rows: [(&[&str], &[&str]); 6] = [
        (&["A fail", "A", "B", "A"], &["2 s", "4 s", "ok", "4 s"]),
        (&["A fail", "A done", "A", "B fail"], &["2 s", "ok", "4 s", "2 s"]),
        (&["A", "A fail", "A defer", "A"], &["ok", "2 s", "7 s", "4 s"]),
        // The whole call failed, and so did everything that was open.
        (&["A all-fail", "A", "B"], &["2 s", "2 s", "2 s"]),
        (&["A fail", "A all-fail", "B"], &["2 s", "4 s", "2 s"]),
        (&["A all-reject", "A", "B done"], &["letter rejected", "letter rejected", "ok"]),
    ];
    for (bodies, expected) in rows {
        assert_eq!(ends(QUEUE, bodies).await, expected, "{bodies:?}");
    }
}

fn send(aws: &Aws, bodies: &[&str]) -> Vec<String> {
    bodies.iter().map(|body| aws.send(QUEUE, NewMessage::from(*body).group(&body[..1]))).collect()
}

#[tokio::test(start_paused = true)]
async fn a_group_continues_behind_a_letter_in_the_same_invocation() {
    let aws = Aws::fifo();
    send(&aws, &["A", "A reject", "A", "A", "B"]);
    let (consumer, calls) = noted(&aws, QUEUE);
    let handled = aws.handle(&consumer, QUEUE, 10).await;
    assert_eq!(taken(&calls), [vec!["A", "A reject", "A", "A", "B"], vec!["A", "A"]]);
    assert_eq!((handled.report.succeeded, handled.report.dead_lettered), (4, 1));
}

#[tokio::test(start_paused = true)]
async fn open_messages_behind_a_discarded_one_return_after_it() {
    let aws = Aws::fifo();
    let ids = send(&aws, &["A", "A discard", "A", "A done", "A", "B"]);
    let (consumer, _) = noted(&aws, QUEUE);
    let handled = aws.handle(&consumer, QUEUE, 10).await;
    assert_eq!(handled.failed, [ids[2].clone(), ids[4].clone()]);
    let report = handled.report;
    assert_eq!((report.succeeded, report.discarded, report.not_started), (3, 1, 2));
}

#[tokio::test(start_paused = true)]
async fn messages_done_behind_a_letter_do_not_run_again() {
    let aws = Aws::fifo();
    let ids = send(&aws, &["A reject", "A", "A done", "A reject", "A"]);
    let (consumer, calls) = noted(&aws, QUEUE);
    let handled = aws.handle(&consumer, QUEUE, 10).await;
    assert_eq!(
        taken(&calls).len(),
        1,
        "an unfinished message is in between, so the rest waits for another batch"
    );
    assert_eq!(handled.failed, [ids[1].clone(), ids[4].clone()]);
    assert_eq!(handled.report.dead_lettered, 2);
}

#[tokio::test(start_paused = true)]
async fn a_group_is_in_one_call_at_a_time_and_in_order() {
    let aws = Aws::fifo();
    send(&aws, &["A1", "A2", "A3", "B1", "A4", "B2"]);
    let (consumer, calls) = noted(&aws, QUEUE);
    let consumer = consumer.chunks(Chunks::of(2));
    let handled = aws.handle(&consumer, QUEUE, 10).await;
    assert_eq!(handled.report.succeeded, 6);
    let mut calls = taken(&calls);
    assert_eq!(calls.concat().len(), 6);
    calls.sort();
    assert_eq!(calls, [["A1", "A2"], ["A3", "A4"], ["B1", "B2"]]);
    assert!(handled.took >= Duration::from_millis(6), "A3 waits for A2: {:?}", handled.took);
}

#[tokio::test(start_paused = true)]
async fn the_rest_of_a_group_is_not_started_if_its_first_call_fails() {
    let aws = Aws::fifo();
    send(&aws, &["A1", "A2 fail", "A3", "A4"]);
    let (consumer, calls) = noted(&aws, QUEUE);
    let consumer = consumer.chunks(Chunks::of(2));
    let handled = aws.handle(&consumer, QUEUE, 10).await;
    assert_eq!(taken(&calls), [["A1", "A2 fail"]]);
    assert_eq!(
        (handled.report.succeeded, handled.report.worker_errors, handled.report.not_started),
        (1, 1, 2)
    );
}

#[tokio::test(start_paused = true)]
async fn a_panic_is_not_blamed_on_one_message_while_the_handler_holds_another() {
    // It is C that panics, behind a failed one of its group.
    assert_eq!(ends(QUEUE, &["A", "C fail", "C all-panic"]).await, ["2 s", "2 s", "4 s"]);
}
