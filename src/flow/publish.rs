//! Tells metrics, the observer and hooks what became of a batch.
#![expect(clippy::disallowed_methods, reason = "impure: it reads the clock")]

use std::time::SystemTime;

use futures_util::future::join_all;
use tokio::time::Instant;
use tracing::warn;

use super::Flow;
use crate::batch::Settled;
use crate::message_report::MessageReport;
use crate::record::Record;
use crate::{BatchReport, metrics};

impl Flow<'_> {
    pub(super) async fn publish(&self, report: &BatchReport, until: Instant) {
        if self.is_sample {
            return;
        }
        let observed = async {
            let Some(observer) = self.observer.cloned() else { return };
            let report = report.clone();
            if let Err(problem) = self.host.run(async move { observer(&report) }, until).await {
                warn!("the observer {problem}");
            }
        };
        let published = metrics::publish(report, self.settings, self.cloudwatch, SystemTime::now(), until);
        tokio::join!(published, observed);
    }

    pub(super) async fn tell_hooks(
        &self,
        records: &[Record<'_>],
        settled: &[Settled],
        began: SystemTime,
        until: Instant,
    ) {
        if self.is_sample || self.hooks.is_empty() {
            return;
        }
        let report = |(record, settled)| MessageReport::new(record, settled, began);
        let messages = records.iter().zip(settled).map(report).collect();
        let told = self.hooks.told(messages, until.into_std()).into_iter().map(|told| async move {
            if let Err(problem) = self.host.run(told, until).await {
                warn!("a hook {problem}");
            }
        });
        join_all(told).await;
    }
}
