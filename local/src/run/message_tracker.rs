//! What becomes of each message: queue events in, the event stream and the totals out. Pure.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::{Duration, SystemTime};

use redrive_sqs::queue_name;

use super::note::Note;
use super::{EventKind, Totals};
use crate::queue::MessageAttribute;
use crate::sqs::QueueEvent;

#[derive(Debug, Default)]
pub(crate) struct MessageTracker {
    dead_letter_queues: BTreeSet<String>,
    /// The attempt that each message is on.
    attempts: HashMap<String, u32>,
    /// The messages that mappings and their invocations have.
    taken: HashMap<String, Taken>,
    /// The reason why each dead letter is one.
    letters: HashMap<String, String>,
    messages: usize,
    done: usize,
    filtered_out: usize,
    invocations: usize,
    aws_calls: BTreeMap<String, usize>,
}

#[derive(Debug)]
struct Taken {
    at: SystemTime,
    /// The visibility timeout that the function gave the message.
    changed: Option<Duration>,
}

impl MessageTracker {
    /// Says which queues redrive policies name.
    pub(crate) fn dead_letter_queues(&mut self, names: BTreeSet<String>) {
        self.dead_letter_queues = names;
    }

    pub(crate) fn call(&mut self, operation: String) {
        *self.aws_calls.entry(operation).or_default() += 1;
    }

    /// A mapping has received a message.
    pub(crate) fn take(&mut self, message_id: &str, attempt: u32, now: SystemTime) {
        self.attempts.insert(message_id.into(), attempt);
        self.taken.insert(message_id.into(), Taken { at: now, changed: None });
    }

    /// A mapping has deleted a message that its filters keep out.
    pub(crate) fn filter_out(&mut self, queue: String, message_id: String) -> EventKind {
        let attempt = self.forget(&message_id);
        self.filtered_out += usize::from(!self.dead_letter_queues.contains(&queue));
        EventKind::FilteredOut { queue, message_id, attempt }
    }

    /// A message is back in its queue without an invocation. Returns the attempt that it cost.
    pub(crate) fn not_delivered(&mut self, message_id: &str) -> Option<u32> {
        self.taken.remove(message_id)?;
        self.attempts.get(message_id).copied()
    }

    pub(crate) fn invocation(&mut self) {
        self.invocations += 1;
    }

    /// An invocation is done with a message, which stays in its queue. Returns in how many seconds it is back: as many
    /// as the function said, else what is left of the queue's visibility timeout; none if it is gone.
    pub(crate) fn give_back(
        &mut self,
        message_id: &str,
        visibility_timeout: Duration,
        now: SystemTime,
    ) -> Option<u64> {
        let Taken { at, changed } = self.taken.remove(message_id)?;
        let left = || visibility_timeout.saturating_sub(now.duration_since(at).unwrap_or_default());
        Some(changed.unwrap_or_else(left).as_secs_f64().ceil() as u64)
    }

    /// What there is to tell of something that happened in a queue.
    pub(crate) fn note(&mut self, event: QueueEvent) -> Option<EventKind> {
        match event {
            QueueEvent::Sent { queue, message_id, attributes } => {
                Some(self.sent(queue, message_id, &attributes))
            }
            QueueEvent::Received { queue, message_id, receive_count } => {
                self.attempts.insert(message_id.clone(), receive_count);
                Some(EventKind::Received { queue, message_id, attempt: receive_count, request_id: None })
            }
            QueueEvent::VisibilityChanged { queue, message_id, timeout } => {
                match self.taken.get_mut(&message_id) {
                    // Told when the invocation is over, after its failure.
                    Some(taken) => {
                        taken.changed = Some(timeout);
                        None
                    }
                    None => Some(EventKind::BackIn { queue, message_id, seconds: timeout.as_secs() }),
                }
            }
            QueueEvent::Deleted { queue, message_id } => {
                let attempt = self.forget(&message_id);
                if self.letters.contains_key(&message_id) {
                    return None;
                }
                self.done += usize::from(!self.dead_letter_queues.contains(&queue));
                Some(EventKind::Done { queue, message_id, attempt })
            }
            QueueEvent::Moved { queue, message_id, receive_count, .. } => {
                self.forget(&message_id);
                let reason = "redrive policy".to_owned();
                self.letters.entry(message_id.clone()).or_insert_with(|| reason.clone());
                Some(EventKind::DeadLettered {
                    queue,
                    message_id,
                    attempt: receive_count,
                    reason,
                    error: None,
                })
            }
            QueueEvent::Expired { queue, message_id } => {
                self.forget(&message_id);
                Some(EventKind::Expired { queue, message_id })
            }
        }
    }

    pub(crate) fn totals(&self, wall: Duration, simulated: Duration, left: usize) -> Totals {
        let mut dead_lettered = BTreeMap::new();
        for reason in self.letters.values() {
            *dead_lettered.entry(reason.clone()).or_default() += 1;
        }
        Totals {
            messages: self.messages,
            done: self.done,
            filtered_out: self.filtered_out,
            dead_lettered,
            invocations: self.invocations,
            aws_calls: self.aws_calls.clone(),
            wall,
            simulated,
            left,
        }
    }

    fn sent(
        &mut self,
        queue: String,
        message_id: String,
        attributes: &BTreeMap<String, MessageAttribute>,
    ) -> EventKind {
        let letter = self.dead_letter_queues.contains(&queue);
        match Note::of(attributes).filter(|_| letter) {
            Some(Note { reason, error, attempts, message_id: Some(original), source }) => {
                let reason = reason.unwrap_or_else(|| "unknown".into());
                self.letters.entry(original.clone()).or_insert_with(|| reason.clone());
                EventKind::DeadLettered {
                    queue: source.as_deref().map_or(&*queue, queue_name).into(),
                    attempt: attempts.or_else(|| self.attempts.get(&original).copied()).unwrap_or(1),
                    message_id: original,
                    reason,
                    error,
                }
            }
            Some(Note { message_id: None, .. }) | None => {
                self.messages += usize::from(!letter);
                EventKind::Sent { queue, message_id }
            }
        }
    }

    /// Forgets a message that is gone, and says which attempt it was on.
    fn forget(&mut self, message_id: &str) -> u32 {
        self.taken.remove(message_id);
        self.attempts.remove(message_id).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::super::note::NOTE;
    use super::*;
    use crate::queue::AttributeValue;

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
}
