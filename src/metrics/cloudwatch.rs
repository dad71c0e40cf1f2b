//! `PutMetricData`: one call for a batch in which something other than success happened, none for the others.
#![expect(clippy::disallowed_methods, reason = "impure: it reads the clock")]

use std::time::Duration;

use aws_sdk_cloudwatch::config::retry::RetryConfig;
use aws_sdk_cloudwatch::error::DisplayErrorContext;
use aws_sdk_cloudwatch::types::{Dimension, MetricDatum, StandardUnit};
use tokio::time::Instant;
use tracing::warn;

use super::Gauges;
use crate::BatchReport;
use crate::aws::{CallOutcome, CloudWatch};

const CALL_TIMEOUT: Duration = Duration::from_secs(2);
const TRIES: usize = 2;

pub(super) async fn put(
    cloudwatch: &CloudWatch,
    namespace: &str,
    report: &BatchReport,
    gauges: Option<Gauges>,
    until: Instant,
) {
    let data = data(report, gauges);
    if data.is_empty() {
        return;
    }
    let call = cloudwatch.client.put_metric_data().namespace(namespace).set_metric_data(Some(data));
    let (usual, tries) = cloudwatch.endpoint.limits(CALL_TIMEOUT, TRIES);
    // A call whose connection failed is tried once more on a fresh one.
    for last in [tries == 1, true] {
        let retries = RetryConfig::standard()
            .with_max_attempts(tries as u32)
            .with_initial_backoff(Duration::from_millis(50));
        let config = aws_sdk_cloudwatch::Config::builder().retry_config(retries);
        let limit = usual.min(until.saturating_duration_since(Instant::now()).mul_f64(0.8));
        let call = call.clone().customize().config_override(config).send();
        match cloudwatch.endpoint.call(limit, call).await {
            CallOutcome::Answered(_) => return,
            CallOutcome::Refused(error) => {
                return warn!(error = %DisplayErrorContext(&error), "metrics were not published");
            }
            CallOutcome::TimedOut => return warn!(patience = ?limit, "metrics were not published in time"),
            CallOutcome::ConnectionFailed(error) if last => {
                return warn!(error = %DisplayErrorContext(&error), "metrics were not published");
            }
            CallOutcome::ConnectionFailed(_) => {}
        }
    }
}

/// Only the failure counters that are not zero: a mean over failed batches alone would be misleading. Of a worker what
/// only workers have too.
fn data(report: &BatchReport, gauges: Option<Gauges>) -> Vec<MetricDatum> {
    let queue = Dimension::builder().name("QueueName").value(&report.queue).build();
    let failures = super::failures(report).into_iter().filter(|(_, count)| *count > 0);
    failures
        .chain(super::of_worker(report, gauges))
        .map(|(name, count)| {
            let datum = MetricDatum::builder().metric_name(name).value(count as f64);
            datum.unit(StandardUnit::Count).dimensions(queue.clone()).build()
        })
        .collect()
}
