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
    deleted_although_failed: usize,
    filtered_out: usize,
    invocations: usize,
    aws_calls: BTreeMap<String, usize>,
}

#[derive(Debug)]
struct Taken {
    at: SystemTime,
    /// The visibility timeout that the function gave the message.
    changed: Option<Duration>,
    /// The function reported it as failed to nobody.
    failed: bool,
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
        self.taken.insert(message_id.into(), Taken { at: now, changed: None, failed: false });
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

    /// The function has reported a message as failed that is about to be deleted nevertheless.
    pub(crate) fn ignore_failure(&mut self, message_id: &str) {
        if let Some(taken) = self.taken.get_mut(message_id) {
            taken.failed = true;
        }
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
        let Taken { at, changed, .. } = self.taken.remove(message_id)?;
        let left = || visibility_timeout.saturating_sub(now.duration_since(at).unwrap_or_default());
        Some(changed.unwrap_or_else(left).as_secs_f64().ceil() as u64)
    }

    /// What there is to tell of something that happened in a queue.
    pub(crate) fn note(&mut self, event: QueueEvent) -> Option<EventKind> {
        match event {
            QueueEvent::Sent { queue, message_id, attributes } => {
                Some(self.sent(queue, message_id, &attributes))
            }
            QueueEvent::Received { queue, message_id, receive_count, .. } => {
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
                let has_failed = self.taken.get(&message_id).is_some_and(|taken| taken.failed);
                let attempt = self.forget(&message_id);
                if self.letters.contains_key(&message_id) {
                    return None;
                }
                let counted = usize::from(!self.dead_letter_queues.contains(&queue));
                if has_failed {
                    self.deleted_although_failed += counted;
                    return Some(EventKind::DeletedAlthoughFailed { queue, message_id, attempt });
                }
                self.done += counted;
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
            deleted_although_failed: self.deleted_although_failed,
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
mod tests;
