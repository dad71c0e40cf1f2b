//! Keys of batches, messages, groups and leases, a type for each, so that they cannot be mixed up.

/// The messages that are reported together: a Lambda batch, or the messages that a worker began at a time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BatchKey(pub u64);

/// A message of a batch, by its place in the order in which the batch begins its messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageKey {
    pub batch: BatchKey,
    pub at: usize,
}

/// The messages of a batch that run one after the other: a FIFO group, or one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupKey {
    pub(crate) batch: BatchKey,
    pub(crate) lane: usize,
}

/// A message that a worker has received, from its receive to its end. The shell chooses the number and uses it once: an
/// extension may be answered after its message is [forgotten](super::Command::Forget).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LeaseKey(pub usize);
