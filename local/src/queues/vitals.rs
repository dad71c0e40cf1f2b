//! What the metrics of a queue are made of.

use std::time::SystemTime;

use super::Queues;
use crate::queue::Traffic;

impl Queues {
    /// Since when the oldest message that counts has been there.
    pub(crate) fn oldest(&self, name: &str, now: SystemTime) -> Option<SystemTime> {
        self.entries.get(name)?.queue.oldest(now)
    }

    /// What passed through a queue since the last call.
    pub(crate) fn take_traffic(&mut self, name: &str) -> Traffic {
        self.entries.get_mut(name).map(|entry| entry.queue.take_traffic()).unwrap_or_default()
    }
}
