//! Publishes batch reports to CloudWatch.
#![expect(clippy::disallowed_methods, reason = "impure: it reads the clock")]

#[cfg(feature = "worker")]
use std::pin::pin;
use std::time::{Duration, SystemTime};

use aws_sdk_cloudwatch::config::retry::RetryConfig;
use aws_sdk_cloudwatch::error::DisplayErrorContext;
use aws_sdk_cloudwatch::types::MetricDatum;
use redrive_observers::metrics::{Gauges, NAMES, NAMES_IN_CALLS, data};
#[cfg(feature = "worker")]
use redrive_observers::vitals::{Minutes, Vitals};
use redrive_observers::{BatchReport, emf, stdout};
#[cfg(feature = "worker")]
use tokio::sync::oneshot;
use tokio::time::Instant;
#[cfg(feature = "worker")]
use tokio::time::timeout_at;
use tracing::warn;

use crate::aws::{CallOutcome, CloudWatch};
use crate::settings::{Metrics, Settings};

const CALL_TIMEOUT: Duration = Duration::from_secs(2);
const TRIES: usize = 2;

/// The time after which a worker gives up publishing a minute.
#[cfg(feature = "worker")]
const MINUTE_TIMEOUT: Duration = Duration::from_secs(10);

/// Returns the names of the metrics that are published in this way, each with one dimension: `QueueName`, the name of the queue
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
        Metrics::CloudWatch => NAMES_IN_CALLS,
        Metrics::Emf => NAMES,
        Metrics::Off => &[],
    }
}

/// Publishes the counts of a worker once a minute, and the rest when the worker has `ended`. Counts that are not published by
/// the time that comes with `ended` are lost.
#[cfg(feature = "worker")]
pub(crate) async fn publish_minutes(
    vitals: &Vitals,
    settings: &Settings,
    cloudwatch: Option<&CloudWatch>,
    mut ended: oneshot::Receiver<Instant>,
) {
    let mut minutes = Minutes::new(vitals);
    // There are no gauges, because a worker that ends is not counted any more.
    let rest = async |until| publish(&vitals.take_sums(), None, settings, cloudwatch, until).await;
    loop {
        let (report, gauges) = tokio::select! {
            biased;
            Ok(until) = &mut ended => return rest(until).await,
            minute = minutes.next() => minute,
        };
        let until = Instant::now() + MINUTE_TIMEOUT;
        let mut minute = pin!(publish(&report, gauges, settings, cloudwatch, until));
        tokio::select! {
            biased;
            () = &mut minute => {}
            Ok(until) = &mut ended => {
                let _ = timeout_at(until, async { tokio::join!(minute, rest(until)) }).await;
                return;
            }
        }
    }
}

/// Publishes the counts of a batch, or the sums of a worker's minute. Never fails and never outlives `until`. A failed call
/// is a warning in the log.
pub(crate) async fn publish(
    report: &BatchReport,
    gauges: Option<Gauges>,
    settings: &Settings,
    cloudwatch: Option<&CloudWatch>,
    until: Instant,
) {
    match (settings.metrics.unwrap_or_default(), cloudwatch) {
        // CloudWatch refuses an empty dimension.
        (Metrics::CloudWatch, Some(cloudwatch)) if !report.queue.is_empty() => {
            let data = data(report, gauges);
            if !data.is_empty() {
                put(cloudwatch, settings.namespace(), data, until).await;
            }
        }
        (Metrics::Emf, _) => {
            for line in emf::lines(report, gauges, settings.namespace(), SystemTime::now()) {
                stdout::write(format!("{line}\n").as_bytes());
            }
        }
        (Metrics::CloudWatch | Metrics::Off, _) => {}
    }
}

/// Publishes metrics with one call, and repeats it if the connection failed.
async fn put(cloudwatch: &CloudWatch, namespace: &str, data: Vec<MetricDatum>, until: Instant) {
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
            CallOutcome::ConnectionFailed(_) if !last => {}
            CallOutcome::Refused(error) | CallOutcome::ConnectionFailed(error) => {
                return warn!(error = %DisplayErrorContext(&error), "metrics were not published");
            }
            CallOutcome::TimedOut => return warn!(patience = ?limit, "metrics were not published in time"),
        }
    }
}

#[cfg(feature = "worker")]
#[cfg(test)]
mod tests {
    use redrive_local::kit::TestAws;
    use redrive_observers::vitals::WorkerGroup;

    use super::*;

    fn failed(records: u64) -> BatchReport {
        let mut report = BatchReport::default();
        (report.records, report.worker_errors, report.retried) = (records, records, records);
        report
    }

    /// The real client, to the CloudWatch of redrive-local.
    #[tokio::test(start_paused = true)]
    async fn cloudwatch_has_the_sums_and_each_minute_the_worker_until_it_ends() {
        let aws = TestAws::new();
        let cloudwatch = CloudWatch::given(aws.cloudwatch());
        let (vitals, settings) = (WorkerGroup::default().add("orders", "orders"), Settings::default());
        vitals.loop_turned(4, 1, 1);
        vitals.reported(&failed(2));
        vitals.reported(&failed(1));
        let (ends, ended) = oneshot::channel();
        let mut publishing = pin!(publish_minutes(&vitals, &settings, Some(&cloudwatch), ended));
        let minutes = Instant::now() + Duration::from_secs(200);
        assert!(timeout_at(minutes, &mut publishing).await.is_err(), "it never ends by itself");
        let sum = |name: &str| aws.metric_sum("Redrive", name);
        assert_eq!((sum("WorkerErrors"), sum("Retried"), sum("LeaseLost")), (3.0, 3.0, 0.0));
        let minutes = sum("Workers");
        assert!(minutes >= 3.0, "one in each minute, however idle: {minutes}");
        assert_eq!(sum("InHand"), 4.0 * minutes);

        vitals.reported(&failed(5));
        vitals.lease_lost();
        ends.send(Instant::now() + MINUTE_TIMEOUT).unwrap();
        publishing.await;
        assert_eq!((sum("WorkerErrors"), sum("LeaseLost")), (8.0, 1.0), "nothing is lost or published twice");
        assert_eq!(sum("Workers"), minutes, "a worker that ends is none any more");
    }
}
