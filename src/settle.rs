//! Makes the calls to SQS that the engine asks for, never past their time.
#![expect(clippy::disallowed_methods, reason = "impure: it reads the clock")]

mod call;

use std::time::{Duration, SystemTime};

use aws_sdk_sqs::primitives::Blob;
use aws_sdk_sqs::types::{
    ChangeMessageVisibilityBatchRequestEntry, DeleteMessageBatchRequestEntry, MessageAttributeValue,
    MessageSystemAttributeNameForSends, MessageSystemAttributeValue, SendMessageBatchRequestEntry,
};
use futures_util::{StreamExt, stream};
use redrive_sqs::{MAX_BYTES, MAX_ENTRIES, is_fifo, size};
use tokio::time::Instant;
use tracing::{Span, warn};

use self::call::{Answer, CallKind, Order, Ruled, send};
use crate::Invocation;
use crate::aws::Sqs;
use crate::engine::keys::MessageKey;
use crate::engine::{Call, Kind, Settled};
use crate::letter;
use crate::record::Record;

const IN_FLIGHT: usize = 16;

/// Sends entries by an operation of the SDK. The operations have different types with the same methods.
macro_rules! send_by {
    ($call:expr, $entries:expr, $kind:expr) => {
        send($entries, $kind, |entries| {
            let call = $call.clone().set_entries(Some(entries));
            async move {
                let output = call.send().await?;
                let confirmed = output.successful.into_iter().map(|entry| entry.id).collect();
                Ok(Answer { confirmed, failed: output.failed })
            }
        })
    };
}

/// A message that gets a letter.
pub(crate) struct Failed<'r> {
    pub(crate) record: &'r Record<'r>,
    pub(crate) settled: &'r Settled,
    pub(crate) invocation: &'r Invocation,
    /// Of its batch.
    pub(crate) span: &'r Span,
}

/// The entries of a call. The id of each is the place of its message in the call.
pub(crate) enum Entries {
    /// Each with its size in bytes.
    Letters(Vec<(SendMessageBatchRequestEntry, usize)>),
    Deletes(Vec<DeleteMessageBatchRequestEntry>),
    Changes(Vec<ChangeMessageVisibilityBatchRequestEntry>),
}

impl Entries {
    /// Letters go to a dead-letter queue of this URL.
    pub(crate) fn new<'r>(
        call: &Call,
        dead: &str,
        receipt_handle: impl Fn(MessageKey) -> Option<&'r str>,
        message: impl Fn(MessageKey) -> Option<Failed<'r>>,
    ) -> Self {
        let messages = call.messages.iter().enumerate();
        // A record without a receipt handle could get the whole call refused.
        let handles = messages.clone().filter_map(|(index, &(key, after))| {
            let handle = receipt_handle(key).filter(|handle| !handle.is_empty());
            Some((index, handle?, after))
        });
        match call.kind {
            Kind::Letters => {
                let (fifo, now) = (is_fifo(dead), SystemTime::now());
                let letter = |(index, &(key, _))| letter_entry(index, message(key)?, fifo, now);
                Self::Letters(messages.filter_map(letter).collect())
            }
            Kind::Deletes => {
                Self::Deletes(handles.map(|(index, handle, _)| delete_entry(index, handle)).collect())
            }
            Kind::Changes => Self::Changes(
                handles.map(|(index, handle, after)| change_entry(index, handle, after)).collect(),
            ),
        }
    }

    /// Calls SQS about messages of this queue, or for letters to the other, and returns what it has said of which.
    pub(crate) async fn send(self, sqs: &Sqs, queue: &str, dead: &str, until: Instant) -> Vec<Ruled> {
        let (client, endpoint) = (&sqs.client, &sqs.endpoint);
        let kind = |operation, order| CallKind { operation, endpoint, until, order };
        match self {
            Self::Letters(letters) => {
                // In order on a FIFO queue.
                let (order, at_a_time) =
                    if is_fifo(dead) { (Order::Kept, 1) } else { (Order::Free, IN_FLIGHT) };
                let call = client.send_message_batch().queue_url(dead);
                let kind = kind("SendMessageBatch", order);
                let calls = by_size(letters).into_iter().map(|entries| send_by!(call, entries, kind));
                let calls: Vec<_> = calls.collect();
                stream::iter(calls).buffered(at_a_time).concat().await
            }
            Self::Deletes(entries) => {
                let call = client.delete_message_batch().queue_url(queue);
                send_by!(call, entries, kind("DeleteMessageBatch", Order::Free)).await
            }
            Self::Changes(entries) => {
                let call = client.change_message_visibility_batch().queue_url(queue);
                send_by!(call, entries, kind("ChangeMessageVisibilityBatch", Order::Free)).await
            }
        }
    }
}

/// At most ten letters and 1 MiB a call.
fn by_size(letters: Vec<(SendMessageBatchRequestEntry, usize)>) -> Vec<Vec<SendMessageBatchRequestEntry>> {
    let mut calls: Vec<Vec<_>> = Vec::new();
    let mut bytes = 0;
    for (letter, size) in letters {
        match calls.last_mut() {
            Some(call) if call.len() < MAX_ENTRIES && bytes + size <= MAX_BYTES => {
                bytes += size;
                call.push(letter);
            }
            _ => {
                bytes = size;
                calls.push(vec![letter]);
            }
        }
    }
    calls
}

/// The letter of a message that is to be dead-lettered, and its size.
fn letter_entry(
    index: usize,
    Failed { record, settled, invocation, span }: Failed<'_>,
    fifo: bool,
    failed_at: SystemTime,
) -> Option<(SendMessageBatchRequestEntry, usize)> {
    let (attributes, has_note) = letter::attributes(record, settled, invocation, failed_at)?;
    if !has_note {
        warn!(
            parent: span,
            message_id = record.id(),
            "the message has no room for the note, so its dead letter is sent without one"
        );
    }
    let size = size(record.body(), &attributes);
    let mut entry = SendMessageBatchRequestEntry::builder()
        .id(index.to_string())
        .message_body(record.body())
        .set_message_group_id(record.group().map(str::to_owned))
        .set_message_deduplication_id(fifo.then(|| record.id().to_owned()));
    for (name, attribute) in &attributes {
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
    Some((entry.build().expect("id and body are set"), size))
}

fn change_entry(
    index: usize,
    receipt_handle: &str,
    after: Duration,
) -> ChangeMessageVisibilityBatchRequestEntry {
    let seconds = i32::try_from(after.as_secs()).expect("a delay is at most 12 hours");
    ChangeMessageVisibilityBatchRequestEntry::builder()
        .id(index.to_string())
        .receipt_handle(receipt_handle)
        .visibility_timeout(seconds)
        .build()
        .expect("id and receipt handle are set")
}

fn delete_entry(index: usize, receipt_handle: &str) -> DeleteMessageBatchRequestEntry {
    let entry =
        DeleteMessageBatchRequestEntry::builder().id(index.to_string()).receipt_handle(receipt_handle);
    entry.build().expect("id and receipt handle are set")
}
