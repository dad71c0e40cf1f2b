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
        tracker.note(sent("orders", id, None), UNIX_EPOCH);
        tracker.take(id, 3, UNIX_EPOCH);
    }
    let note = r#"{"reason":"card-refused","error":"no","attempts":3,"message_id":"m2","source":"arn:aws:sqs:r:1:orders"}"#;
    assert_eq!(
        tracker.note(sent("orders-dead", "l1", Some(note)), UNIX_EPOCH),
        Some(EventKind::DeadLettered {
            queue: "orders".into(),
            message_id: "m2".into(),
            attempt: 3,
            reason: "card-refused".into(),
            error: Some("no".into()),
        })
    );
    let done = EventKind::Done { queue: "orders".into(), message_id: "m1".into(), attempt: 3 };
    assert_eq!(tracker.note(deleted("m1"), UNIX_EPOCH), Some(done));
    assert_eq!(tracker.note(deleted("m2"), UNIX_EPOCH), None);
    assert_eq!(totals(&tracker), (2, 1, vec![("card-refused".into(), 1)]));
}

#[test]
fn a_deleted_message_that_the_function_reported_as_failed_is_not_done() {
    let mut tracker = tracker();
    for id in ["m1", "m2"] {
        tracker.note(sent("orders", id, None), UNIX_EPOCH);
        tracker.take(id, 2, UNIX_EPOCH);
    }
    tracker.ignore_failure("m1");
    let (queue, message_id) = ("orders".to_owned(), "m1".to_owned());
    let lost = EventKind::DeletedAlthoughFailed { queue, message_id, attempt: 2 };
    assert_eq!(tracker.note(deleted("m1"), UNIX_EPOCH), Some(lost));
    assert!(matches!(tracker.note(deleted("m2"), UNIX_EPOCH), Some(EventKind::Done { .. })));
    let totals = tracker.totals(Duration::ZERO, Duration::ZERO, 0);
    assert_eq!((totals.done, totals.deleted_although_failed), (1, 1));
}

#[test]
fn a_letter_that_is_written_twice_counts_once() {
    let mut tracker = tracker();
    tracker.note(sent("orders", "m1", None), UNIX_EPOCH);
    for letter in ["l1", "l2"] {
        tracker
            .note(sent("orders-dead", letter, Some(r#"{"reason":"panic","message_id":"m1"}"#)), UNIX_EPOCH);
    }
    assert_eq!(totals(&tracker), (1, 0, vec![("panic".into(), 1)]));
}

#[test]
fn a_moved_message_is_dead_lettered_by_the_redrive_policy() {
    let mut tracker = tracker();
    tracker.note(sent("orders", "m1", None), UNIX_EPOCH);
    let (queue, to) = ("orders".to_owned(), "orders-dead".to_owned());
    tracker.note(QueueEvent::Moved { queue, message_id: "m1".into(), to, receive_count: 2 }, UNIX_EPOCH);
    assert_eq!(totals(&tracker), (1, 0, vec![("redrive policy".into(), 1)]));
}

#[test]
fn a_note_outside_of_a_dead_letter_queue_or_unreadable_is_no_letter() {
    let mut tracker = tracker();
    tracker.note(sent("orders", "m1", Some(r#"{"reason":"panic","message_id":"m0"}"#)), UNIX_EPOCH);
    for note in ["", "[]", "{}", r#"{"message_id":7}"#] {
        let event = tracker.note(sent("orders-dead", "l1", Some(note)), UNIX_EPOCH);
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
    assert_eq!(tracker.note(changed(4), UNIX_EPOCH), None);
    let later = UNIX_EPOCH + Duration::from_millis(1_500);
    assert_eq!(
        tracker.give_back(("orders", "m1", 1), Duration::from_secs(30), later),
        failed("orders", "m1", 1, 4)
    );
    let told = EventKind::BackIn { queue: "orders".into(), message_id: "m1".into(), seconds: 8 };
    assert_eq!(tracker.note(changed(8), UNIX_EPOCH), Some(told));
}

#[test]
fn a_message_left_alone_is_back_when_the_visibility_timeout_of_its_queue_is_over() {
    let mut tracker = tracker();
    tracker.take("m1", 1, UNIX_EPOCH);
    let later = UNIX_EPOCH + Duration::from_millis(1_500);
    let mut give_back = || tracker.give_back(("orders", "m1", 1), Duration::from_secs(30), later);
    assert_eq!(give_back(), failed("orders", "m1", 1, 29));
    assert_eq!(give_back(), []);
}

#[test]
fn an_attempt_whose_message_is_received_again_before_its_batch_ends_has_failed_when_it_was_let_go() {
    let at = |seconds| UNIX_EPOCH + Duration::from_secs(seconds);
    let mut tracker = tracker();
    tracker.take("m1", 1, at(0));
    let timeout = Duration::from_secs(2);
    let changed = QueueEvent::VisibilityChanged { queue: "orders".into(), message_id: "m1".into(), timeout };
    assert_eq!(tracker.note(changed, at(1)), None);
    assert_eq!(tracker.let_go("orders", "m1"), Some((at(1), failed("orders", "m1", 1, 2))));
    tracker.take("m1", 2, at(3));
    let mut give_back =
        |attempt| tracker.give_back(("orders", "m1", attempt), Duration::from_secs(30), at(5));
    assert_eq!(give_back(1), [], "it was told");
    assert_eq!(give_back(2), failed("orders", "m1", 2, 28));
}

#[test]
fn an_attempt_that_outlives_its_visibility_timeout_fails_when_its_invocation_does() {
    let at = |seconds| UNIX_EPOCH + Duration::from_secs(seconds);
    let mut tracker = tracker();
    tracker.take("m1", 1, at(0));
    assert_eq!(tracker.let_go("orders", "m1"), None);
    tracker.take("m1", 2, at(30));
    let mut give_back =
        |attempt, now| tracker.give_back(("orders", "m1", attempt), Duration::from_secs(30), at(now));
    let [first, _] = failed("orders", "m1", 1, 0);
    assert_eq!(give_back(1, 40), [first], "the second attempt hides it");
    assert_eq!(give_back(2, 50), failed("orders", "m1", 2, 10));
}

/// As at Ctrl-C while a batch is under way whose letters are written already.
#[test]
fn a_message_with_a_letter_is_not_left_as_well_and_what_is_counted_adds_up() {
    let mut tracker = tracker();
    for id in ["m1", "m2", "m3"] {
        tracker.note(sent("orders", id, None), UNIX_EPOCH);
        tracker.take(id, 1, UNIX_EPOCH);
    }
    let letter = sent("orders-dead", "l1", Some(r#"{"reason":"panic","message_id":"m1"}"#));
    tracker.note(letter, UNIX_EPOCH);
    let sum = |tracker: &MessageTracker, held| {
        let it = tracker.totals(Duration::ZERO, Duration::ZERO, held);
        (it.done + it.expired + it.left + it.dead_lettered.values().sum::<usize>(), it.messages, it.left)
    };
    assert_eq!(sum(&tracker, 3), (3, 3, 2));
    tracker.note(deleted("m1"), UNIX_EPOCH);
    assert_eq!(sum(&tracker, 2), (3, 3, 2));
    tracker.note(deleted("m2"), UNIX_EPOCH);
    tracker.note(QueueEvent::Expired { queue: "orders".into(), message_id: "m3".into() }, UNIX_EPOCH);
    assert_eq!(sum(&tracker, 0), (3, 3, 0));
}
