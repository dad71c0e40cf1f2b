//! Writes the event that a function gets.
//! <https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html>

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::Serialize;

use crate::queue::{AttributeValue, MessageAttribute, Received};

/// Returns the event of a batch as JSON. `shown` converts simulated timestamps to those that the function sees.
pub(crate) fn event(
    messages: &[Received],
    queue_arn: &str,
    shown: impl Fn(SystemTime) -> SystemTime,
) -> Vec<u8> {
    let records = messages.iter().map(|message| Record::new(message, queue_arn, &shown)).collect();
    serde_json::to_vec(&Event { records }).expect("strings can be written as JSON")
}

/// Returns the length of a message's record as JSON. Shifted timestamps do not change it.
pub(super) fn record_size(message: &Received, queue_arn: &str) -> usize {
    record(message, queue_arn).len()
}

pub(super) fn record(message: &Received, queue_arn: &str) -> String {
    let record = Record::new(message, queue_arn, &|stamp| stamp);
    serde_json::to_string(&record).expect("strings can be written as JSON")
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Event<'batch> {
    records: Vec<Record<'batch>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Record<'batch> {
    message_id: &'batch str,
    receipt_handle: &'batch str,
    body: &'batch str,
    attributes: Attributes<'batch>,
    message_attributes: BTreeMap<&'batch str, Attribute<'batch>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    md5_of_message_attributes: Option<&'batch str>,
    md5_of_body: &'batch str,
    event_source: &'static str,
    #[serde(rename = "eventSourceARN")]
    event_source_arn: &'batch str,
    aws_region: &'batch str,
}

/// The system attributes. Every value is a string, numbers and timestamps too.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Attributes<'batch> {
    approximate_receive_count: String,
    #[serde(rename = "AWSTraceHeader", skip_serializing_if = "Option::is_none")]
    trace_header: Option<&'batch str>,
    sent_timestamp: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    sequence_number: Option<&'batch str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message_group_id: Option<&'batch str>,
    sender_id: &'batch str,
    #[serde(skip_serializing_if = "Option::is_none")]
    message_deduplication_id: Option<&'batch str>,
    approximate_first_receive_timestamp: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    dead_letter_queue_source_arn: Option<&'batch str>,
}

/// A message attribute. Its lists are always present and empty.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Attribute<'batch> {
    #[serde(skip_serializing_if = "Option::is_none")]
    string_value: Option<&'batch str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    binary_value: Option<String>,
    string_list_values: [&'batch str; 0],
    binary_list_values: [&'batch str; 0],
    data_type: &'batch str,
}

impl<'batch> Record<'batch> {
    fn new(
        message: &'batch Received,
        queue_arn: &'batch str,
        shown: &impl Fn(SystemTime) -> SystemTime,
    ) -> Self {
        let attributes =
            message.attributes.iter().map(|(name, attribute)| (name.as_str(), Attribute::new(attribute)));
        Self {
            message_id: &message.message_id,
            receipt_handle: &message.receipt_handle,
            body: &message.body,
            attributes: Attributes {
                approximate_receive_count: message.receive_count.to_string(),
                trace_header: message.trace_header.as_deref(),
                sent_timestamp: milliseconds(shown(message.sent_at)),
                sequence_number: message.sequence_number.as_deref(),
                message_group_id: message.group_id.as_deref(),
                sender_id: &message.sender_id,
                message_deduplication_id: message.deduplication_id.as_deref(),
                approximate_first_receive_timestamp: milliseconds(shown(message.first_received_at)),
                dead_letter_queue_source_arn: message.dead_letter_source.as_deref(),
            },
            message_attributes: attributes.collect(),
            md5_of_message_attributes: message.md5_of_attributes.as_deref(),
            md5_of_body: &message.md5_of_body,
            event_source: "aws:sqs",
            event_source_arn: queue_arn,
            aws_region: queue_arn.split(':').nth(3).unwrap_or_default(),
        }
    }
}

impl<'batch> Attribute<'batch> {
    fn new(attribute: &'batch MessageAttribute) -> Self {
        let (string_value, binary_value) = match &attribute.value {
            AttributeValue::Text(text) => (Some(text.as_str()), None),
            AttributeValue::Binary(bytes) => (None, Some(BASE64_STANDARD.encode(bytes))),
        };
        let data_type = &attribute.data_type;
        Self { string_value, binary_value, string_list_values: [], binary_list_values: [], data_type }
    }
}

fn milliseconds(stamp: SystemTime) -> String {
    stamp.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis().to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use std::time::Duration;

    use super::super::tests::{ARN, received};
    use super::*;

    fn check(message: &Received, expected: &Value) {
        let event: Value =
            serde_json::from_slice(&event(std::slice::from_ref(message), ARN, |stamp| stamp)).unwrap();
        assert_eq!(event, json!({ "Records": [expected] }));
    }

    #[test]
    fn a_record_of_a_standard_queue_has_exactly_these_fields() {
        check(
            &received("m1", "{\"order_id\":\"A-1\"}"),
            &json!({
                "messageId": "m1",
                "receiptHandle": "handle-m1",
                "body": "{\"order_id\":\"A-1\"}",
                "attributes": {
                    "ApproximateReceiveCount": "1",
                    "SentTimestamp": "1700000000123",
                    "SenderId": "AIDASENDER",
                    "ApproximateFirstReceiveTimestamp": "1700000001456",
                },
                "messageAttributes": {},
                "md5OfBody": "d41d8cd98f00b204e9800998ecf8427e",
                "eventSource": "aws:sqs",
                "eventSourceARN": ARN,
                "awsRegion": "eu-west-1",
            }),
        );
    }

    #[test]
    fn a_record_contains_all_parts_of_a_message() {
        let attribute = |data_type: &str, value| MessageAttribute { data_type: data_type.into(), value };
        let message = Received {
            receive_count: 12,
            md5_of_attributes: Some("0123".into()),
            attributes: BTreeMap::from([
                ("kind".into(), attribute("String", AttributeValue::Text("gift".into()))),
                ("size".into(), attribute("Number.int", AttributeValue::Text("3".into()))),
                ("seal".into(), attribute("Binary", AttributeValue::Binary(vec![0, 255]))),
            ]),
            group_id: Some("A".into()),
            deduplication_id: Some("once".into()),
            sequence_number: Some("18849496460467696128".into()),
            trace_header: Some("Root=1-5759e988-bd862e3fe1be46a994272793".into()),
            dead_letter_source: Some("arn:aws:sqs:eu-west-1:123456789012:first".into()),
            ..received("m2", "tea")
        };
        let attribute = |name: &str, value: &str, data_type: &str| json!({ name: value, "stringListValues": [], "binaryListValues": [], "dataType": data_type });
        check(
            &message,
            &json!({
                "messageId": "m2",
                "receiptHandle": "handle-m2",
                "body": "tea",
                "attributes": {
                    "ApproximateReceiveCount": "12",
                    "AWSTraceHeader": "Root=1-5759e988-bd862e3fe1be46a994272793",
                    "SentTimestamp": "1700000000123",
                    "SequenceNumber": "18849496460467696128",
                    "MessageGroupId": "A",
                    "SenderId": "AIDASENDER",
                    "MessageDeduplicationId": "once",
                    "ApproximateFirstReceiveTimestamp": "1700000001456",
                    "DeadLetterQueueSourceArn": "arn:aws:sqs:eu-west-1:123456789012:first",
                },
                "messageAttributes": {
                    "kind": attribute("stringValue", "gift", "String"),
                    "size": attribute("stringValue", "3", "Number.int"),
                    "seal": attribute("binaryValue", "AP8=", "Binary"),
                },
                "md5OfMessageAttributes": "0123",
                "md5OfBody": "d41d8cd98f00b204e9800998ecf8427e",
                "eventSource": "aws:sqs",
                "eventSourceARN": ARN,
                "awsRegion": "eu-west-1",
            }),
        );
    }

    #[test]
    fn timestamps_are_those_that_the_function_is_to_see() {
        let event = event(&[received("m1", "tea")], ARN, |stamp| stamp - Duration::from_millis(123));
        let event: Value = serde_json::from_slice(&event).unwrap();
        let attributes = &event["Records"][0]["attributes"];
        assert_eq!(attributes["SentTimestamp"], "1700000000000");
        assert_eq!(attributes["ApproximateFirstReceiveTimestamp"], "1700000001333");
    }

    #[test]
    fn an_empty_batch_is_an_event_without_records() {
        assert_eq!(event(&[], ARN, |stamp| stamp), b"{\"Records\":[]}");
    }
}
