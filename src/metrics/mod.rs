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
        assert_eq!(names, Metrics::CloudWatch.names());
    }
}
