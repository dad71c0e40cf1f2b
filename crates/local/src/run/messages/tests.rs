use std::time::UNIX_EPOCH;

use super::*;
use crate::queue::AttributeValue;
use crate::run::note::NOTE;

const QUEUE: &str = "orders";

fn at(seconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(seconds)
}

fn messages() -> Messages {
    Messages { dead_letter_queues: ["orders-dead".to_owned()].into(), ..Messages::default() }
}

fn worked() -> Messages {
    let mut messages = messages();
    messages.worked.add(QUEUE);
    messages
}

/// Returns the events for a queue event, all of which have its time.
fn events_of(messages: &mut Messages, event: QueueEvent, seconds: u64) -> Vec<EventKind> {
    let events = messages.note(event, at(seconds)).into_iter();
    events
        .map(|(moment, kind)| {
            assert_eq!(moment, at(seconds));
            kind
        })
        .collect()
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

fn received(message_id: &str, receive_count: u32, seconds: u64) -> QueueEvent {
    let timeout = Duration::from_secs(seconds);
    QueueEvent::Received { queue: QUEUE.into(), message_id: message_id.into(), receive_count, timeout }
}

fn told_received(message_id: &str, attempt: u32) -> EventKind {
    EventKind::Received { queue: QUEUE.into(), message_id: message_id.into(), attempt, request_id: None }
}

fn changed(message_id: &str, seconds: u64) -> QueueEvent {
    let timeout = Duration::from_secs(seconds);
    QueueEvent::VisibilityChanged { queue: QUEUE.into(), message_id: message_id.into(), timeout }
}

fn deleted(message_id: &str) -> QueueEvent {
    QueueEvent::Deleted { queue: QUEUE.into(), message_id: message_id.into() }
}

/// Returns the events for a failed message that returns in this many seconds.
fn failed(message_id: &str, attempt: u32, seconds: u64) -> [EventKind; 2] {
    super::failed(QUEUE, message_id, attempt, Duration::from_secs(seconds))
}

fn totals(messages: &Messages) -> (usize, usize, Vec<(String, usize)>) {
    let totals = messages.totals(Duration::ZERO, Duration::ZERO, 0);
    (totals.messages, totals.done, totals.dead_lettered.into_iter().collect())
}

#[test]
fn a_deleted_message_is_done_unless_it_has_a_letter() {
    let mut messages = messages();
    for id in ["m1", "m2"] {
        events_of(&mut messages, sent(QUEUE, id, None), 0);
        messages.take(QUEUE, id, 3, at(0));
    }
    let note = r#"{"reason":"card-refused","error":"no","attempts":3,"message_id":"m2","source":"arn:aws:sqs:r:1:orders"}"#;
    assert_eq!(
        events_of(&mut messages, sent("orders-dead", "l1", Some(note)), 0),
        [EventKind::DeadLettered {
            queue: QUEUE.into(),
            message_id: "m2".into(),
            attempt: 3,
            reason: "card-refused".into(),
            error: Some("no".into()),
        }]
    );
    let done = EventKind::Done { queue: QUEUE.into(), message_id: "m1".into(), attempt: 3 };
    assert_eq!(events_of(&mut messages, deleted("m1"), 0), [done]);
    assert_eq!(events_of(&mut messages, deleted("m2"), 0), []);
    assert_eq!(totals(&messages), (2, 1, vec![("card-refused".into(), 1)]));
}

#[test]
fn a_deleted_message_that_the_function_reported_as_failed_is_not_done() {
    let mut messages = messages();
    for id in ["m1", "m2"] {
        events_of(&mut messages, sent(QUEUE, id, None), 0);
        messages.take(QUEUE, id, 2, at(0));
    }
    messages.ignore_failure("m1");
    let (queue, message_id) = (QUEUE.to_owned(), "m1".to_owned());
    let lost = EventKind::DeletedAlthoughFailed { queue, message_id, attempt: 2 };
    assert_eq!(events_of(&mut messages, deleted("m1"), 0), [lost]);
    assert!(matches!(*events_of(&mut messages, deleted("m2"), 0), [EventKind::Done { .. }]));
    let totals = messages.totals(Duration::ZERO, Duration::ZERO, 0);
    assert_eq!((totals.done, totals.deleted_although_failed), (1, 1));
}

#[test]
fn a_letter_that_is_written_twice_counts_once() {
    let mut messages = messages();
    events_of(&mut messages, sent(QUEUE, "m1", None), 0);
    for letter in ["l1", "l2"] {
        events_of(
            &mut messages,
            sent("orders-dead", letter, Some(r#"{"reason":"panic","message_id":"m1"}"#)),
            0,
        );
    }
    assert_eq!(totals(&messages), (1, 0, vec![("panic".into(), 1)]));
}

#[test]
fn a_moved_message_is_dead_lettered_by_the_redrive_policy() {
    let mut messages = messages();
    events_of(&mut messages, sent(QUEUE, "m1", None), 0);
    let (queue, to) = (QUEUE.to_owned(), "orders-dead".to_owned());
    events_of(&mut messages, QueueEvent::Moved { queue, message_id: "m1".into(), to, receive_count: 2 }, 0);
    assert_eq!(totals(&messages), (1, 0, vec![("redrive policy".into(), 1)]));
}

#[test]
fn a_note_outside_of_a_dead_letter_queue_or_unreadable_is_no_letter() {
    let mut messages = messages();
    events_of(&mut messages, sent(QUEUE, "m1", Some(r#"{"reason":"panic","message_id":"m0"}"#)), 0);
    for note in ["", "[]", "{}", r#"{"message_id":7}"#] {
        let events = events_of(&mut messages, sent("orders-dead", "l1", Some(note)), 0);
        assert!(matches!(*events, [EventKind::Sent { .. }]), "{note}");
    }
    assert_eq!(totals(&messages), (1, 0, vec![]));
}

#[test]
fn a_visibility_change_during_an_invocation_is_told_when_it_is_over() {
    let mut messages = messages();
    messages.take(QUEUE, "m1", 1, at(0));
    assert_eq!(events_of(&mut messages, changed("m1", 4), 0), []);
    let later = at(0) + Duration::from_millis(1_500);
    assert_eq!(
        messages.give_back((QUEUE, "m1", 1), true, Duration::from_secs(30), later),
        failed("m1", 1, 4)
    );
    let back_in = EventKind::BackIn { queue: QUEUE.into(), message_id: "m1".into(), seconds: 8 };
    assert_eq!(events_of(&mut messages, changed("m1", 8), 0), [back_in]);
}

#[test]
fn an_untouched_message_returns_after_its_queues_visibility_timeout() {
    let mut messages = messages();
    messages.take(QUEUE, "m1", 1, at(0));
    let later = at(0) + Duration::from_millis(1_500);
    let mut give_back = || messages.give_back((QUEUE, "m1", 1), true, Duration::from_secs(30), later);
    assert_eq!(give_back(), failed("m1", 1, 29));
    assert_eq!(give_back(), []);
}

#[test]
fn a_message_received_again_during_its_batch_failed_when_it_was_released() {
    let mut messages = messages();
    messages.take(QUEUE, "m1", 1, at(0));
    assert_eq!(events_of(&mut messages, changed("m1", 2), 1), []);
    let events = failed("m1", 1, 2).map(|kind| (at(1), kind));
    assert_eq!(messages.take(QUEUE, "m1", 2, at(3)), events);
    let mut give_back =
        |attempt| messages.give_back((QUEUE, "m1", attempt), true, Duration::from_secs(30), at(5));
    assert_eq!(give_back(1), [], "it was told");
    assert_eq!(give_back(2), failed("m1", 2, 28));
}

#[test]
fn an_attempt_beyond_its_visibility_timeout_fails_with_its_invocation() {
    let mut messages = messages();
    messages.take(QUEUE, "m1", 1, at(0));
    assert_eq!(messages.take(QUEUE, "m1", 2, at(30)), []);
    let mut give_back =
        |attempt, now| messages.give_back((QUEUE, "m1", attempt), true, Duration::from_secs(30), at(now));
    let [first, _] = failed("m1", 1, 0);
    assert_eq!(give_back(1, 40), [first], "the second attempt hides it");
    assert_eq!(give_back(2, 50), failed("m1", 2, 10));
}

/// The situation after Ctrl-C during a batch whose letters are already written.
#[test]
fn a_message_with_a_letter_is_not_counted_as_left() {
    let mut messages = messages();
    for id in ["m1", "m2", "m3"] {
        events_of(&mut messages, sent(QUEUE, id, None), 0);
        messages.take(QUEUE, id, 1, at(0));
    }
    let letter = sent("orders-dead", "l1", Some(r#"{"reason":"panic","message_id":"m1"}"#));
    events_of(&mut messages, letter, 0);
    let sum = |messages: &Messages, held| {
        let it = messages.totals(Duration::ZERO, Duration::ZERO, held);
        (it.done + it.expired + it.left + it.dead_lettered.values().sum::<usize>(), it.messages, it.left)
    };
    assert_eq!(sum(&messages, 3), (3, 3, 2));
    events_of(&mut messages, deleted("m1"), 0);
    assert_eq!(sum(&messages, 2), (3, 3, 2));
    events_of(&mut messages, deleted("m2"), 0);
    events_of(&mut messages, QueueEvent::Expired { queue: QUEUE.into(), message_id: "m3".into() }, 0);
    assert_eq!(sum(&messages, 0), (3, 3, 0));
}

#[test]
fn the_same_visibility_timeout_again_extends_and_another_one_gives_back() {
    let mut messages = worked();
    assert_eq!(events_of(&mut messages, received("m", 1, 30), 0), [told_received("m", 1)]);
    assert_eq!(events_of(&mut messages, changed("m", 30), 10), []);
    assert_eq!(messages.held_until(at(10)), Some(at(40)));
    assert_eq!(events_of(&mut messages, changed("m", 2), 11), failed("m", 1, 2));
    assert_eq!(messages.held_until(at(11)), None);
    let [_, back_in] = failed("m", 1, 30);
    assert_eq!(events_of(&mut messages, changed("m", 30), 12), [back_in]);
    events_of(&mut messages, received("m", 2, 30), 13);
    let released =
        EventKind::Released { queue: QUEUE.into(), message_id: "m".into(), attempt: 2, seconds: 0 };
    assert_eq!(events_of(&mut messages, changed("m", 0), 14), [released]);
}

#[test]
fn the_messages_of_a_process_that_ended_have_failed() {
    let mut messages = worked();
    events_of(&mut messages, received("m", 3, 30), 0);
    events_of(&mut messages, changed("m", 30), 10);
    assert_eq!(messages.end_worker(QUEUE, at(12)), failed("m", 3, 28));
    assert_eq!(messages.held_until(at(12)), None);
    assert_eq!(messages.end_worker(QUEUE, at(13)), []);
}

#[test]
fn with_a_second_worker_only_the_next_receive_tells_of_a_failure() {
    let mut messages = worked();
    messages.worked.add(QUEUE);
    events_of(&mut messages, received("m", 1, 30), 0);
    assert_eq!(messages.end_worker(QUEUE, at(1)), []);
    let [failed, _] = failed("m", 1, 0);
    assert_eq!(events_of(&mut messages, received("m", 2, 30), 31), [failed, told_received("m", 2)]);
}

#[test]
fn a_process_that_never_polled_is_told_from_one_that_did() {
    let mut worked = worked().worked;
    for polls in [false, true, false] {
        worked.start(QUEUE);
        assert!(!polls || worked.poll(QUEUE));
        assert_eq!(worked.is_polled(QUEUE), polls);
    }
    worked.remove(QUEUE);
    assert!(!worked.poll(QUEUE) && worked.names().next().is_none());
}

#[test]
fn a_message_is_held_until_it_is_deleted_made_visible_or_its_timeout_ends() {
    for (events, last) in [
        (vec![received("a", 1, 30)], Some(130)),
        (vec![received("a", 1, 0)], None),
        (vec![received("a", 1, 30), received("b", 1, 60)], Some(160)),
        (vec![received("a", 1, 30), received("b", 1, 60), deleted("b")], Some(130)),
        (vec![received("a", 1, 30), changed("a", 60)], Some(160)),
        (vec![received("a", 1, 30), changed("a", 0)], None),
        (vec![received("a", 1, 30), deleted("a")], None),
        (vec![changed("a", 60)], None),
        (vec![received("a", 1, 43_200)], Some(700)),
    ] {
        let mut messages = messages();
        for event in &events {
            messages.note(event.clone(), at(100));
        }
        assert_eq!(messages.held_until(at(100)), last.map(at), "{events:?}");
        assert_eq!(messages.held_until(at(700)), None, "{events:?}");
        assert!(messages.ends.is_empty());
    }
}

#[test]
fn a_client_loses_messages_to_a_mapping_or_a_purge() {
    let mut messages = messages();
    events_of(&mut messages, received("a", 1, 30), 0);
    messages.take(QUEUE, "a", 2, at(0));
    events_of(&mut messages, changed("a", 60), 0);
    assert_eq!(messages.held_until(at(0)), None);
    for mut messages in [messages, worked()] {
        events_of(&mut messages, received("b", 1, 30), 0);
        messages.release(|queue| queue == QUEUE);
        assert_eq!(messages.held_until(at(0)), None);
        assert_eq!(messages.end_worker(QUEUE, at(3)), []);
    }
}

#[test]
fn a_worker_holds_a_message_for_as_long_as_it_hides_it() {
    let mut messages = worked();
    events_of(&mut messages, received("a", 1, 43_200), 100);
    assert_eq!(messages.held_until(at(100)), Some(at(43_300)));
}
