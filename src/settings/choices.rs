//! Settings that are one of several choices.

use std::time::Duration;

/// What to do with a message that panicked or could not be decoded.
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

/// How a message leaves its queue when its last delivery has failed.
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
    /// SQS moves it by the redrive policy at its next receive; redrive makes it visible at once. It keeps its message
    /// id. The default on standard queues.
    RedrivePolicy,
    /// redrive writes the dead letter, with a note. The default on FIFO queues, so that the group continues.
    DeadLetter,
}

/// What a message may override with its attributes `redrive.backoff` and `redrive.max-attempts`, which the sender
/// sets.
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
    /// Fewer attempts, and delays up to this, or up to the consumer's own if that is longer. Delays may also be
    /// shorter than the consumer's, down to none: trust the senders.
    UpTo(Duration),
}

/// Where metrics go.
///
/// ```
/// # async fn place(order: String) -> Result<(), redrive::Failure> { Ok(()) }
/// use redrive::{Consumer, Metrics};
///
/// let consumer = Consumer::new(place).metrics(Metrics::Emf).metrics_namespace("Shop");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Metrics {
    /// `PutMetricData`, only for batches with failures, and only with failure counters.
    #[default]
    CloudWatch,
    /// One line of embedded metric format on standard output per batch, with all metrics.
    Emf,
    /// Nowhere.
    Off,
}
