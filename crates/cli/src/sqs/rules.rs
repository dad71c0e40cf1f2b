//! The settings of a queue that decide whether it takes a message.

use aws_sdk_sqs::types::QueueAttributeName;
use redrive_sqs::MAX_BYTES;

use crate::find::Queue;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct QueueRules {
    pub(crate) is_fifo: bool,
    pub(crate) deduplicates_by_content: bool,
    pub(crate) deduplicates_by_group: bool,
    /// Largest message in bytes.
    pub(crate) largest: usize,
}

impl QueueRules {
    pub(crate) fn of(queue: &Queue) -> Self {
        let says = |name, value| queue.text(&name) == Some(value);
        let largest = usize::try_from(queue.count(&QueueAttributeName::MaximumMessageSize));
        Self {
            is_fifo: queue.is_fifo(),
            deduplicates_by_content: says(QueueAttributeName::ContentBasedDeduplication, "true"),
            deduplicates_by_group: says(QueueAttributeName::DeduplicationScope, "messageGroup"),
            largest: largest.ok().filter(|largest| *largest > 0).unwrap_or(MAX_BYTES),
        }
    }

    #[cfg(test)]
    pub(crate) const fn for_tests(is_fifo: bool, largest: usize) -> Self {
        Self { is_fifo, deduplicates_by_content: false, deduplicates_by_group: false, largest }
    }
}
