//! Publishes batch reports to CloudWatch.

mod cloudwatch;
pub(crate) mod emf;

use std::time::SystemTime;

use tokio::time::Instant;

use crate::aws::CloudWatch;
use crate::settings::Settings;
use crate::{BatchReport, Metrics, stdout};

/// Never fails and never outlives `until`. A failed call is a warning in the log.
pub(crate) async fn publish(
    report: &BatchReport,
    settings: &Settings,
    cloudwatch: Option<&CloudWatch>,
    now: SystemTime,
    until: Instant,
) {
    match (settings.metrics.unwrap_or_default(), cloudwatch) {
        // CloudWatch refuses an empty dimension.
        (Metrics::CloudWatch, Some(cloudwatch)) if !report.queue.is_empty() => {
            cloudwatch::put(cloudwatch, settings.namespace(), report, until).await;
        }
        (Metrics::Emf, _) => {
            for line in emf::lines(report, settings.namespace(), now) {
                stdout::write(format!("{line}\n").as_bytes());
            }
        }
        (Metrics::CloudWatch | Metrics::Off, _) => {}
    }
}

/// Every metric. The first eight count failures; the others only make sense if every batch is counted.
const NAMES: [&str; 12] = [
    "WorkerErrors",
    "Stuck",
    "Retried",
    "DeadLettered",
    "Deferred",
    "Discarded",
    "NotStarted",
    "SettleErrors",
    "Succeeded",
    "MaxAttempt",
    "WorkerDuration",
    "ResponseTime",
];

/// The names of the metrics that are published in this way, each with one dimension: `QueueName`, the name of the queue
/// that feeds the function.
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
        Metrics::CloudWatch => NAMES.split_at(8).0,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_the_failures_are_those_that_are_promised() {
        let names: Vec<_> = failures(&BatchReport::default()).iter().map(|(name, _)| *name).collect();
        assert_eq!(names, metric_names(Metrics::CloudWatch));
    }
}
