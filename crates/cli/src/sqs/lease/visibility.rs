//! Changes the visibility timeouts of many letters, ten per call.

use std::collections::BTreeSet;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::ChangeMessageVisibilityBatchRequestEntry;
use futures_util::stream::{self, StreamExt};
use redrive_sqs::{MAX_ENTRIES, has_lease_ended};

use super::leased_letters::Change;
use crate::aws::{DescribeError, answered_of};

const CALLS_AT_ONCE: usize = 8;

/// Result of a change.
#[derive(Debug, Default)]
pub(super) struct Changed {
    /// Keys of the letters with the new timeout.
    pub(super) keys: BTreeSet<usize>,
    /// Number of letters that still have the old one.
    pub(super) refused: usize,
    /// Reason for the first of them.
    pub(super) reason: Option<String>,
}

/// Changes the visibility timeouts of letters. One that is gone or visible already does not count as refused: there is
/// nothing left to change.
pub(super) async fn change(sqs: &Client, url: &str, letters: &[Change]) -> Changed {
    let calls: Vec<_> = letters.chunks(MAX_ENTRIES).map(|batch| change_batch(sqs, url, batch)).collect();
    let mut all = Changed::default();
    let mut changed = stream::iter(calls).buffer_unordered(CALLS_AT_ONCE);
    while let Some(changed) = changed.next().await {
        all.keys.extend(changed.keys);
        all.refused += changed.refused;
        all.reason = all.reason.or(changed.reason);
    }
    all
}

async fn change_batch(sqs: &Client, url: &str, batch: &[Change]) -> Changed {
    let entries = batch.iter().map(|(key, handle, seconds)| {
        ChangeMessageVisibilityBatchRequestEntry::builder()
            .id(key.to_string())
            .receipt_handle(&**handle)
            .visibility_timeout(i32::try_from(*seconds).unwrap_or(i32::MAX))
            .build()
            .expect("an id and a handle are all that is needed")
    });
    let sent = sqs
        .change_message_visibility_batch()
        .queue_url(url)
        .set_entries(Some(entries.collect()))
        .send()
        .await;
    let answer = match sent.describe_error("change the visibility of letters", "sqs:ChangeMessageVisibility")
    {
        Ok(answer) => answer,
        Err(error) => {
            return Changed { refused: batch.len(), reason: Some(error.to_string()), ..Changed::default() };
        }
    };
    let refused = answer.failed().iter().filter(|entry| !has_lease_ended(entry.code(), entry.message()));
    let reason = refused.clone().next().map(|entry| answered_of(entry, "sqs:ChangeMessageVisibility"));
    let keys = answer.successful().iter().filter_map(|entry| entry.id().parse().ok());
    Changed { keys: keys.collect(), refused: refused.count(), reason }
}
