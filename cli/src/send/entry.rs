//! A message as SQS takes it in a batch.

use std::time::{SystemTime, UNIX_EPOCH};

use aws_sdk_sqs::primitives::Blob;
use aws_sdk_sqs::types::{
    MessageAttributeValue, MessageSystemAttributeNameForSends, MessageSystemAttributeValue,
    SendMessageBatchRequestEntry,
};
use redrive_local::{AttributeValue, MessageAttribute, NewMessage};

/// What deduplication ids begin with, so that two runs have none in common.
pub(super) fn run_id() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("redrive-{:x}-{:x}", now.as_nanos(), std::process::id())
}

/// What counts against the limit: the body, and names, types and values of attributes.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html>
pub(super) fn size(message: &NewMessage) -> usize {
    let attributes = message.attributes.iter().map(|(name, attribute)| {
        let value = match &attribute.value {
            AttributeValue::Text(text) => text.len(),
            AttributeValue::Binary(bytes) => bytes.len(),
        };
        name.len() + attribute.data_type.len() + value
    });
    message.body.len() + attributes.sum::<usize>()
}

/// `index` is its place in the batch.
pub(super) fn entry(index: usize, message: &NewMessage) -> SendMessageBatchRequestEntry {
    let mut entry = SendMessageBatchRequestEntry::builder()
        .id(index.to_string())
        .message_body(&message.body)
        .set_message_group_id(message.group_id.clone())
        .set_message_deduplication_id(message.deduplication_id.clone());
    if let Some(delay) = message.delay.filter(|delay| !delay.is_zero()) {
        entry = entry.delay_seconds(i32::try_from(delay.as_secs()).unwrap_or(i32::MAX));
    }
    for (name, value) in &message.attributes {
        entry = entry.message_attributes(name, attribute(value));
    }
    if let Some(header) = &message.trace_header {
        let value = MessageSystemAttributeValue::builder().data_type("String").string_value(header);
        entry = entry.message_system_attributes(
            MessageSystemAttributeNameForSends::AwsTraceHeader,
            value.build().expect("the type is given"),
        );
    }
    entry.build().expect("id and body are given")
}

fn attribute(attribute: &MessageAttribute) -> MessageAttributeValue {
    let value = MessageAttributeValue::builder().data_type(&attribute.data_type);
    let value = match &attribute.value {
        AttributeValue::Text(text) => value.string_value(text),
        AttributeValue::Binary(bytes) => value.binary_value(Blob::new(bytes.clone())),
    };
    value.build().expect("the type is given")
}
