//! The traffic of a queue since the last reading, for its metrics.

use super::Queue;
use crate::values::ValueSet;

/// Counts of messages and calls. Their size does not depend on the traffic.
#[derive(Debug, Clone, Default)]
pub(crate) struct Traffic {
    pub(crate) sent: u64,
    /// Sizes of sent messages in bytes, attributes included.
    pub(crate) sent_sizes: Option<ValueSet>,
    pub(crate) received: u64,
    pub(crate) deleted: u64,
    /// Clients' receives that returned no message, counted when they end because a long poll tries several times.
    pub(crate) empty_receives: u64,
    /// Messages that a FIFO queue did not add, because they were duplicates.
    pub(crate) deduplicated: u64,
    /// True if any action named the queue.
    accessed: bool,
}

impl Queue {
    /// Returns true if the queue had traffic since the last reading.
    pub(crate) fn has_traffic(&self) -> bool {
        self.traffic.is_any()
    }

    /// Records that an action named the queue, which counts as a use.
    pub(crate) fn access(&mut self) {
        self.traffic.accessed = true;
    }

    /// Counts a call that has ended without a message.
    pub(crate) fn end_empty_receive(&mut self) {
        self.traffic.empty_receives += 1;
    }

    /// Returns the traffic since the last call.
    pub(crate) fn take_traffic(&mut self) -> Traffic {
        std::mem::take(&mut self.traffic)
    }
}

impl Traffic {
    pub(super) fn send(&mut self, size: usize) {
        self.sent += 1;
        let size = ValueSet::of(size as f64, 1.0);
        match &mut self.sent_sizes {
            Some(sizes) => sizes.add(&size),
            None => self.sent_sizes = Some(size),
        }
    }

    pub(super) fn receive(&mut self, messages: usize) {
        self.received += messages as u64;
    }

    pub(super) fn delete(&mut self) {
        self.deleted += 1;
    }

    pub(super) fn deduplicate(&mut self) {
        self.deduplicated += 1;
    }

    /// Returns true if any action named the queue, or any message passed through it.
    pub(crate) fn is_any(&self) -> bool {
        self.accessed
            || self.sent + self.received + self.deleted + self.empty_receives + self.deduplicated > 0
    }
}
