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
    /// The deliveries that mappings and their invocations have, by message, the latest last.
    taken: HashMap<String, Vec<Taken>>,
    /// The reason why each dead letter is one.
    letters: HashMap<String, String>,
    /// Messages of which a letter was written, and that are not deleted yet.
    held_letters: BTreeSet<String>,
    messages: usize,
    done: usize,
    deleted_although_failed: usize,
    filtered_out: usize,
    invocations: usize,
    aws_calls: BTreeMap<String, usize>,
    client_calls: BTreeMap<String, usize>,
    expired: usize,
}

#[derive(Debug)]
struct Taken {
    attempt: u32,
    at: SystemTime,
    /// The visibility timeout that the function gave the message, and when.
    changed: Option<(SystemTime, Duration)>,
    /// The function reported it as failed to nobody.
    failed: bool,
}

impl MessageTracker {
    /// Says which queues redrive policies name.
    pub(crate) fn dead_letter_queues(&mut self, names: BTreeSet<String>) {
        self.dead_letter_queues = names;
    }

    /// A call of a function or worker, or of another client.
    pub(crate) fn call(&mut self, operation: String, is_ours: bool) {
        if !is_ours {
            *self.client_calls.entry(operation.clone()).or_default() += 1;
        }
        *self.aws_calls.entry(operation).or_default() += 1;
    }

    /// A mapping has received a message.
    pub(crate) fn take(&mut self, message_id: &str, attempt: u32, now: SystemTime) {
        self.attempts.insert(message_id.into(), attempt);
        let taken = Taken { attempt, at: now, changed: None, failed: false };
        self.taken.entry(message_id.into()).or_default().push(taken);
    }

    /// A message leaves its queue, or is received again. If its latest invocation is under way and has given it another
    /// visibility timeout, that was the end of the attempt, which the invocation's own end would tell too late. Returns
    /// what there is to tell, and when it was.
    pub(crate) fn let_go(&mut self, queue: &str, message_id: &str) -> Option<(SystemTime, [EventKind; 2])> {
        let taken = self.taken.get_mut(message_id)?;
        let Taken { attempt, changed: Some((at, timeout)), .. } = *taken.last()? else { return None };
        taken.pop();
        Some((at, failed(queue, message_id, attempt, timeout.as_secs())))
    }

    /// A mapping has deleted a message that its filters keep out.
    pub(crate) fn filter_out(&mut self, queue: String, message_id: String) -> EventKind {
        let attempt = self.forget(&message_id);
        self.filtered_out += usize::from(!self.dead_letter_queues.contains(&queue));
        EventKind::FilteredOut { queue, message_id, attempt }
    }

    /// A message is back in its queue without an invocation. Returns whether the mapping still had it.
    pub(crate) fn not_delivered(&mut self, message_id: &str, attempt: u32) -> bool {
        self.give_up(message_id, attempt).is_some()
    }

    /// The function has reported a message as failed that is about to be deleted nevertheless.
    pub(crate) fn ignore_failure(&mut self, message_id: &str) {
        if let Some(taken) = self.taken.get_mut(message_id).and_then(|taken| taken.last_mut()) {
            taken.failed = true;
        }
    }

    pub(crate) fn invocation(&mut self) {
        self.invocations += 1;
    }

    /// An invocation is done with a message, which stays in its queue. Returns what there is to tell: nothing if the
    /// message is gone or that was told already. It is back in as many seconds as the function said, else in what is left
    /// of the queue's visibility timeout, unless another invocation has it by now.
    pub(crate) fn give_back(
        &mut self,
        (queue, message_id, attempt): (&str, &str, u32),
        visibility_timeout: Duration,
        now: SystemTime,
    ) -> Vec<EventKind> {
        let Some(Taken { at, changed, .. }) = self.give_up(message_id, attempt) else { return Vec::new() };
        let left = || visibility_timeout.saturating_sub(now.duration_since(at).unwrap_or_default());
        let hidden = changed.map_or_else(left, |(_, timeout)| timeout);
        let [failed, back_in] = failed(queue, message_id, attempt, hidden.as_secs_f64().ceil() as u64);
        let is_latest = self.attempts.get(message_id).is_none_or(|latest| *latest == attempt);
        [failed].into_iter().chain(is_latest.then_some(back_in)).collect()
    }

    /// What there is to tell of something that happened in a queue.
    pub(crate) fn note(&mut self, event: QueueEvent, now: SystemTime) -> Option<EventKind> {
        match event {
            QueueEvent::Sent { queue, message_id, attributes } => {
                Some(self.sent(queue, message_id, &attributes))
            }
            QueueEvent::Received { queue, message_id, receive_count, .. } => {
                self.attempts.insert(message_id.clone(), receive_count);
                Some(EventKind::Received { queue, message_id, attempt: receive_count, request_id: None })
            }
            QueueEvent::VisibilityChanged { queue, message_id, timeout } => {
                match self.taken.get_mut(&message_id).and_then(|taken| taken.last_mut()) {
                    // Told when the invocation is over, after its failure, or when the message is received again.
                    Some(taken) => {
                        taken.changed = Some((now, timeout));
                        None
                    }
                    None => Some(EventKind::BackIn { queue, message_id, seconds: timeout.as_secs() }),
                }
            }
            QueueEvent::Deleted { queue, message_id } => {
                let has_failed =
                    self.taken.get(&message_id).is_some_and(|all| all.iter().any(|taken| taken.failed));
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
                let is_counted =
                    self.letters.contains_key(&message_id) || self.dead_letter_queues.contains(&queue);
                self.expired += usize::from(!is_counted);
                Some(EventKind::Expired { queue, message_id })
            }
        }
    }

    /// Of the messages that queues hold, those of which a letter was written are counted as letters.
    pub(crate) fn totals(&self, wall: Duration, simulated: Duration, held: usize) -> Totals {
        let mut dead_lettered = BTreeMap::new();
        for reason in self.letters.values() {
            *dead_lettered.entry(reason.clone()).or_default() += 1;
        }
        Totals {
            messages: self.messages,
            done: self.done,
            deleted_although_failed: self.deleted_although_failed,
            filtered_out: self.filtered_out,
            expired: self.expired,
            dead_lettered,
            invocations: self.invocations,
            aws_calls: self.aws_calls.clone(),
            client_calls: self.client_calls.clone(),
            wall,
            simulated,
            left: held.saturating_sub(self.held_letters.len()),
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
                if !self.letters.contains_key(&original) && self.attempts.contains_key(&original) {
                    self.held_letters.insert(original.clone());
                }
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

    /// One invocation, or a batch that is dropped, has a message no longer.
    fn give_up(&mut self, message_id: &str, attempt: u32) -> Option<Taken> {
        let all = self.taken.get_mut(message_id)?;
        let at = all.iter().position(|taken| taken.attempt == attempt)?;
        let taken = all.remove(at);
        if all.is_empty() {
            self.taken.remove(message_id);
        }
        Some(taken)
    }

    /// Forgets a message that is gone, and says which attempt it was on.
    fn forget(&mut self, message_id: &str) -> u32 {
        self.taken.remove(message_id);
        self.held_letters.remove(message_id);
        self.attempts.remove(message_id).unwrap_or(0)
    }
}

fn failed(queue: &str, message_id: &str, attempt: u32, seconds: u64) -> [EventKind; 2] {
    let (queue, message_id) = (queue.to_owned(), message_id.to_owned());
    let failed = EventKind::Failed { queue: queue.clone(), message_id: message_id.clone(), attempt };
    [failed, EventKind::BackIn { queue, message_id, seconds }]
}

#[cfg(test)]
mod tests;
