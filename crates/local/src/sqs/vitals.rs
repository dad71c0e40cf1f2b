//! The numbers and times of a queue.

use std::time::{Duration, SystemTime};

use super::Sqs;
use crate::queue::{Counts, DeliveryPosition, Traffic};

/// The values that SQS publishes of a queue.
#[derive(Debug)]
pub(crate) struct Measured {
    pub(crate) counts: Counts,
    /// Age of the oldest message that counts.
    pub(crate) age: Option<Duration>,
    /// Number of groups in flight, for a FIFO queue.
    pub(crate) groups_in_flight: Option<usize>,
    pub(crate) traffic: Traffic,
}

impl Sqs {
    pub(crate) fn counts(&self, name: &str, now: SystemTime) -> Option<Counts> {
        self.at(now).entries.get(name).map(|entry| entry.queue.counts(now))
    }

    /// Returns the earliest moment after `now` at which a message may become receivable, or None if nothing is hidden.
    #[must_use]
    pub fn next_change(&self, queue: &str, now: SystemTime) -> Option<SystemTime> {
        let present = self.at(now);
        let change = present.entries.get(queue)?.queue.next_change(now);
        change.into_iter().chain(present.moves.due()).min()
    }

    /// Returns the position of each message of a queue, in the order of sending.
    #[must_use]
    pub fn standing(&self, name: &str) -> Vec<DeliveryPosition<'_>> {
        self.entries.get(name).map(|entry| entry.queue.standing()).unwrap_or_default()
    }

    /// Returns true if a receive would return a message, or move one to the dead-letter queue.
    pub fn has_receivable(&mut self, name: &str, now: SystemTime) -> bool {
        self.entries.get_mut(name).is_some_and(|entry| entry.queue.has_receivable(now))
    }

    /// Returns true if a queue has messages, or had traffic since the last reading.
    pub(crate) fn is_in_use(&self, name: &str, now: SystemTime) -> bool {
        self.counts(name, now).is_some_and(|counts| counts != Counts::default())
            || self.entries.get(name).is_some_and(|entry| entry.queue.has_traffic())
    }

    /// Records that an action named a queue. Returns true if the queue exists.
    pub(crate) fn access(&mut self, name: &str) -> bool {
        self.entries.get_mut(name).map(|entry| entry.queue.access()).is_some()
    }

    /// Records that a client's receive ended without a message.
    pub(crate) fn end_empty_receive(&mut self, name: &str) {
        if let Some(entry) = self.entries.get_mut(name) {
            entry.queue.end_empty_receive();
        }
    }

    /// Measures a queue now, and its traffic since the last call.
    pub(crate) fn measure(&mut self, name: &str, now: SystemTime) -> Option<Measured> {
        let counts = self.counts(name, now)?;
        let queue = &mut self.entries.get_mut(name)?.queue;
        Some(Measured {
            counts,
            age: queue.oldest(now).and_then(|since| now.duration_since(since).ok()),
            groups_in_flight: queue.settings().fifo.then(|| queue.groups_in_flight(now)),
            traffic: queue.take_traffic(),
        })
    }
}
