//! Tracks each message: turns queue events into the event stream, the totals, and the time until which clients are busy.
//! Pure.
//!
//! A worker does not report on its handlers. If it sets the visibility timeout of a message to the value of the receive, it
//! still works on the message. If it sets any other value, it gives the message back. If it deletes the message, the message
//! is done.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::{Duration, SystemTime};

use redrive_sqs::queue_name;

use super::note::Note;
use super::worked_queues::WorkedQueues;
use super::{EventKind, Totals};
use crate::queue::MessageAttribute;
use crate::sqs::QueueEvent;

/// Time without a call about a message after which its client counts as gone, however long it hides the message. Workers are
/// exempt: they make no calls for a third of the visibility timeout, and their end is known.
const LONGEST: Duration = Duration::from_secs(600);

#[derive(Debug, Default)]
pub(crate) struct Messages {
    dead_letter_queues: BTreeSet<String>,
    pub(super) worked: WorkedQueues,
    /// Messages that were received and are not gone, by id.
    received: BTreeMap<String, Message>,
    /// Times at which messages in the hands of workers and other clients are visible again.
    ends: BTreeSet<(SystemTime, String)>,
    /// The reason of each dead letter, by message id.
    letters: HashMap<String, String>,
    totals: Totals,
}

#[derive(Debug, Default)]
struct Message {
    queue: String,
    /// The present attempt.
    attempt: u32,
    /// Deliveries to mappings and their invocations, the latest last.
    taken: Vec<MappingDelivery>,
    /// The delivery to a worker or another client.
    held: Option<ClientDelivery>,
    /// True if a letter was written for the message.
    has_letter: bool,
}

#[derive(Debug)]
struct MappingDelivery {
    attempt: u32,
    at: SystemTime,
    /// The visibility timeout that the function set, with the time of the change.
    changed: Option<(SystemTime, Duration)>,
    /// True if the function reported a failure that the mapping ignores.
    failed: bool,
}

#[derive(Debug, Clone, Copy)]
struct ClientDelivery {
    by_worker: bool,
    /// The visibility timeout of the receive.
    timeout: Duration,
    until: SystemTime,
}

/// Events to report, with their times.
pub(crate) type TimedEvents = Vec<(SystemTime, EventKind)>;

impl Messages {
    /// Sets the queues that redrive policies name.
    pub(crate) fn dead_letter_queues(&mut self, names: BTreeSet<String>) {
        self.dead_letter_queues = names;
    }

    /// Counts a call. `is_ours` is true for functions and workers.
    pub(crate) fn call(&mut self, operation: String, is_ours: bool) {
        if !is_ours {
            *self.totals.client_calls.entry(operation.clone()).or_default() += 1;
        }
        *self.totals.aws_calls.entry(operation).or_default() += 1;
    }

    pub(crate) fn invocation(&mut self) {
        self.totals.invocations += 1;
    }

    /// Records what a worker, another client or time did to a message, and returns the events.
    pub(crate) fn note(&mut self, event: QueueEvent, now: SystemTime) -> TimedEvents {
        match event {
            QueueEvent::Sent { queue, message_id, attributes } => {
                vec![(now, self.sent(queue, message_id, &attributes))]
            }
            QueueEvent::Received { queue, message_id, receive_count: attempt, timeout } => {
                let mut events = self.begin_attempt(&queue, &message_id, attempt, now);
                let by_worker = self.worked.poll(&queue);
                self.hold(&message_id, Some(ClientDelivery { by_worker, timeout, until: now }), now);
                events.push((now, EventKind::Received { queue, message_id, attempt, request_id: None }));
                events
            }
            QueueEvent::VisibilityChanged { queue, message_id, timeout } => {
                self.visibility_changed(queue, message_id, timeout, now)
            }
            QueueEvent::Deleted { queue, message_id } => {
                let deleted = self.deleted(queue, message_id);
                deleted.map(|kind| (now, kind)).into_iter().collect()
            }
            QueueEvent::Moved { queue, message_id, receive_count: attempt, .. } => {
                let mut events = self.let_go(&queue, &message_id);
                self.forget(&message_id);
                let reason = "redrive policy".to_owned();
                self.letters.entry(message_id.clone()).or_insert_with(|| reason.clone());
                let moved = EventKind::DeadLettered { queue, message_id, attempt, reason, error: None };
                events.push((now, moved));
                events
            }
            QueueEvent::Expired { queue, message_id } => {
                self.forget(&message_id);
                let is_letter = self.letters.contains_key(&message_id);
                self.totals.expired += usize::from(!is_letter && self.counts(&queue));
                vec![(now, EventKind::Expired { queue, message_id })]
            }
        }
    }

    /// Records that a mapping received a message, which no client has in hand any more.
    pub(crate) fn take(
        &mut self,
        queue: &str,
        message_id: &str,
        attempt: u32,
        now: SystemTime,
    ) -> TimedEvents {
        let events = self.begin_attempt(queue, message_id, attempt, now);
        if let Some(message) = self.received.get_mut(message_id) {
            message.taken.push(MappingDelivery { attempt, at: now, changed: None, failed: false });
        }
        events
    }

    /// Records that a mapping deleted a message that its filters keep out.
    pub(crate) fn filter_out(&mut self, queue: String, message_id: String) -> EventKind {
        let attempt = self.forget(&message_id);
        self.totals.filtered_out += usize::from(self.counts(&queue));
        EventKind::FilteredOut { queue, message_id, attempt }
    }

    /// Records that a message returned to its queue without an invocation. Returns true if the mapping still had it.
    pub(crate) fn not_delivered(&mut self, message_id: &str, attempt: u32) -> bool {
        self.give_up(message_id, attempt).is_some()
    }

    /// Records that the function reported a message as failed that is deleted nevertheless.
    pub(crate) fn ignore_failure(&mut self, message_id: &str) {
        let message = self.received.get_mut(message_id);
        if let Some(taken) = message.and_then(|message| message.taken.last_mut()) {
            taken.failed = true;
        }
    }

    /// Records that an invocation ended and left a message in its queue, which `ran` or not. Returns the events, none if the message is gone or
    /// they were reported already. The message returns after the timeout that the function set, or else after the rest of the
    /// queue's visibility timeout, unless another invocation already has it.
    pub(crate) fn give_back(
        &mut self,
        (queue, message_id, attempt): (&str, &str, u32),
        ran: bool,
        visibility_timeout: Duration,
        now: SystemTime,
    ) -> Vec<EventKind> {
        let Some(MappingDelivery { at, changed, .. }) = self.give_up(message_id, attempt) else {
            return Vec::new();
        };
        let left = || visibility_timeout.saturating_sub(now.duration_since(at).unwrap_or_default());
        let hidden = changed.map_or_else(left, |(_, timeout)| timeout);
        if !ran {
            return vec![released(queue, message_id, attempt, hidden)];
        }
        let [failed, back_in] = failed(queue, message_id, attempt, hidden);
        let is_latest = self.received.get(message_id).is_none_or(|message| message.attempt == attempt);
        [failed].into_iter().chain(is_latest.then_some(back_in)).collect()
    }

    /// Records that a process of a worker ended. Returns the events of the messages that it had, unless another worker may
    /// have them.
    pub(crate) fn end_worker(&mut self, queue: &str, now: SystemTime) -> Vec<EventKind> {
        if self.worked.has_several(queue) {
            return Vec::new();
        }
        let mut events = Vec::new();
        for (message_id, message) in &self.received {
            if let Some(ClientDelivery { by_worker: true, until, .. }) = message.held
                && message.queue == queue
            {
                let left = until.duration_since(now).unwrap_or_default();
                events.extend(given_back(queue, message_id, message.attempt, left));
            }
        }
        self.release(|held| held == queue);
        events
    }

    /// Records that clients have no messages of these queues in hand any more.
    pub(crate) fn release(&mut self, is_one: impl Fn(&str) -> bool) {
        for (message_id, message) in self.received.iter_mut().filter(|(_, message)| is_one(&message.queue)) {
            if let Some(held) = message.held.take() {
                self.ends.remove(&(held.until, message_id.clone()));
            }
        }
    }

    /// Returns the time at which the last message in a client's hands is visible again, or None if there is none.
    pub(crate) fn held_until(&mut self, now: SystemTime) -> Option<SystemTime> {
        while self.ends.first().is_some_and(|(until, _)| *until <= now) {
            self.ends.pop_first();
        }
        self.ends.last().map(|(until, _)| *until)
    }

    /// Returns the totals. Messages in queues for which a letter was written count as letters.
    pub(crate) fn totals(&self, wall: Duration, simulated: Duration, held: usize) -> Totals {
        let mut dead_lettered = BTreeMap::new();
        for reason in self.letters.values() {
            *dead_lettered.entry(reason.clone()).or_default() += 1;
        }
        let letters = self.received.values().filter(|message| message.has_letter).count();
        let left = held.saturating_sub(letters);
        Totals { dead_lettered, wall, simulated, left, ..self.totals.clone() }
    }

    fn sent(
        &mut self,
        queue: String,
        message_id: String,
        attributes: &BTreeMap<String, MessageAttribute>,
    ) -> EventKind {
        let counts = self.counts(&queue);
        match Note::of(attributes).filter(|_| !counts) {
            Some(Note { reason, error, attempts, message_id: Some(original), source }) => {
                let reason = reason.unwrap_or_else(|| "unknown".into());
                let is_first = !self.letters.contains_key(&original);
                let message = self.received.get_mut(&original);
                let attempt = attempts.or(message.as_ref().map(|message| message.attempt)).unwrap_or(1);
                if let Some(message) = message.filter(|_| is_first) {
                    message.has_letter = true;
                }
                self.letters.entry(original.clone()).or_insert_with(|| reason.clone());
                let queue = source.as_deref().map_or(&*queue, queue_name).into();
                EventKind::DeadLettered { queue, message_id: original, attempt, reason, error }
            }
            Some(Note { message_id: None, .. }) | None => {
                self.totals.messages += usize::from(counts);
                EventKind::Sent { queue, message_id }
            }
        }
    }

    fn visibility_changed(
        &mut self,
        queue: String,
        message_id: String,
        timeout: Duration,
        now: SystemTime,
    ) -> TimedEvents {
        let held = self.received.get(&message_id).and_then(|message| message.held);
        match held {
            Some(held) if held.by_worker && held.timeout == timeout => {
                self.hold(&message_id, Some(held), now);
                return Vec::new();
            }
            Some(held) if held.by_worker => {
                // Nobody works on the message until it is received again.
                self.hold(&message_id, None, now);
                let events = given_back(&queue, &message_id, self.received[&message_id].attempt, timeout);
                return events.into_iter().map(|kind| (now, kind)).collect();
            }
            Some(held) if held.until > now => {
                self.hold(&message_id, Some(ClientDelivery { timeout, ..held }), now)
            }
            Some(_) | None => (),
        }
        let message = self.received.get_mut(&message_id);
        if let Some(taken) = message.and_then(|message| message.taken.last_mut()) {
            // Reported when the invocation is over, after its failure, or when the message is received again.
            taken.changed = Some((now, timeout));
            return Vec::new();
        }
        vec![(now, EventKind::BackIn { queue, message_id, seconds: timeout.as_secs() })]
    }

    fn deleted(&mut self, queue: String, message_id: String) -> Option<EventKind> {
        let message = self.received.get(&message_id);
        let has_failed = message.is_some_and(|message| message.taken.iter().any(|taken| taken.failed));
        let attempt = self.forget(&message_id);
        if self.letters.contains_key(&message_id) {
            return None;
        }
        let counted = usize::from(self.counts(&queue));
        if has_failed {
            self.totals.deleted_although_failed += counted;
            return Some(EventKind::DeletedAlthoughFailed { queue, message_id, attempt });
        }
        self.totals.done += counted;
        Some(EventKind::Done { queue, message_id, attempt })
    }

    /// Returns true if the messages of a queue count. Those of dead-letter queues count as letters.
    fn counts(&self, queue: &str) -> bool {
        !self.dead_letter_queues.contains(queue)
    }

    /// Records a receive. Returns the events of the attempt before, about which a worker reported nothing.
    fn begin_attempt(&mut self, queue: &str, message_id: &str, attempt: u32, now: SystemTime) -> TimedEvents {
        let mut events = TimedEvents::new();
        let message = self.received.entry(message_id.to_owned()).or_default();
        if message.held.is_some_and(|held| held.by_worker) {
            let [failed, _] = failed(queue, message_id, message.attempt, Duration::ZERO);
            events.push((now, failed));
        }
        (message.queue, message.attempt) = (queue.to_owned(), attempt);
        self.hold(message_id, None, now);
        events.extend(self.let_go(queue, message_id));
        events
    }

    /// Records that a message leaves its queue or is received again. If its latest invocation still runs and has changed the
    /// visibility timeout, that change was the end of the attempt, which is reported now, because the end of the invocation
    /// would be too late.
    fn let_go(&mut self, queue: &str, message_id: &str) -> TimedEvents {
        let taken = self.received.get_mut(message_id).and_then(|message| {
            let has_changed = |taken: &mut MappingDelivery| taken.changed.is_some();
            message.taken.pop_if(has_changed)
        });
        let Some(MappingDelivery { attempt, changed: Some((at, timeout)), .. }) = taken else {
            return TimedEvents::new();
        };
        failed(queue, message_id, attempt, timeout).map(|kind| (at, kind)).into()
    }

    /// Records that a client has a message from now on, or no longer.
    fn hold(&mut self, message_id: &str, held: Option<ClientDelivery>, now: SystemTime) {
        let Some(message) = self.received.get_mut(message_id) else { return };
        if let Some(before) = message.held {
            self.ends.remove(&(before.until, message_id.to_owned()));
        }
        message.held = held.map(|held| {
            let longest = if held.by_worker { Duration::MAX } else { LONGEST };
            let until = now + held.timeout.min(longest);
            self.ends.insert((until, message_id.to_owned()));
            ClientDelivery { until, ..held }
        });
    }

    /// Removes a message from an invocation that is over, or from a batch that was given up.
    fn give_up(&mut self, message_id: &str, attempt: u32) -> Option<MappingDelivery> {
        let taken = &mut self.received.get_mut(message_id)?.taken;
        let at = taken.iter().position(|taken| taken.attempt == attempt)?;
        Some(taken.remove(at))
    }

    /// Forgets a message that is gone, and returns its last attempt.
    fn forget(&mut self, message_id: &str) -> u32 {
        let Some(message) = self.received.remove(message_id) else { return 0 };
        if let Some(held) = message.held {
            self.ends.remove(&(held.until, message_id.to_owned()));
        }
        message.attempt
    }
}

/// Returns the events for a message that a worker gave back. If it is visible immediately, the worker may not have started
/// it.
fn given_back(queue: &str, message_id: &str, attempt: u32, hidden: Duration) -> Vec<EventKind> {
    if hidden.is_zero() {
        return vec![released(queue, message_id, attempt, hidden)];
    }
    failed(queue, message_id, attempt, hidden).into()
}

fn released(queue: &str, message_id: &str, attempt: u32, hidden: Duration) -> EventKind {
    let (queue, message_id) = (queue.to_owned(), message_id.to_owned());
    EventKind::Released { queue, message_id, attempt, seconds: whole_seconds(hidden) }
}

fn failed(queue: &str, message_id: &str, attempt: u32, hidden: Duration) -> [EventKind; 2] {
    let (queue, message_id) = (queue.to_owned(), message_id.to_owned());
    let failed = EventKind::Failed { queue: queue.clone(), message_id: message_id.clone(), attempt };
    [failed, EventKind::BackIn { queue, message_id, seconds: whole_seconds(hidden) }]
}

fn whole_seconds(hidden: Duration) -> u64 {
    hidden.as_secs_f64().ceil() as u64
}

#[cfg(test)]
mod tests;
