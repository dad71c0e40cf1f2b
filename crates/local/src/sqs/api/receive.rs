//! `ReceiveMessage`.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use redrive_sqs::{LONGEST_POLL, MAX_ENTRIES};
use serde::{Deserialize, Serialize};

use super::attribute::WireAttribute;
use super::request::{self, Context};
use crate::protocol::{Answer, Wait};
use crate::queue::{Received, error, md5_of_attributes};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Input {
    queue_url: Option<String>,
    max_number_of_messages: Option<i64>,
    visibility_timeout: Option<i64>,
    wait_time_seconds: Option<i64>,
    /// The older name of `MessageSystemAttributeNames`. Both count.
    attribute_names: Option<Vec<String>>,
    message_system_attribute_names: Option<Vec<String>>,
    message_attribute_names: Option<Vec<String>>,
    receive_request_attempt_id: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
struct Output {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    messages: Vec<Message>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
struct Message {
    message_id: String,
    receipt_handle: String,
    #[serde(rename = "MD5OfBody")]
    md5_of_body: String,
    body: String,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    attributes: BTreeMap<&'static str, String>,
    /// Digest of the attributes in this answer, which are those that the client requested.
    #[serde(rename = "MD5OfMessageAttributes", skip_serializing_if = "Option::is_none")]
    md5_of_attributes: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    message_attributes: BTreeMap<String, WireAttribute>,
}

const SYSTEM_ATTRIBUTES: [&str; 10] = [
    "All",
    "AWSTraceHeader",
    "ApproximateFirstReceiveTimestamp",
    "ApproximateReceiveCount",
    "DeadLetterQueueSourceArn",
    "MessageDeduplicationId",
    "MessageGroupId",
    "SenderId",
    "SentTimestamp",
    "SequenceNumber",
];

pub(super) fn receive(context: &mut Context<'_>) -> Answer {
    let input: Input = context.input()?;
    let queue = context.queue(input.queue_url)?;
    let max = input.max_number_of_messages.unwrap_or(1);
    let reason = format!("Must be between 1 and {MAX_ENTRIES}, if provided.");
    let max = request::count(max, "MaxNumberOfMessages", MAX_ENTRIES, &reason)?;
    let visibility_timeout = input.visibility_timeout.map(request::visibility_timeout).transpose()?;
    let reason = format!("Must be >= 0 and <= {}, if provided.", LONGEST_POLL.as_secs());
    let wait =
        input.wait_time_seconds.map(|wait| request::seconds(wait, "WaitTimeSeconds", LONGEST_POLL, &reason));
    let wait = wait.transpose()?.or(context.service.receive_wait(&queue)).filter(|wait| !wait.is_zero());
    let mut system_names = input.attribute_names.unwrap_or_default();
    system_names.extend(input.message_system_attribute_names.unwrap_or_default());
    if let Some(name) = system_names.iter().find(|name| !SYSTEM_ATTRIBUTES.contains(&name.as_str())) {
        let message = format!("Unknown Attribute {name}.");
        return Err(error::INVALID_ATTRIBUTE_NAME.error(message));
    }
    let names = input.message_attribute_names.unwrap_or_default();
    let attempt_id = input.receive_request_attempt_id.as_deref();
    let received =
        match context.service.receive_attempt(&queue, attempt_id, max, visibility_timeout, context.now) {
            // A long poll over the limit returns empty instead, as the developer guide says.
            Err(refused) if refused.kind() == error::OVER_LIMIT && wait.is_some() => Vec::new(),
            received => received?,
        };
    if received.is_empty() {
        match wait {
            Some(longest) => {
                let receivable = context.service.next_change(&queue, context.now);
                context.wait = Some(Wait { queue, longest, receivable });
            }
            None => context.service.end_empty_receive(&queue),
        }
    }
    let messages = received.into_iter().map(|message| Message::new(message, &system_names, &names));
    context.output(&Output { messages: messages.collect() })
}

impl Message {
    fn new(mut message: Received, system_names: &[String], names: &[String]) -> Self {
        let attributes = system_attributes(&mut message, system_names);
        let is_whole = message.attributes.keys().all(|name| is_asked_for(name, names));
        message.attributes.retain(|name, _| is_asked_for(name, names));
        let md5_of_attributes =
            if is_whole { message.md5_of_attributes } else { md5_of_attributes(&message.attributes) };
        let write = message.attributes.iter();
        let write = write.map(|(name, attribute)| (name.clone(), WireAttribute::write(attribute)));
        Self {
            message_attributes: write.collect(),
            message_id: message.message_id,
            receipt_handle: message.receipt_handle,
            md5_of_body: message.md5_of_body,
            body: message.body,
            attributes,
            md5_of_attributes,
        }
    }
}

fn system_attributes(message: &mut Received, names: &[String]) -> BTreeMap<&'static str, String> {
    if names.is_empty() {
        return BTreeMap::new();
    }
    let all = [
        ("AWSTraceHeader", message.trace_header.take()),
        ("ApproximateFirstReceiveTimestamp", Some(epoch_milliseconds(message.first_received_at))),
        ("ApproximateReceiveCount", Some(message.receive_count.to_string())),
        ("DeadLetterQueueSourceArn", message.dead_letter_source.take()),
        ("MessageDeduplicationId", message.deduplication_id.take()),
        ("MessageGroupId", message.group_id.take()),
        ("SenderId", Some(std::mem::take(&mut message.sender_id))),
        ("SentTimestamp", Some(epoch_milliseconds(message.sent_at))),
        ("SequenceNumber", message.sequence_number.take()),
    ];
    let is_asked_for = |name: &str| names.iter().any(|asked| asked == "All" || asked == name);
    let asked_for = all.into_iter().filter(|(name, _)| is_asked_for(name));
    asked_for.filter_map(|(name, value)| Some((name, value?))).collect()
}

/// Returns true if the client requested an attribute: by `All`, `*`, `.*`, its name, or a prefix with `.*`. AWS was observed
/// to treat `*` as all:
/// <https://github.com/localstack/localstack/blob/8b9a79f/tests/aws/services/sqs/test_sqs.snapshot.json>
fn is_asked_for(name: &str, asked: &[String]) -> bool {
    asked.iter().any(|asked| match asked.strip_suffix(".*") {
        Some(prefix) => name.starts_with(prefix),
        None => asked == "All" || asked == "*" || asked == name,
    })
}

fn epoch_milliseconds(time: SystemTime) -> String {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis().to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::client;

    #[test]
    fn over_the_limit_in_flight_a_short_poll_is_refused_and_a_long_one_waits() {
        let mut client = client();
        client.state.limit_in_flight("q", 0);
        let error = client.refused("ReceiveMessage", json!({ "QueueUrl": "q" }));
        assert_eq!((error.status, error.code.as_str()), (403, "OverLimit"));
        let (response, wait) =
            client.call("ReceiveMessage", json!({ "QueueUrl": "q", "WaitTimeSeconds": 1 }));
        assert_eq!((response.status().as_u16(), wait.is_some()), (200, true));
    }
}
