//! Publishes batch reports to CloudWatch.

mod cloudwatch;
pub(crate) mod emf;

use std::time::SystemTime;

use tokio::time::Instant;

use crate::aws::CloudWatch;
use crate::settings::Settings;
use crate::{BatchReport, Metrics, stdout};

/// What a worker publishes in each minute, also if it is zero: what scales workers has to see each of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Gauges {
    /// Messages that a worker has received and not finished, at the end of the minute; from workers only
    pub(crate) in_hand: u64,
    /// 1 from each worker in each minute, so the sum over a minute is the number of workers; from workers only
    pub(crate) workers: u64,
}

/// The counts of a batch, or the sums of a worker's minute. Never fails and never outlives `until`. A failed call is a
/// warning in the log.
pub(crate) async fn publish(
    report: &BatchReport,
    gauges: Option<Gauges>,
    settings: &Settings,
    cloudwatch: Option<&CloudWatch>,
    now: SystemTime,
    until: Instant,
) {
    match (settings.metrics.unwrap_or_default(), cloudwatch) {
        // CloudWatch refuses an empty dimension.
        (Metrics::CloudWatch, Some(cloudwatch)) if !report.queue.is_empty() => {
            cloudwatch::put(cloudwatch, settings.namespace(), report, gauges, until).await;
        }
        (Metrics::Emf, _) => {
            for line in emf::lines(report, gauges, settings.namespace(), now) {
                stdout::write(format!("{line}\n").as_bytes());
            }
        }
        (Metrics::CloudWatch | Metrics::Off, _) => {}
    }
}

/// Every metric. The first eight count failures, the next three are those of workers; the others only make sense if every
/// batch is counted.
const NAMES: [&str; 15] = [
    "WorkerErrors",
    "Stuck",
    "Retried",
    "DeadLettered",
    "Deferred",
    "Discarded",
    "NotStarted",
    "SettleErrors",
    "LeaseLost",
    "InHand",
    "Workers",
    "Succeeded",
    "MaxAttempt",
    "WorkerDuration",
    "ResponseTime",
];

/// The names of the metrics that are published in this way, each with one dimension: `QueueName`, the name of the queue
/// that feeds the consumer. `LeaseLost`, `InHand` and `Workers` come from workers only, not from Lambda functions.
///
/// ```
/// use redrive::Metrics;
/// use redrive::tools::metric_names;
///
/// assert!(metric_names(Metrics::CloudWatch).contains(&"DeadLettered"));
/// assert!(metric_names(Metrics::Emf).contains(&"Succeeded"));
/// assert!(metric_names(Metrics::Off).is_empty());
/// ```
#[must_use]
pub const fn metric_names(sink: Metrics) -> &'static [&'static str] {
    match sink {
        Metrics::CloudWatch => NAMES.split_at(11).0,
        Metrics::Emf => &NAMES,
        Metrics::Off => &[],
    }
}

/// The counters of failures, by the names that alarms use.
pub(crate) fn failures(report: &BatchReport) -> [(&'static str, u64); 8] {
    [
        ("WorkerErrors", report.worker_errors),
        ("Stuck", report.stuck),
        ("Retried", report.retried),
        ("DeadLettered", report.dead_lettered),
        ("Deferred", report.deferred),
        ("Discarded", report.discarded),
        ("NotStarted", report.not_started),
        ("SettleErrors", report.settle_errors),
    ]
}

/// What only workers have. A function loses no leases, and without workers there are no gauges.
fn of_worker(report: &BatchReport, gauges: Option<Gauges>) -> Vec<(&'static str, u64)> {
    let lost = (gauges.is_some() || report.lease_lost > 0).then_some(("LeaseLost", report.lease_lost));
    let gauges = gauges.map(|gauges| [("InHand", gauges.in_hand), ("Workers", gauges.workers)]);
    lost.into_iter().chain(gauges.into_iter().flatten()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_the_failures_are_those_that_are_promised() {
        let names: Vec<_> = failures(&BatchReport::default()).iter().map(|(name, _)| *name).collect();
        let of_worker = of_worker(&BatchReport::default(), Some(Gauges { in_hand: 0, workers: 1 }));
        let of_worker = of_worker.into_iter().map(|(name, _)| name);
        let names: Vec<_> = names.into_iter().chain(of_worker).collect();
        assert_eq!(names, metric_names(Metrics::CloudWatch));
    }
}
