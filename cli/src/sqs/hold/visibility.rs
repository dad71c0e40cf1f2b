//! Changing the visibility of many letters, ten to a call.

use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::ChangeMessageVisibilityBatchRequestEntry;
use futures_util::stream::{self, StreamExt};
use redrive_sqs::{MAX_ENTRIES, has_lease_ended};

use crate::aws::{DescribeError, answered_of};

const CALLS_AT_ONCE: usize = 8;

/// What became of it.
#[derive(Debug, Default)]
pub(super) struct Changed {
    /// The letters that have the new timeout.
    pub(super) ids: Vec<String>,
    /// How many have the old one still.
    pub(super) refused: usize,
    /// Why, for the first of them.
    pub(super) reason: Option<String>,
}

/// Gives letters (id and handle) a visibility timeout. One that is gone or visible already is not refused: there is
/// nothing left to change.
pub(super) async fn change(sqs: &Client, url: &str, letters: Vec<(String, String)>, timeout: i32) -> Changed {
    let mut letters = letters.into_iter().peekable();
    let mut calls = Vec::new();
    while letters.peek().is_some() {
        calls.push(change_batch(
            sqs.clone(),
            url.to_owned(),
            letters.by_ref().take(MAX_ENTRIES).collect(),
            timeout,
        ));
    }
    let mut all = Changed::default();
    let mut changed = stream::iter(calls).buffer_unordered(CALLS_AT_ONCE);
    while let Some(changed) = changed.next().await {
        all.ids.extend(changed.ids);
        all.refused += changed.refused;
        all.reason = all.reason.or(changed.reason);
    }
    all
}

async fn change_batch(sqs: Client, url: String, batch: Vec<(String, String)>, timeout: i32) -> Changed {
    let entries = batch.iter().enumerate().map(|(index, (_, handle))| {
        ChangeMessageVisibilityBatchRequestEntry::builder()
            .id(index.to_string())
            .receipt_handle(handle)
            .visibility_timeout(timeout)
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
            return Changed { ids: vec![], refused: batch.len(), reason: Some(error.to_string()) };
        }
    };
    let refused = answer.failed().iter().filter(|entry| !has_lease_ended(entry.code(), entry.message()));
    let reason = refused.clone().next().map(|entry| answered_of(entry, "sqs:ChangeMessageVisibility"));
    let ids = answer.successful().iter().filter_map(|entry| {
        let index: usize = entry.id().parse().ok()?;
        Some(batch.get(index)?.0.clone())
    });
    Changed { ids: ids.collect(), refused: refused.count(), reason }
}
