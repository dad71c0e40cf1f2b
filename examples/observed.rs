//! Your own metrics: an observer gets the report of every batch.
//!
//! ```sh
//! redrive local --example observed --send examples/observed.jsonl --speed max --until-idle --show-output
//! ```
//!
//! Four messages are done, one of them on attempt 2, and one is dead-lettered as `malformed`. After each batch, the function logs
//! how many failed since it began, and how long the slowest handler took. CloudWatch still gets its metrics, unless
//! `REDRIVE_METRICS` is `off`.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use redrive::{BatchReport, Consumer, Failure, Message};
use serde::Deserialize;

/// Totals since this process began. Your own observer passes them to the library of your metrics system. It runs before the
/// response is sent, so it should not wait for a network.
#[derive(Default)]
struct Totals {
    records: AtomicU64,
    failed: AtomicU64,
}

impl Totals {
    fn add(&self, report: &BatchReport) {
        let add = |total: &AtomicU64, more| total.fetch_add(more, Ordering::Relaxed) + more;
        let records = add(&self.records, report.records);
        let failed = add(&self.failed, report.worker_errors);
        let slowest = report.worker_durations.iter().max().copied().unwrap_or_default();
        tracing::info!(queue = report.queue, records, failed, slowest = ?slowest, "observed");
    }
}

#[derive(Deserialize)]
struct Job {
    milliseconds: u64,
    /// Attempts that fail.
    #[serde(default)]
    fails: u32,
}

async fn work(job: Message<Job>) -> Result<(), Failure> {
    tokio::time::sleep(Duration::from_millis(job.body.milliseconds)).await;
    if job.attempt <= job.body.fails { Err("not yet".into()) } else { Ok(()) }
}

#[tokio::main]
async fn main() -> Result<(), redrive::Error> {
    let totals = Totals::default();
    Consumer::new(work).observe(move |report: &BatchReport| totals.add(report)).run().await
}
