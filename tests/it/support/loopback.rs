//! The real clients over a real socket, and their received messages as Lambda events.

use std::collections::BTreeMap;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::config::{BehaviorVersion, Config, Credentials, Region};
use aws_sdk_sqs::types::Message;
use serde_json::{Value, json};

pub(crate) fn sqs(endpoint_url: &str) -> Client {
    let config = Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("eu-west-1"))
        .credentials_provider(Credentials::new("test", "test", None, None, "test"))
        .endpoint_url(endpoint_url)
        .http_client(aws_smithy_http_client::Builder::new().build_http());
    Client::from_conf(config.build())
}

pub(crate) fn cloudwatch(endpoint_url: &str) -> aws_sdk_cloudwatch::Client {
    let config = aws_sdk_cloudwatch::Config::builder()
        .behavior_version(aws_sdk_cloudwatch::config::BehaviorVersion::latest())
        .region(Region::new("eu-west-1"))
        .credentials_provider(Credentials::new("test", "test", None, None, "test"))
        .endpoint_url(endpoint_url)
        .http_client(aws_smithy_http_client::Builder::new().build_http());
    aws_sdk_cloudwatch::Client::from_conf(config.build())
}

/// At least so many messages, which must be there.
pub(crate) async fn receive(sqs: &Client, queue_url: &str, count: usize) -> Vec<Message> {
    let mut messages = Vec::new();
    while messages.len() < count {
        let call = sqs.receive_message().queue_url(queue_url).max_number_of_messages(10);
        let call = call.message_system_attribute_names("All".into()).message_attribute_names("All");
        let received = call.send().await.unwrap().messages.unwrap_or_default();
        assert!(!received.is_empty(), "{} messages of {count} are there", messages.len());
        messages.extend(received);
    }
    messages
}

/// The event that Lambda would make of messages of the queue `orders`, user attributes aside.
pub(crate) fn event(messages: &[Message]) -> String {
    let records: Vec<_> = messages.iter().map(record).collect();
    json!({ "Records": records }).to_string()
}

fn record(message: &Message) -> Value {
    let attributes = message.attributes().into_iter().flatten();
    let attributes: BTreeMap<_, _> = attributes.map(|(name, value)| (name.as_str(), value)).collect();
    json!({
        "messageId": message.message_id(),
        "receiptHandle": message.receipt_handle(),
        "body": message.body(),
        "attributes": attributes,
        "messageAttributes": {},
        "md5OfBody": message.md5_of_body(),
        "eventSource": "aws:sqs",
        "eventSourceARN": "arn:aws:sqs:eu-west-1:123456789012:orders",
        "awsRegion": "eu-west-1",
    })
}
