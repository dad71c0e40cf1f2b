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
    let worker = minute.of_worker(counts_worker);
    metrics::publish(&minute.report, Some(worker), settings, cloudwatch, SystemTime::now(), until).await;
}

/// Since the epoch of the wall clock, whose minutes are those of CloudWatch.
fn wall() -> Duration {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}
