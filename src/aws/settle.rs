//! The entries of the calls to SQS that the engine requests.

mod call;
mod entry;

use std::time::{Duration, SystemTime};

use aws_sdk_sqs::primitives::Blob;
use aws_sdk_sqs::types::{
    ChangeMessageVisibilityBatchRequestEntry, DeleteMessageBatchRequestEntry, MessageAttributeValue,
    MessageSystemAttributeNameForSends, MessageSystemAttributeValue, SendMessageBatchRequestEntry,
};
use redrive_sqs::{MAX_BYTES, MAX_ENTRIES, is_fifo, size};

use crate::aws::letter;
use crate::message::invocation::Invocation;
use crate::message::record::Record;
use redrive_engine::keys::MessageKey;
use redrive_engine::{Call, SettleCall, Settlement};

/// A message that gets a letter.
pub(crate) struct Failed<'r> {
    pub(crate) record: &'r Record<'r>,
    pub(crate) settled: &'r Settlement,
    pub(crate) invocation: &'r Invocation,
}

/// The entries of a call. The id of each is the place of its message in the call.
pub(crate) enum Entries {
    /// Letters with their sizes in bytes.
    Letters(Vec<(SendMessageBatchRequestEntry, usize)>),
    Deletes(Vec<DeleteMessageBatchRequestEntry>),
    Changes(Vec<ChangeMessageVisibilityBatchRequestEntry>),
}

impl Entries {
    /// Creates the entries of a call. Letters go to the dead-letter queue with the URL `dead`. Also returns the messages that
    /// have no room for the note of a letter.
    pub(crate) fn new<'r>(
        call: &Call,
        dead: &str,
        now: SystemTime,
        receipt_handle: impl Fn(MessageKey) -> Option<&'r str>,
        message: impl Fn(MessageKey) -> Option<Failed<'r>>,
    ) -> (Self, Vec<MessageKey>) {
        let mut without_note = Vec::new();
        let messages = call.messages.iter().enumerate();
        // A record without a receipt handle could get the whole call refused.
        let handles = messages.clone().filter_map(|(index, &(key, after))| {
            let handle = receipt_handle(key).filter(|handle| !handle.is_empty());
            Some((index, handle?, after))
        });
        let entries = match call.kind {
            SettleCall::DeadLetter => {
                let fifo = is_fifo(dead);
                let letter = |(index, &(key, _))| {
                    let (entry, size, has_note) = letter_entry(index, message(key)?, fifo, now)?;
                    without_note.extend((!has_note).then_some(key));
                    Some((entry, size))
                };
                Self::Letters(messages.filter_map(letter).collect())
            }
            SettleCall::Delete => {
                Self::Deletes(handles.map(|(index, handle, _)| delete_entry(index, handle)).collect())
            }
            SettleCall::ChangeVisibility => Self::Changes(
                handles.map(|(index, handle, after)| change_entry(index, handle, after)).collect(),
            ),
        };
        (entries, without_note)
    }
}

/// Splits letters into calls of at most ten letters and 1 MiB.
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

/// Returns the letter of a message that is to be dead-lettered, its size in bytes, and true if it has a note.
fn letter_entry(
    index: usize,
    Failed { record, settled, invocation }: Failed<'_>,
    fifo: bool,
    failed_at: SystemTime,
) -> Option<(SendMessageBatchRequestEntry, usize, bool)> {
    let (attributes, has_note) = letter::attributes(record, settled, invocation, failed_at)?;
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
    Some((entry.build().expect("id and body are set"), size, has_note))
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
