//! The keeper of all leases.

use std::sync::Arc;
use std::time::Duration;

use tracing::{info, warn};

use super::{Did, Drive};
use crate::worker::calls::{self, Extension};
use crate::worker::hold::{Key, Notice};

impl<H> Drive<'_, H> {
    /// Extends leases that are due, and gives up those that have ended.
    pub(super) fn keep(&mut self, now: Duration) {
        self.worker.vitals.keeper_turned();
        for key in self.leases.expired(now) {
            self.lost(key);
        }
        loop {
            let due = self.leases.due(now);
            if due.is_empty() {
                return;
            }
            let handle = |(key, seconds)| Some((key, Arc::clone(&self.held.get(&key)?.handle), seconds));
            let leases: Vec<_> = due.into_iter().filter_map(handle).collect();
            let (sqs, queue) = (self.worker.sqs, self.worker.queue);
            self.doing.push(Box::pin(async move {
                let result = calls::extend(sqs, queue, &leases).await;
                Did::Extension { asked: now, leases, result }
            }));
        }
    }

    pub(super) fn extended(
        &mut self,
        asked: Duration,
        leases: &[(Key, Arc<str>, u64)],
        result: Result<Vec<(Key, Extension)>, String>,
        now: Duration,
    ) {
        match &result {
            Err(error) if !std::mem::replace(&mut self.is_extension_failing, true) => {
                warn!(error, "leases are not extended; redrive retries until they end");
            }
            Ok(_) if std::mem::take(&mut self.is_extension_failing) => info!("leases are extended again"),
            Ok(_) | Err(_) => {}
        }
        let extensions = result.unwrap_or_default();
        for &(key, _, seconds) in leases {
            let extension = extensions.iter().find(|(known, _)| *known == key);
            match extension.map_or(Extension::Unanswered, |(_, extension)| *extension) {
                Extension::Granted => self.leases.extended(key, asked, seconds),
                Extension::Refused if self.settler.deletes(key) => self.leases.not_extended(key, now),
                Extension::Refused if self.leases.until(key).is_some() => self.lost(key),
                Extension::Refused => {}
                Extension::Unanswered => self.leases.not_extended(key, now),
            }
            self.settler.extended(key, now);
        }
    }

    /// The lease of a message is lost.
    pub(super) fn lost(&mut self, key: Key) {
        self.leases.forget(key);
        self.worker.vitals.lease_lost();
        let Some(held) = self.held.get(&key) else { return };
        let batch = held.batch.and_then(|(number, index)| Some((self.batches.get(&number)?, index)));
        if let Some((batch, index)) = batch {
            let _ = batch.notices.send(Notice::Lost { index });
        } else if !held.is_asked {
            self.gathered.forget(key);
            self.forget(key);
        }
    }
}
