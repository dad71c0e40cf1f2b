//! Letters and changes as the entries of calls.

use std::time::Duration;

use aws_sdk_sqs::primitives::Blob;
use aws_sdk_sqs::types::{
    ChangeMessageVisibilityBatchRequestEntry, DeleteMessageBatchRequestEntry, MessageAttributeValue,
    MessageSystemAttributeNameForSends, MessageSystemAttributeValue, SendMessageBatchRequestEntry,
};
use redrive_sqs::{DeadLetter, MAX_BYTES, MAX_ENTRIES, size};

use super::Letter;

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
pub(super) fn by_size<'a>(letters: &'a [Letter<'a>]) -> Vec<&'a [Letter<'a>]> {
    let mut chunks = Vec::new();
    let (mut start, mut bytes) = (0, 0);
    for (at, letter) in letters.iter().enumerate() {
        let size = size(letter.record.body(), &letter.attributes);
        if at > start && (at - start == MAX_ENTRIES || bytes + size > MAX_BYTES) {
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

pub(super) fn letter_entry(letter: &Letter<'_>, fifo: bool) -> SendMessageBatchRequestEntry {
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
