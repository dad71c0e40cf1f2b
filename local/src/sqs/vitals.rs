//! What can be told of a queue: numbers and times.

use std::time::SystemTime;

use super::Sqs;
use crate::queue::{Counts, Traffic};

impl Sqs {
    pub(crate) fn counts(&self, name: &str, now: SystemTime) -> Option<Counts> {
        self.at(now).entries.get(name).map(|entry| entry.queue.counts(now))
    }

    /// The earliest moment after `now` at which a message may become receivable; none if nothing is hidden.
    pub(crate) fn next_change(&self, queue: &str, now: SystemTime) -> Option<SystemTime> {
        let present = self.at(now);
        let change = present.entries.get(queue)?.queue.next_change(now);
        change.into_iter().chain(present.moves.due()).min()
    }

    /// Since when the oldest message that counts has been there.
    pub(crate) fn oldest(&self, name: &str, now: SystemTime) -> Option<SystemTime> {
        self.entries.get(name)?.queue.oldest(now)
    }

    /// Whether a queue holds messages, or any passed through it since its traffic was taken.
    pub(crate) fn is_in_use(&self, name: &str, now: SystemTime) -> bool {
        self.counts(name, now).is_some_and(|counts| counts != Counts::default())
            || self.entries.get(name).is_some_and(|entry| entry.queue.has_traffic())
    }

    /// What passed through a queue since the last call.
    pub(crate) fn take_traffic(&mut self, name: &str) -> Traffic {
        self.entries.get_mut(name).map(|entry| entry.queue.take_traffic()).unwrap_or_default()
    }
}
