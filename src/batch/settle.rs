//! Actions to settled: the calls to SQS, ten messages each, side by side, and never past the deadline.

use std::collections::BTreeMap;
use std::future::Future;
use std::time::Duration;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::config::retry::RetryConfig;
use aws_sdk_sqs::error::DisplayErrorContext;
use aws_sdk_sqs::primitives::Blob;
use aws_sdk_sqs::types::{
    BatchResultErrorEntry, ChangeMessageVisibilityBatchRequestEntry, MessageAttributeValue,
    MessageSystemAttributeNameForSends, MessageSystemAttributeValue, SendMessageBatchRequestEntry,
};
use futures_util::{StreamExt, stream};
use tokio::time::{Instant, sleep_until, timeout};
use tracing::warn;

use crate::attribute::Attributes;
use crate::dead_letter::{MAX_BYTES, size};
use crate::message::Record;
use crate::queue::{is_fifo, queue_url};

/// What a batch call takes.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_ChangeMessageVisibilityBatch.html>
const ENTRIES: usize = 10;
const IN_FLIGHT: usize = 16;
const TRIES: usize = 2;
const CALL: Duration = Duration::from_secs(2);
/// Before the second try.
const PAUSE: Duration = Duration::from_millis(50);

/// A message on its way to the dead-letter queue.
#[derive(Debug)]
pub(crate) struct Letter<'a> {
    pub(crate) index: usize,
    pub(crate) record: &'a Record<'a>,
    /// The message's own, and the note.
    pub(crate) attributes: Attributes,
}

/// A message on its way back.
#[derive(Debug)]
pub(crate) struct Change<'a> {
    pub(crate) index: usize,
    pub(crate) record: &'a Record<'a>,
    pub(crate) after: Duration,
}

/// Writes letters and says which of them SQS has confirmed. Letters of a FIFO queue go in order.
pub(crate) async fn write_letters(
    sqs: &Client,
    url: &str,
    letters: &[Letter<'_>],
    until: Instant,
) -> Vec<usize> {
    let fifo = is_fifo(url);
    let calls = by_size(letters).into_iter().map(|chunk| {
        let entries = chunk.iter().map(|letter| letter_entry(letter, fifo)).collect();
        send(
            entries,
            until,
            "SendMessageBatch",
            SendMessageBatchRequestEntry::id,
            move |entries| async move {
                let call = sqs.send_message_batch().queue_url(url).set_entries(Some(entries)).customize();
                call.config_override(once()).send().await.map(|output| output.failed)
            },
        )
    });
    let calls: Vec<_> = calls.collect();
    stream::iter(calls).buffered(if fifo { 1 } else { IN_FLIGHT }).concat().await
}

/// Sets visibility timeouts and says which of them SQS has accepted.
pub(crate) async fn change_visibility(sqs: &Client, changes: &[Change<'_>], until: Instant) -> Vec<usize> {
    let mut queues: BTreeMap<&str, Vec<_>> = BTreeMap::new();
    for change in changes {
        queues.entry(change.record.source()).or_default().push(change_entry(change));
    }
    let mut calls = Vec::new();
    for (arn, entries) in queues {
        let Some(url) = queue_url(arn) else {
            warn!(arn, "not the ARN of a queue: visibility timeouts stay as they are");
            continue;
        };
        for chunk in entries.chunks(ENTRIES) {
            let call = sqs.change_message_visibility_batch().queue_url(&url);
            let id = ChangeMessageVisibilityBatchRequestEntry::id;
            calls.push(send(chunk.to_vec(), until, "ChangeMessageVisibilityBatch", id, move |entries| {
                let call = call.clone().set_entries(Some(entries)).customize().config_override(once());
                async move { call.send().await.map(|output| output.failed) }
            }));
        }
    }
    stream::iter(calls).buffer_unordered(IN_FLIGHT).concat().await
}

/// Sends one batch and once more what failed through no fault of ours; hands back the indices that were accepted.
async fn send<T, E, R>(
    mut entries: Vec<T>,
    until: Instant,
    operation: &'static str,
    id: impl Fn(&T) -> &str,
    call: impl Fn(Vec<T>) -> R,
) -> Vec<usize>
where
    T: Clone,
    E: std::error::Error,
    R: Future<Output = Result<Vec<BatchResultErrorEntry>, E>>,
{
    let mut accepted = Vec::with_capacity(entries.len());
    for attempt in 1..=TRIES {
        if attempt > 1 {
            sleep_until(until.min(Instant::now() + PAUSE)).await;
        }
        let patience = CALL.min(until.saturating_duration_since(Instant::now()).mul_f64(0.8));
        let failed = match timeout(patience, call(entries.clone())).await {
            Ok(Ok(failed)) => failed,
            Ok(Err(error)) => {
                warn!(operation, attempt, entries = entries.len(), error = %DisplayErrorContext(&error), "call failed");
                continue;
            }
            Err(_elapsed) => {
                warn!(operation, attempt, entries = entries.len(), ?patience, "call timed out");
                continue;
            }
        };
        for entry in &failed {
            warn!(operation, attempt, code = entry.code(), message = entry.message(), "entry refused");
        }
        let refused: BTreeMap<&str, bool> =
            failed.iter().map(|entry| (entry.id(), entry.sender_fault())).collect();
        accepted.extend(entries.iter().map(&id).filter(|id| !refused.contains_key(id)).filter_map(index_of));
        entries.retain(|entry| refused.get(id(entry)) == Some(&false));
        if entries.is_empty() {
            break;
        }
    }
    accepted
}

/// The second try is ours, since the SDK's waits too long before it and repeats whole batches.
fn once() -> aws_sdk_sqs::config::Builder {
    aws_sdk_sqs::Config::builder().retry_config(RetryConfig::disabled())
}

fn index_of(id: &str) -> Option<usize> {
    id.parse().ok()
}

/// At most ten letters and 1 MiB a call.
fn by_size<'a>(letters: &'a [Letter<'a>]) -> Vec<&'a [Letter<'a>]> {
    let mut chunks = Vec::new();
    let (mut start, mut bytes) = (0, 0);
    for (at, letter) in letters.iter().enumerate() {
        let size = size(letter.record.body(), &letter.attributes);
        if at > start && (at - start == ENTRIES || bytes + size > MAX_BYTES) {
            chunks.push(&letters[start..at]);
            (start, bytes) = (at, 0);
        }
        bytes += size;
    }
    if start < letters.len() {
        chunks.push(&letters[start..]);
    }
    chunks
}

fn letter_entry(letter: &Letter<'_>, fifo: bool) -> SendMessageBatchRequestEntry {
    let record = letter.record;
    let mut entry = SendMessageBatchRequestEntry::builder()
        .id(letter.index.to_string())
        .message_body(record.body())
        .set_message_group_id(record.group().map(str::to_owned))
        .set_message_deduplication_id(fifo.then(|| record.id().to_owned()));
    for (name, attribute) in &letter.attributes {
        let value = MessageAttributeValue::builder().data_type(attribute.data_type());
        let value = match attribute.as_str() {
            Some(text) => value.string_value(text),
            None => value.binary_value(Blob::new(attribute.as_bytes())),
        };
        entry = entry.message_attributes(name, value.build().expect("the data type is set"));
    }
    if let Some(header) = record.trace_header() {
        let value = MessageSystemAttributeValue::builder().data_type("String").string_value(header).build();
        let name = MessageSystemAttributeNameForSends::AwsTraceHeader;
        entry = entry.message_system_attributes(name, value.expect("the data type is set"));
    }
    entry.build().expect("id and body are set")
}

fn change_entry(change: &Change<'_>) -> ChangeMessageVisibilityBatchRequestEntry {
    let seconds = i32::try_from(change.after.as_secs()).expect("a delay is at most 12 hours");
    ChangeMessageVisibilityBatchRequestEntry::builder()
        .id(change.index.to_string())
        .receipt_handle(change.record.receipt_handle())
        .visibility_timeout(seconds)
        .build()
        .expect("id and receipt handle are set")
}
