//! Settings with two or three choices.

use std::time::Duration;

/// The action for a message whose handler panicked, or whose body could not be decoded.
///
/// ```
/// # async fn place(order: String) -> Result<(), redrive::Failure> { Ok(()) }
/// use redrive::{Consumer, OnFailure};
///
/// let consumer = Consumer::new(place).on_panic(OnFailure::Retry).on_malformed(OnFailure::DeadLetter);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum OnFailure {
    /// Send it to the dead-letter queue at once, because another attempt would fail too.
    #[default]
    DeadLetter,
    /// Retry it with backoff.
    Retry,
}

/// The way in which a message leaves its queue after its last delivery has failed.
///
/// ```
/// # async fn place(order: String) -> Result<(), redrive::Failure> { Ok(()) }
/// use redrive::{Consumer, LastDelivery};
///
/// let consumer = Consumer::new(place).max_receive_count(5).last_delivery(LastDelivery::DeadLetter);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum LastDelivery {
    /// SQS moves the message by the redrive policy at its next receive, and redrive makes it visible at once. The message keeps
    /// its id. The default on standard queues.
    RedrivePolicy,
    /// redrive writes the dead letter, with a note. The default on FIFO queues, so that the group continues.
    DeadLetter,
}

/// The overrides that senders may set with the message attributes `redrive.backoff` and `redrive.max-attempts`.
///
/// ```
/// # async fn place(order: String) -> Result<(), redrive::Failure> { Ok(()) }
/// use redrive::{Consumer, Overrides};
/// use std::time::Duration;
///
/// let consumer = Consumer::new(place).overrides(Overrides::UpTo(Duration::from_secs(900)));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Overrides {
    /// Nothing: redrive does not read the attributes.
    Off,
    /// Fewer attempts than the queue's maxReceiveCount, and on a standard queue longer delays than the consumer's. On
    /// a FIFO queue, longer delays would let a sender block the rest of its group.
    #[default]
    Less,
    /// Fewer attempts, and delays up to this, or up to the consumer's own if that is longer. Delays may also be shorter than
    /// the consumer's, down to none, so use this only if you trust the senders.
    UpTo(Duration),
}
