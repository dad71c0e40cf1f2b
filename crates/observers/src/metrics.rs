//! The metrics that are published to CloudWatch: their names, and the counts in one call.

use aws_sdk_cloudwatch::types::{Dimension, MetricDatum, StandardUnit};

use crate::BatchReport;

/// Values that a worker publishes each minute, even if they are zero, because scaling must see every worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gauges {
    /// Messages that a worker has received and not finished, at the end of the minute
    pub in_hand: u64,
    /// 1 from each worker in each minute
    pub workers: u64,
}

/// Every metric. The first ten count failures, and the next three come from workers. The others are useful only if every batch is
/// counted.
pub const NAMES: &[&str] = &[
    "WorkerErrors",
    "Stuck",
    "Retried",
    "DeadLettered",
    "Deferred",
    "Discarded",
    "Replayed",
    "Outages",
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

/// Metrics that calls to CloudWatch carry.
pub const NAMES_IN_CALLS: &[&str] = NAMES.split_at(13).0;

/// Returns the data of one `PutMetricData`: the failure counters that are not zero, and the metrics that only workers have. It
/// omits the others, because a mean over failed batches alone would mislead.
#[must_use]
pub fn data(report: &BatchReport, gauges: Option<Gauges>) -> Vec<MetricDatum> {
    let queue = Dimension::builder().name("QueueName").value(&report.queue).build();
    let failures = failures(report).into_iter().filter(|(_, count)| *count > 0);
    failures
        .chain(of_worker(report, gauges))
        .map(|(name, count)| {
            let datum = MetricDatum::builder().metric_name(name).value(count as f64);
            datum.unit(StandardUnit::Count).dimensions(queue.clone()).build()
        })
        .collect()
}

/// Returns the counters of failures, by the names that alarms use.
pub(crate) fn failures(report: &BatchReport) -> [(&'static str, u64); 10] {
    [
        ("WorkerErrors", report.worker_errors),
        ("Stuck", report.stuck),
        ("Retried", report.retried),
        ("DeadLettered", report.dead_lettered),
        ("Deferred", report.deferred),
        ("Discarded", report.discarded),
        ("Replayed", report.replayed),
        ("Outages", report.outages),
        ("NotStarted", report.not_started),
        ("SettleErrors", report.settle_errors),
    ]
}

/// Returns the metrics that only workers have. A function has no gauges, and loses no leases.
pub(crate) fn of_worker(report: &BatchReport, gauges: Option<Gauges>) -> Vec<(&'static str, u64)> {
    let lost = (gauges.is_some() || report.lease_lost > 0).then_some(("LeaseLost", report.lease_lost));
    let gauges = gauges.map(|gauges| [("InHand", gauges.in_hand), ("Workers", gauges.workers)]);
    lost.into_iter().chain(gauges.into_iter().flatten()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_the_failures_are_those_that_are_promised() {
        let (report, gauges) = (BatchReport::default(), Some(Gauges { in_hand: 0, workers: 1 }));
        let counted = failures(&report).into_iter().chain(of_worker(&report, gauges));
        assert_eq!(counted.map(|(name, _)| name).collect::<Vec<_>>(), NAMES_IN_CALLS);
    }
}
