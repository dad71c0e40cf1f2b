//! Actions to settled: the calls to SQS, ten messages each, side by side, and never past the deadline.

use std::collections::{BTreeMap, HashSet};
use std::future::Future;
use std::time::Duration;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::config::retry::RetryConfig;
use aws_sdk_sqs::error::{DisplayErrorContext, SdkError};
use aws_sdk_sqs::operation::change_message_visibility_batch::ChangeMessageVisibilityBatchError;
use aws_sdk_sqs::operation::send_message_batch::SendMessageBatchError;
use aws_sdk_sqs::primitives::Blob;
use aws_sdk_sqs::types::{
    BatchResultErrorEntry, ChangeMessageVisibilityBatchRequestEntry, MessageAttributeValue,
    MessageSystemAttributeNameForSends, MessageSystemAttributeValue, SendMessageBatchRequestEntry,
};
use futures_util::{StreamExt, stream};
use tokio::time::{Instant, sleep_until, timeout};
use tracing::warn;

use crate::attribute::Attributes;
use crate::dead_letter::{DeadLetter, MAX_BYTES, size};
use crate::queue::{is_fifo, queue_url};
use crate::record::Record;

/// What a batch call takes.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_ChangeMessageVisibilityBatch.html>
const ENTRIES: usize = 10;
const IN_FLIGHT: usize = 16;
const TRIES: usize = 2;
const CALL: Duration = Duration::from_secs(2);
/// What a call is begun for.
const SHORTEST: Duration = Duration::from_millis(20);
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
        send(entries, until, "SendMessageBatch", without_note, move |entries| async move {
            let call = sqs.send_message_batch().queue_url(url).set_entries(Some(entries)).customize();
            let output = call.config_override(once()).send().await?;
            let confirmed = output.successful.into_iter().map(|entry| entry.id).collect();
            Ok::<_, SdkError<SendMessageBatchError>>(Answer { confirmed, failed: output.failed })
        })
    });
    let calls: Vec<_> = calls.collect();
    stream::iter(calls).buffered(if fifo { 1 } else { IN_FLIGHT }).concat().await
}

/// Sets visibility timeouts and says which of them SQS has accepted.
pub(crate) async fn change_visibility(sqs: &Client, changes: &[Change<'_>], until: Instant) -> Vec<usize> {
    let mut queues: BTreeMap<&str, Vec<_>> = BTreeMap::new();
    // A record without a receipt handle could have the whole call refused.
    for change in changes.iter().filter(|change| !change.record.receipt_handle().is_empty()) {
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
            calls.push(send(
                chunk.to_vec(),
                until,
                "ChangeMessageVisibilityBatch",
                |_| None,
                move |entries| {
                    let call = call.clone().set_entries(Some(entries)).customize().config_override(once());
                    async move {
                        let output = call.send().await?;
                        let confirmed = output.successful.into_iter().map(|entry| entry.id).collect();
                        Ok::<_, SdkError<ChangeMessageVisibilityBatchError>>(Answer {
                            confirmed,
                            failed: output.failed,
                        })
                    }
                },
            ));
        }
    }
    stream::iter(calls).buffer_unordered(IN_FLIGHT).concat().await
}

/// What SQS said of the entries of one call.
struct Answer {
    confirmed: HashSet<String>,
    failed: Vec<BatchResultErrorEntry>,
}

/// Sends one batch, and once more what was not confirmed: unless it was refused through a fault of ours that `mend`
/// cannot mend. Hands back the indices that SQS confirmed; what it does not mention is not.
async fn send<T, E, R>(
    mut entries: Vec<T>,
    until: Instant,
    operation: &'static str,
    mend: impl Fn(T) -> Option<T>,
    call: impl Fn(Vec<T>) -> R,
) -> Vec<usize>
where
    T: Entry + Clone,
    E: std::error::Error,
    R: Future<Output = Result<Answer, E>>,
{
    let mut confirmed = Vec::with_capacity(entries.len());
    for attempt in 1..=TRIES {
        if attempt > 1 {
            sleep_until(until.min(Instant::now() + PAUSE)).await;
        }
        let patience = CALL.min(until.saturating_duration_since(Instant::now()).mul_f64(0.8));
        // A call that nobody waits for could still be carried out.
        if patience < SHORTEST {
            break;
        }
        let answer = match timeout(patience, call(entries.clone())).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(error)) => {
                warn!(operation, attempt, entries = entries.len(), error = %DisplayErrorContext(&error), "call failed");
                continue;
            }
            Err(_elapsed) => {
                warn!(operation, attempt, entries = entries.len(), ?patience, "call timed out");
                continue;
            }
        };
        for entry in &answer.failed {
            warn!(operation, attempt, code = entry.code(), message = entry.message(), "entry refused");
        }
        let (done, left): (Vec<_>, Vec<_>) =
            entries.into_iter().partition(|entry| answer.confirmed.contains(entry.id()));
        confirmed.extend(done.iter().filter_map(|entry| entry.id().parse::<usize>().ok()));
        let is_ours =
            |id: &str| answer.failed.iter().any(|failed| failed.id() == id && failed.sender_fault());
        entries = left
            .into_iter()
            .filter_map(|entry| if is_ours(entry.id()) { mend(entry) } else { Some(entry) })
            .collect();
        if entries.is_empty() {
            break;
        }
    }
    confirmed
}

/// An entry of a batch call; its id is the index of its record.
trait Entry {
    fn id(&self) -> &str;
}

impl Entry for SendMessageBatchRequestEntry {
    fn id(&self) -> &str {
        &self.id
    }
}

impl Entry for ChangeMessageVisibilityBatchRequestEntry {
    fn id(&self) -> &str {
        &self.id
    }
}

/// A dead-letter queue may take less than 1 MiB, and then the note is what is too much.
fn without_note(mut letter: SendMessageBatchRequestEntry) -> Option<SendMessageBatchRequestEntry> {
    letter.message_attributes.as_mut()?.remove(DeadLetter::ATTRIBUTE)?;
    Some(letter)
}

/// The second try is ours, since the SDK's waits too long before it and repeats whole batches.
fn once() -> aws_sdk_sqs::config::Builder {
    aws_sdk_sqs::Config::builder().retry_config(RetryConfig::disabled())
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
