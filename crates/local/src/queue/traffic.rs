//! What passed through a queue since somebody last asked, for its metrics.

use super::Queue;
use crate::values::ValueSet;

/// Counts of messages and calls. They do not grow with what passes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Traffic {
    pub(crate) sent: u64,
    /// In bytes, attributes included.
    pub(crate) sent_sizes: Option<ValueSet>,
    pub(crate) received: u64,
    pub(crate) deleted: u64,
    /// Calls of clients that returned no message, counted when they end: a long poll looks several times.
    pub(crate) empty_receives: u64,
    /// Sent again, so that a FIFO queue did not add them.
    pub(crate) deduplicated: u64,
    /// Whether any action named the queue.
    accessed: bool,
}

impl Queue {
    /// Whether anything passed through the queue since its traffic was taken.
    pub(crate) fn has_traffic(&self) -> bool {
        self.traffic.is_any()
    }

    /// Any action that names a queue is a use of it.
    pub(crate) fn access(&mut self) {
        self.traffic.accessed = true;
    }

    /// Counts a call that has ended without a message.
    pub(crate) fn end_empty_receive(&mut self) {
        self.traffic.empty_receives += 1;
    }

    /// What passed through the queue since the last call.
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

    /// Whether anything was sent, received or deleted, or tried to be, or the queue was asked about.
    pub(crate) fn is_any(&self) -> bool {
        self.accessed
            || self.sent + self.received + self.deleted + self.empty_receives + self.deduplicated > 0
    }
}
