//! Makes the calls to SQS: ten messages each, several calls at a time, never past the deadline.

mod call;
mod entry;

use std::collections::BTreeMap;
use std::time::Duration;

use aws_sdk_sqs::types::ChangeMessageVisibilityBatchRequestEntry;
use futures_util::{StreamExt, stream};
use redrive_sqs::{Attributes, MAX_ENTRIES, QueueArn, is_fifo};
use tokio::time::Instant;
use tracing::warn;

use self::call::{Answer, CallKind, Order, send};
use self::entry::{by_size, change_entry, delete_entry, letter_entry};
use crate::aws::Sqs;
use crate::record::Record;

const IN_FLIGHT: usize = 16;

/// A message that goes to the dead-letter queue.
#[derive(Debug)]
pub(crate) struct Letter<'a> {
    pub(crate) index: usize,
    pub(crate) record: &'a Record<'a>,
    /// The message's own attributes, and the note.
    pub(crate) attributes: Attributes,
}

/// A message that comes back.
#[derive(Debug)]
pub(crate) struct Change<'a> {
    pub(crate) index: usize,
    pub(crate) record: &'a Record<'a>,
    pub(crate) after: Duration,
}

/// Writes letters, in order on a FIFO queue, and returns the indices that SQS has confirmed.
pub(crate) async fn write_letters(
    sqs: &Sqs,
    url: &str,
    letters: &[Letter<'_>],
    until: Instant,
) -> Vec<usize> {
    let fifo = is_fifo(url);
    let order = if fifo { Order::Kept } else { Order::Free };
    let kind = CallKind { operation: "SendMessageBatch", endpoint: &sqs.endpoint, until, order };
    let calls = by_size(letters).into_iter().map(|chunk| {
        let entries = chunk.iter().map(|letter| letter_entry(letter, fifo)).collect();
        send(entries, kind, move |entries| async move {
            let call = sqs.client.send_message_batch().queue_url(url).set_entries(Some(entries));
            let output = call.send().await?;
            let confirmed = output.successful.into_iter().map(|entry| entry.id).collect();
            Ok(Answer { confirmed, failed: output.failed })
        })
    });
    let calls: Vec<_> = calls.collect();
    stream::iter(calls).buffered(if fifo { 1 } else { IN_FLIGHT }).concat().await
}

/// Sets visibility timeouts and returns the indices that SQS has confirmed.
pub(crate) async fn change_visibility(sqs: &Sqs, changes: &[Change<'_>], until: Instant) -> Vec<usize> {
    let mut queues: BTreeMap<&str, Vec<_>> = BTreeMap::new();
    // A record without a receipt handle could get the whole call refused.
    for change in changes.iter().filter(|change| !change.record.receipt_handle().is_empty()) {
        let entry = change_entry(change.index, change.record.receipt_handle(), change.after);
        queues.entry(change.record.source()).or_default().push(entry);
    }
    let mut calls = Vec::new();
    for (arn, entries) in queues {
        let Some(url) = QueueArn::parse(arn).map(|arn| arn.url()) else {
            warn!(arn, "not the ARN of a queue, so visibility timeouts are not changed");
            continue;
        };
        for chunk in entries.chunks(MAX_ENTRIES) {
            calls.push(change(sqs, url.clone(), chunk.to_vec(), until));
        }
    }
    stream::iter(calls).buffer_unordered(IN_FLIGHT).concat().await
}

/// Sets the visibility timeouts of up to ten messages of one queue, each with an index and a receipt handle.
pub(crate) async fn change_in_queue(
    sqs: &Sqs,
    url: &str,
    changes: &[(usize, &str, Duration)],
    until: Instant,
) -> Vec<usize> {
    let entries = changes.iter().map(|&(index, handle, after)| change_entry(index, handle, after));
    change(sqs, url.to_owned(), entries.collect(), until).await
}

async fn change(
    sqs: &Sqs,
    url: String,
    entries: Vec<ChangeMessageVisibilityBatchRequestEntry>,
    until: Instant,
) -> Vec<usize> {
    let operation = "ChangeMessageVisibilityBatch";
    let kind = CallKind { operation, endpoint: &sqs.endpoint, until, order: Order::Free };
    let call = sqs.client.change_message_visibility_batch().queue_url(url);
    send(entries, kind, move |entries| {
        let call = call.clone().set_entries(Some(entries));
        async move {
            let output = call.send().await?;
            let confirmed = output.successful.into_iter().map(|entry| entry.id).collect();
            Ok(Answer { confirmed, failed: output.failed })
        }
    })
    .await
}

/// Deletes up to ten messages of one queue, each with an index and a receipt handle, and returns the indices that SQS has
/// confirmed.
pub(crate) async fn delete(sqs: &Sqs, url: &str, messages: &[(usize, &str)], until: Instant) -> Vec<usize> {
    let entries = messages.iter().map(|&(index, handle)| delete_entry(index, handle)).collect();
    let operation = "DeleteMessageBatch";
    let kind = CallKind { operation, endpoint: &sqs.endpoint, until, order: Order::Free };
    let call = sqs.client.delete_message_batch().queue_url(url);
    send(entries, kind, move |entries| {
        let call = call.clone().set_entries(Some(entries));
        async move {
            let output = call.send().await?;
            let confirmed = output.successful.into_iter().map(|entry| entry.id).collect();
            Ok(Answer { confirmed, failed: output.failed })
        }
    })
    .await
}
