use std::time::UNIX_EPOCH;

use super::*;
use crate::queue::AttributeValue;
use crate::run::note::NOTE;

fn tracker() -> MessageTracker {
    let mut tracker = MessageTracker::default();
    tracker.dead_letter_queues(["orders-dead".to_owned()].into());
    tracker
}

fn sent(queue: &str, message_id: &str, note: Option<&str>) -> QueueEvent {
    let attributes = note.map(|note| {
        let value = AttributeValue::Text(note.into());
        (NOTE.to_owned(), MessageAttribute { data_type: "String".into(), value })
    });
    QueueEvent::Sent {
        queue: queue.into(),
        message_id: message_id.into(),
        attributes: attributes.into_iter().collect(),
    }
}

fn deleted(message_id: &str) -> QueueEvent {
    QueueEvent::Deleted { queue: "orders".into(), message_id: message_id.into() }
}

fn totals(tracker: &MessageTracker) -> (usize, usize, Vec<(String, usize)>) {
    let totals = tracker.totals(Duration::ZERO, Duration::ZERO, 0);
    (totals.messages, totals.done, totals.dead_lettered.into_iter().collect())
}

#[test]
fn a_deleted_message_is_done_unless_it_has_a_letter() {
    let mut tracker = tracker();
    for id in ["m1", "m2"] {
        tracker.note(sent("orders", id, None));
        tracker.take(id, 3, UNIX_EPOCH);
    }
    let note = r#"{"reason":"card-refused","error":"no","attempts":3,"message_id":"m2","source":"arn:aws:sqs:r:1:orders"}"#;
    assert_eq!(
        tracker.note(sent("orders-dead", "l1", Some(note))),
        Some(EventKind::DeadLettered {
            queue: "orders".into(),
            message_id: "m2".into(),
            attempt: 3,
            reason: "card-refused".into(),
            error: Some("no".into()),
        })
    );
    let done = EventKind::Done { queue: "orders".into(), message_id: "m1".into(), attempt: 3 };
    assert_eq!(tracker.note(deleted("m1")), Some(done));
    assert_eq!(tracker.note(deleted("m2")), None);
    assert_eq!(totals(&tracker), (2, 1, vec![("card-refused".into(), 1)]));
}

#[test]
fn a_deleted_message_that_the_function_reported_as_failed_is_not_done() {
    let mut tracker = tracker();
    for id in ["m1", "m2"] {
        tracker.note(sent("orders", id, None));
        tracker.take(id, 2, UNIX_EPOCH);
    }
    tracker.ignore_failure("m1");
    let (queue, message_id) = ("orders".to_owned(), "m1".to_owned());
    let lost = EventKind::DeletedAlthoughFailed { queue, message_id, attempt: 2 };
    assert_eq!(tracker.note(deleted("m1")), Some(lost));
    assert!(matches!(tracker.note(deleted("m2")), Some(EventKind::Done { .. })));
    let totals = tracker.totals(Duration::ZERO, Duration::ZERO, 0);
    assert_eq!((totals.done, totals.deleted_although_failed), (1, 1));
}

#[test]
fn a_letter_that_is_written_twice_counts_once() {
    let mut tracker = tracker();
    tracker.note(sent("orders", "m1", None));
    for letter in ["l1", "l2"] {
        tracker.note(sent("orders-dead", letter, Some(r#"{"reason":"panic","message_id":"m1"}"#)));
    }
    assert_eq!(totals(&tracker), (1, 0, vec![("panic".into(), 1)]));
}

#[test]
fn a_moved_message_is_dead_lettered_by_the_redrive_policy() {
    let mut tracker = tracker();
    tracker.note(sent("orders", "m1", None));
    let (queue, to) = ("orders".to_owned(), "orders-dead".to_owned());
    tracker.note(QueueEvent::Moved { queue, message_id: "m1".into(), to, receive_count: 2 });
    assert_eq!(totals(&tracker), (1, 0, vec![("redrive policy".into(), 1)]));
}

#[test]
fn a_note_outside_of_a_dead_letter_queue_or_unreadable_is_no_letter() {
    let mut tracker = tracker();
    tracker.note(sent("orders", "m1", Some(r#"{"reason":"panic","message_id":"m0"}"#)));
    for note in ["", "[]", "{}", r#"{"message_id":7}"#] {
        let event = tracker.note(sent("orders-dead", "l1", Some(note)));
        assert!(matches!(event, Some(EventKind::Sent { .. })), "{note}");
    }
    assert_eq!(totals(&tracker), (1, 0, vec![]));
}

#[test]
fn a_visibility_change_during_an_invocation_is_told_when_it_is_over() {
    let mut tracker = tracker();
    let changed = |seconds| QueueEvent::VisibilityChanged {
        queue: "orders".into(),
        message_id: "m1".into(),
        timeout: Duration::from_secs(seconds),
    };
    tracker.take("m1", 1, UNIX_EPOCH);
    assert_eq!(tracker.note(changed(4)), None);
    let later = UNIX_EPOCH + Duration::from_millis(1_500);
    assert_eq!(tracker.give_back("m1", Duration::from_secs(30), later), Some(4));
    let told = EventKind::BackIn { queue: "orders".into(), message_id: "m1".into(), seconds: 8 };
    assert_eq!(tracker.note(changed(8)), Some(told));
}

#[test]
fn a_message_left_alone_is_back_when_the_visibility_timeout_of_its_queue_is_over() {
    let mut tracker = tracker();
    tracker.take("m1", 1, UNIX_EPOCH);
    let later = UNIX_EPOCH + Duration::from_millis(1_500);
    assert_eq!(tracker.give_back("m1", Duration::from_secs(30), later), Some(29));
    assert_eq!(tracker.give_back("m1", Duration::from_secs(30), later), None);
}
