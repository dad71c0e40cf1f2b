//! Publishes what a worker counts, once a minute and at its end.
#![expect(clippy::disallowed_methods, reason = "impure: it reads the clock")]

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::time::{Instant, sleep_until};

use super::minute::until_next;
use super::vitals::Vitals;
use crate::aws::CloudWatch;
use crate::metrics;
use crate::settings::Settings;

/// A call that takes longer is given up.
const LIMIT: Duration = Duration::from_secs(10);

/// Publishes until it is dropped. Where very many messages end in a minute, their sums are published sooner, in parts.
pub(crate) async fn publish_each_minute(
    vitals: Arc<Vitals>,
    settings: Settings,
    cloudwatch: Option<CloudWatch>,
) {
    let started = wall();
    let mut due = Instant::now() + until_next(started, started);
    loop {
        let is_due = tokio::select! {
            () = sleep_until(due) => true,
            () = vitals.minute_is_full() => false,
        };
        if is_due {
            due = Instant::now() + until_next(started, wall());
        }
        publish(&vitals, &settings, cloudwatch.as_ref(), is_due, Instant::now() + LIMIT).await;
    }
}

/// Publishes what is left, at the worker's end. A worker that ends is none any more, so it does not count itself.
pub(crate) async fn publish_last(
    vitals: &Vitals,
    settings: &Settings,
    cloudwatch: Option<&CloudWatch>,
    until: Instant,
) {
    publish(vitals, settings, cloudwatch, false, until).await;
}

async fn publish(
    vitals: &Vitals,
    settings: &Settings,
    cloudwatch: Option<&CloudWatch>,
    counts_worker: bool,
    until: Instant,
) {
    let minute = vitals.take_minute();
    let gauges = counts_worker.then(|| minute.gauges());
    metrics::publish(&minute.report, gauges, settings, cloudwatch, SystemTime::now(), until).await;
}

/// Since the epoch of the wall clock, whose minutes are those of CloudWatch.
fn wall() -> Duration {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use redrive_local::kit::TestAws;

    use super::*;
    use crate::BatchReport;

    fn failed(records: u64) -> BatchReport {
        BatchReport { records, worker_errors: records, retried: records, ..BatchReport::default() }
    }

    /// The real client, to the CloudWatch of redrive-local.
    #[tokio::test(start_paused = true)]
    async fn cloudwatch_has_the_sums_and_each_minute_the_worker_until_it_ends() {
        let aws = TestAws::new();
        let cloudwatch = CloudWatch::given(aws.cloudwatch());
        let vitals = Arc::new(Vitals::new("orders"));
        vitals.holds(4, 1);
        vitals.reported(&failed(2));
        vitals.reported(&failed(1));
        let publishing =
            publish_each_minute(Arc::clone(&vitals), Settings::default(), Some(cloudwatch.clone()));
        let minutes = Duration::from_secs(200);
        assert!(tokio::time::timeout(minutes, publishing).await.is_err(), "it never ends by itself");
        let sum = |name: &str| aws.metric_sum("Redrive", name);
        assert_eq!((sum("WorkerErrors"), sum("Retried"), sum("LeaseLost")), (3.0, 3.0, 0.0));
        let minutes = sum("Workers");
        assert!(minutes >= 3.0, "one in each minute, however idle: {minutes}");
        assert_eq!(sum("InHand"), 4.0 * minutes);

        vitals.reported(&failed(5));
        vitals.lease_lost();
        let until = Instant::now() + LIMIT;
        publish_last(&vitals, &Settings::default(), Some(&cloudwatch), until).await;
        assert_eq!((sum("WorkerErrors"), sum("LeaseLost")), (8.0, 1.0));
        assert_eq!(sum("Workers"), minutes, "a worker that ends is none any more");
        publish_last(&vitals, &Settings::default(), Some(&cloudwatch), until).await;
        assert_eq!(sum("WorkerErrors"), 8.0, "nothing is published twice");
    }

    #[tokio::test(start_paused = true)]
    async fn very_many_durations_do_not_wait_for_the_end_of_the_minute() {
        let vitals = Arc::new(Vitals::new("orders"));
        let publishing = tokio::spawn(publish_each_minute(Arc::clone(&vitals), Settings::default(), None));
        let report = BatchReport { worker_durations: vec![Duration::ZERO; 10_000], ..failed(1) };
        vitals.reported(&report);
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert!(vitals.take_minute().report.worker_durations.is_empty(), "they were taken");
        publishing.abort();
    }
}
