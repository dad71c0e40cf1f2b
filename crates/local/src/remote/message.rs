//! Converts a message of the SDK.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_sdk_sqs::types::{Message, MessageAttributeValue, MessageSystemAttributeName as Name};

use crate::queue::{AttributeValue, MessageAttribute, Received};

/// Returns None without an id or a receipt handle, because such a message cannot be handled.
pub(super) fn received(message: Message) -> Option<Received> {
    let system = message.attributes.unwrap_or_default();
    let text = |name: Name| system.get(&name).cloned();
    let number = |name: Name| system.get(&name)?.parse::<u64>().ok();
    let stamp =
        |name: Name| number(name).map_or(SystemTime::now(), |ms| UNIX_EPOCH + Duration::from_millis(ms));
    let attributes = message.message_attributes.unwrap_or_default().into_iter();
    Some(Received {
        message_id: message.message_id?,
        receipt_handle: message.receipt_handle?,
        body: message.body.unwrap_or_default(),
        md5_of_body: message.md5_of_body.unwrap_or_default(),
        md5_of_attributes: message.md5_of_message_attributes,
        attributes: attributes.filter_map(|(name, value)| Some((name, attribute(value)?))).collect(),
        receive_count: number(Name::ApproximateReceiveCount).map_or(1, |count| count as u32),
        sent_at: stamp(Name::SentTimestamp),
        first_received_at: stamp(Name::ApproximateFirstReceiveTimestamp),
        sender_id: text(Name::SenderId).unwrap_or_default(),
        group_id: text(Name::MessageGroupId),
        deduplication_id: text(Name::MessageDeduplicationId),
        sequence_number: text(Name::SequenceNumber),
        trace_header: text(Name::AwsTraceHeader),
        dead_letter_source: system.get(&Name::from("DeadLetterQueueSourceArn")).cloned(),
    })
}

fn attribute(value: MessageAttributeValue) -> Option<MessageAttribute> {
    let data_type = value.data_type;
    let value = match (value.string_value, value.binary_value) {
        (Some(text), _) => AttributeValue::Text(text),
        (None, Some(bytes)) => AttributeValue::Binary(bytes.into_inner()),
        (None, None) => return None,
    };
    Some(MessageAttribute { data_type, value })
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use aws_sdk_sqs::primitives::Blob;

    use super::*;

    #[test]
    fn nothing_of_a_message_is_lost() {
        let system = HashMap::from([
            (Name::ApproximateReceiveCount, "3".to_owned()),
            (Name::SentTimestamp, "1700000000123".to_owned()),
            (Name::ApproximateFirstReceiveTimestamp, "1700000001456".to_owned()),
            (Name::SenderId, "AIDASENDER".to_owned()),
            (Name::MessageGroupId, "A".to_owned()),
            (Name::AwsTraceHeader, "Root=1".to_owned()),
            (Name::DeadLetterQueueSourceArn, "arn:aws:sqs:r:1:first".to_owned()),
        ]);
        let value = MessageAttributeValue::builder().data_type("Binary").binary_value(Blob::new([0, 255]));
        let message = Message::builder()
            .message_id("m1")
            .receipt_handle("handle")
            .body("tea")
            .md5_of_body("0123")
            .set_attributes(Some(system))
            .message_attributes("seal", value.build().unwrap())
            .build();
        let received = received(message).unwrap();
        assert_eq!((received.message_id.as_str(), received.receive_count), ("m1", 3));
        assert_eq!(received.sent_at, UNIX_EPOCH + Duration::from_millis(1_700_000_000_123));
        assert_eq!(received.first_received_at, UNIX_EPOCH + Duration::from_millis(1_700_000_001_456));
        assert_eq!(received.group_id.as_deref(), Some("A"));
        assert_eq!(received.trace_header.as_deref(), Some("Root=1"));
        assert_eq!(received.dead_letter_source.as_deref(), Some("arn:aws:sqs:r:1:first"));
        assert_eq!(received.attributes["seal"].value, AttributeValue::Binary(vec![0, 255]));
        assert_eq!(super::received(Message::builder().body("no id").build()), None);
    }
}
