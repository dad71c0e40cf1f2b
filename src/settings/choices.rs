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
    /// To the dead-letter queue at once, as another attempt would fail too.
    #[default]
    DeadLetter,
    /// Another attempt, with backoff.
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
    /// SQS moves it by the redrive policy at its next receive, which redrive makes happen at once. It keeps its
    /// message id. The default on standard queues.
    RedrivePolicy,
    /// redrive writes the dead letter itself, with a note. The default on FIFO queues, so that the group continues.
    DeadLetter,
}

/// What a message may set for itself by its attributes `redrive.backoff` and `redrive.max-attempts`. The sender chooses
/// them.
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
    /// Nothing: the attributes are not read.
    Off,
    /// Fewer attempts than the queue's maxReceiveCount, and shorter delays than the consumer's own after the same attempt.
    /// With longer ones a sender could hold up the others of its FIFO group.
    #[default]
    Less,
    /// Fewer attempts, and delays up to this, or up to the consumer's own if that is longer.
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
    /// `PutMetricData` with failure counters only, for batches with anything but successes.
    #[default]
    CloudWatch,
    /// A line of embedded metric format on standard output for every batch, with every metric.
    Emf,
    /// Nowhere.
    Off,
}
