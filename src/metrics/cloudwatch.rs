//! `PutMetricData`: one call for a batch in which something other than success happened, none for the others.

use std::time::Duration;

use aws_sdk_cloudwatch::Client;
use aws_sdk_cloudwatch::config::retry::RetryConfig;
use aws_sdk_cloudwatch::error::DisplayErrorContext;
use aws_sdk_cloudwatch::types::{Dimension, MetricDatum, StandardUnit};
use tokio::time::{Instant, timeout};
use tracing::warn;

use crate::BatchReport;

const PATIENCE: Duration = Duration::from_secs(2);

pub(super) async fn put(client: &Client, namespace: &str, report: &BatchReport, until: Instant) {
    let data = data(report);
    if data.is_empty() {
        return;
    }
    let patience = PATIENCE.min(until.saturating_duration_since(Instant::now()).mul_f64(0.8));
    let call = client.put_metric_data().namespace(namespace).set_metric_data(Some(data)).customize();
    let twice = RetryConfig::standard().with_max_attempts(2).with_initial_backoff(Duration::from_millis(50));
    let call = call.config_override(aws_sdk_cloudwatch::Config::builder().retry_config(twice));
    match timeout(patience, call.send()).await {
        Ok(Ok(_)) => {}
        Ok(Err(error)) => warn!(error = %DisplayErrorContext(&error), "metrics were not published"),
        Err(_elapsed) => warn!(?patience, "metrics were not published in time"),
    }
}

/// Only the failure counters, and of those only what is not zero: a mean over failed batches alone would lie.
fn data(report: &BatchReport) -> Vec<MetricDatum> {
    let queue = Dimension::builder().name("QueueName").value(&report.queue).build();
    super::failures(report)
        .into_iter()
        .filter(|(_, count)| *count > 0)
        .map(|(name, count)| {
            let datum = MetricDatum::builder().metric_name(name).value(count as f64);
            datum.unit(StandardUnit::Count).dimensions(queue.clone()).build()
        })
        .collect()
}
