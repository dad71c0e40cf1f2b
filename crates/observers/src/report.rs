//! The counts and times of a batch.

use std::time::Duration;

/// Counts and times of one batch. Each record is counted in exactly one of `succeeded`, `worker_errors`, `deferred`, `discarded`,
/// `replayed`, `outages` and `not_started`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BatchReport {
    /// The name of the source queue.
    pub queue: String,
    /// Records in the batch.
    pub records: u64,
    /// Messages whose handler returned `Ok`.
    pub succeeded: u64,
    /// Messages that failed: errors, rejections, panics, timeouts, undecodable bodies, and messages that did not
    /// start on their last delivery.
    pub worker_errors: u64,
    /// Failed messages whose delay SQS has accepted.
    pub retried: u64,
    /// Messages that are in the dead-letter queue or will move there at the next receive, confirmed by SQS.
    pub dead_lettered: u64,
    /// Messages that the handler deferred.
    pub deferred: u64,
    /// Messages that the handler discarded.
    pub discarded: u64,
    /// Messages that were deleted without running, because the store of `Consumer::once` had recorded them as finished.
    pub replayed: u64,
    /// Messages whose handler reported that a dependency is down.
    pub outages: u64,
    /// Messages that did not start, or that a worker's shutdown interrupted.
    pub not_started: u64,
    /// Failed messages whose handlers blocked a thread until redrive abandoned them.
    pub stuck: u64,
    /// Visibility changes, dead letters and a worker's deletes that SQS did not confirm.
    pub settle_errors: u64,
    /// Messages whose lease a worker lost, and messages whose success the store of `Consumer::once` did not record.
    pub lease_lost: u64,
    /// The highest receive count.
    pub max_attempt: u32,
    /// How long each handler call ran. For a message of a `Bulk`, only the last call counts.
    pub worker_durations: Vec<Duration>,
    /// Time from when each message was sent until it succeeded; never negative.
    pub response_times: Vec<Duration>,
}
