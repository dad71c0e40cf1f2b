//! Letters and changes as the entries of calls.

use std::time::{Duration, SystemTime};

use aws_sdk_sqs::primitives::Blob;
use aws_sdk_sqs::types::{
    ChangeMessageVisibilityBatchRequestEntry, DeleteMessageBatchRequestEntry, MessageAttributeValue,
    MessageSystemAttributeNameForSends, MessageSystemAttributeValue, SendMessageBatchRequestEntry,
};
use redrive_sqs::{DeadLetter, MAX_BYTES, MAX_ENTRIES, size};
use tracing::warn;

use crate::Invocation;
use crate::engine::Settled;
use crate::letter;
use crate::record::Record;

/// An entry of a batch call; its id is the index of its record.
pub(super) trait Entry: Clone {
    fn id(&self) -> &str;

    /// The entry without the part that it was probably refused for, if it can do without.
    fn fallback(self) -> Option<Self>;
}

impl Entry for SendMessageBatchRequestEntry {
    fn id(&self) -> &str {
        &self.id
    }

    /// Without the note, since a dead-letter queue may accept less than 1 MiB.
    fn fallback(mut self) -> Option<Self> {
        self.message_attributes.as_mut()?.remove(DeadLetter::ATTRIBUTE)?;
        Some(self)
    }
}

impl Entry for DeleteMessageBatchRequestEntry {
    fn id(&self) -> &str {
        &self.id
    }

    fn fallback(self) -> Option<Self> {
        None
    }
}

impl Entry for ChangeMessageVisibilityBatchRequestEntry {
    fn id(&self) -> &str {
        &self.id
    }

    fn fallback(self) -> Option<Self> {
        None
    }
}

/// At most ten letters and 1 MiB a call.
pub(super) fn by_size(
    letters: Vec<(SendMessageBatchRequestEntry, usize)>,
) -> Vec<Vec<SendMessageBatchRequestEntry>> {
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
pub(super) fn letter_entry(
    index: usize,
    (record, settled, invocation): (&Record<'_>, &Settled, &Invocation),
    fifo: bool,
    failed_at: SystemTime,
) -> Option<(SendMessageBatchRequestEntry, usize)> {
    let (attributes, has_note) = letter::attributes(record, settled, invocation, failed_at)?;
    if !has_note {
        warn!(
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

pub(super) fn change_entry(
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

pub(super) fn delete_entry(index: usize, receipt_handle: &str) -> DeleteMessageBatchRequestEntry {
    let entry =
        DeleteMessageBatchRequestEntry::builder().id(index.to_string()).receipt_handle(receipt_handle);
    entry.build().expect("id and receipt handle are set")
}
