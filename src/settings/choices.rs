//! The settings that are enums.

/// The destination of metrics.
///
/// ```
/// # async fn place(order: String) -> Result<(), redrive::Failure> { Ok(()) }
/// use redrive::{Consumer, Metrics};
///
/// let consumer = Consumer::new(place).metrics(Metrics::Emf);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Metrics {
    /// `PutMetricData`, only for batches with failures, and only with failure counters.
    #[default]
    CloudWatch,
    /// One line of embedded metric format on standard output per batch, with all metrics.
    Emf,
    /// No metrics.
    Off,
}
