//! A batch report on its way to CloudWatch.

mod cloudwatch;
mod emf;

use std::time::SystemTime;

use tokio::time::Instant;

use crate::BatchReport;

/// Where the reports go; a client where one is needed.
#[derive(Debug, Clone)]
pub(crate) enum Sink {
    CloudWatch { client: aws_sdk_cloudwatch::Client, namespace: String },
    Emf { namespace: String },
    Off,
}

impl Sink {
    /// Never fails and never outlives `until`: what does not arrive is a warning in the log.
    pub(crate) async fn publish(&self, report: &BatchReport, now: SystemTime, until: Instant) {
        match self {
            Self::CloudWatch { client, namespace } => cloudwatch::put(client, namespace, report, until).await,
            Self::Emf { namespace } => {
                for line in emf::lines(report, namespace, now) {
                    println!("{line}");
                }
            }
            Self::Off => {}
        }
    }
}

/// The counters that say something went wrong, by the names that alarms use.
fn failures(report: &BatchReport) -> [(&'static str, u64); 7] {
    [
        ("WorkerErrors", report.worker_errors),
        ("Retried", report.retried),
        ("DeadLettered", report.dead_lettered),
        ("Deferred", report.deferred),
        ("Discarded", report.discarded),
        ("NotStarted", report.not_started),
        ("SettleErrors", report.settle_errors),
    ]
}
