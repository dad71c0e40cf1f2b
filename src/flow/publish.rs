//! Reports a batch to metrics, the observer and hooks.
#![expect(clippy::disallowed_methods, reason = "impure: it reads the clock")]

use std::future::Future;
use std::time::{Duration, SystemTime};

use futures_util::future::join_all;
use tokio::time::Instant;
use tracing::{Instrument, warn};

use super::Flow;
use crate::engine::Settled;
use crate::message_report::MessageReport;
use crate::record::Record;
use crate::{BatchReport, metrics};

/// How long the answer waits for each hook and observer, as for a call to AWS.
const FOR_LISTENERS: Duration = Duration::from_secs(2);

impl Flow<'_> {
    /// A worker publishes metrics once a minute, not here.
    pub(crate) async fn publish(&self, report: &BatchReport, until: Instant, is_worker: bool) {
        if self.is_sample {
            return;
        }
        let observed = async {
            let Some(observer) = self.observer.cloned() else { return };
            let report = report.clone();
            self.told("the observer", async move { observer(&report) }, until).await;
        };
        let published = async {
            if !is_worker {
                metrics::publish(report, None, self.settings, self.cloudwatch, until).await;
            }
        };
        tokio::join!(published, observed);
    }

    /// Whether there is neither an observer nor a hook.
    pub(crate) fn nobody_listens(&self) -> bool {
        self.observer.is_none() && self.hooks.nobody_listens()
    }

    pub(crate) async fn tell_hooks(
        &self,
        records: &[Record<'_>],
        settled: &[Settled],
        began: SystemTime,
        until: Instant,
        is_worker: bool,
    ) {
        if self.is_sample || self.hooks.nobody_listens() {
            return;
        }
        let until = until.min(Instant::now() + FOR_LISTENERS);
        let report = |(record, settled)| MessageReport::of(record, settled, began);
        let messages = records.iter().zip(settled).map(report).collect();
        let told = self.hooks.told(messages, until.into_std(), !is_worker);
        join_all(told.into_iter().map(|told| self.told("a hook", told, until))).await;
    }

    /// Has hooks flush what a worker has told them.
    pub(crate) async fn flush_hooks(&self) {
        let until = Instant::now() + FOR_LISTENERS;
        let flushed = self.hooks.told(Vec::new(), until.into_std(), true);
        join_all(flushed.into_iter().map(|flushed| self.told("a hook", flushed, until))).await;
    }

    /// Runs code of the user's, whose lines stand in the span of the batch.
    async fn told(&self, who: &str, code: impl Future<Output = ()> + Send + 'static, until: Instant) {
        let until = until.min(Instant::now() + FOR_LISTENERS);
        if let Err(problem) = self.host.run(code.in_current_span(), until).await {
            warn!("{who} {problem}");
        }
    }
}
