//! Operations on queues.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::json;

use super::wire::{self, Asked, required};
use crate::queue::{ErrorKind, SqsError};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Input {
    queue_url: Option<String>,
    queue_name: Option<String>,
    attributes: Option<BTreeMap<String, String>>,
    attribute_names: Option<Vec<String>>,
    queue_name_prefix: Option<String>,
    max_results: Option<usize>,
    next_token: Option<String>,
    /// `CreateQueue` alone spells it in lower case.
    #[serde(alias = "tags")]
    tags: Option<BTreeMap<String, String>>,
    tag_keys: Option<Vec<String>>,
}

pub(super) fn create(asked: &mut Asked<'_>) -> Result<Bytes, SqsError> {
    let input: Input = asked.input()?;
    let name = required(input.queue_name, "QueueName")?;
    asked.queues.create(&name, &input.attributes.unwrap_or_default(), asked.now)?;
    asked.queues.tags_mut(&name)?.extend(input.tags.unwrap_or_default());
    wire::output(&json!({ "QueueUrl": asked.url(&name) }))
}

pub(super) fn delete(asked: &mut Asked<'_>) -> Result<Bytes, SqsError> {
    let input: Input = asked.input()?;
    let queue = asked.queue(input.queue_url)?;
    asked.queues.delete_queue(&queue)?;
    wire::nothing()
}

pub(super) fn purge(asked: &mut Asked<'_>) -> Result<Bytes, SqsError> {
    let input: Input = asked.input()?;
    let queue = asked.queue(input.queue_url)?;
    asked.queues.purge(&queue, asked.now)?;
    wire::nothing()
}

pub(super) fn url(asked: &mut Asked<'_>) -> Result<Bytes, SqsError> {
    let input: Input = asked.input()?;
    let queue = asked.queue(Some(required(input.queue_name, "QueueName")?))?;
    wire::output(&json!({ "QueueUrl": asked.url(&queue) }))
}

pub(super) fn list(asked: &mut Asked<'_>) -> Result<Bytes, SqsError> {
    let input: Input = asked.input()?;
    let prefix = input.queue_name_prefix.clone().unwrap_or_default();
    let names = asked.queues.names().filter(|name| name.starts_with(&prefix));
    page(asked, "QueueUrls", names, &input)
}

pub(super) fn list_sources(asked: &mut Asked<'_>) -> Result<Bytes, SqsError> {
    let input: Input = asked.input()?;
    let queue = asked.queue(input.queue_url.clone())?;
    page(asked, "queueUrls", asked.queues.sources_of(&queue), &input)
}

/// One page of URLs. There is a next one only if `MaxResults` was given; its token is the last name of this one.
fn page<'a>(
    asked: &Asked<'_>,
    field: &str,
    names: impl Iterator<Item = &'a str>,
    input: &Input,
) -> Result<Bytes, SqsError> {
    let most = input.max_results.unwrap_or(1_000);
    if !(1..=1_000).contains(&most) {
        return Err(SqsError::invalid(
            "MaxResults",
            most,
            "MaxResults must be an integer between 1 and 1000.",
        ));
    }
    let mut names =
        names.filter(|name| input.next_token.as_deref().is_none_or(|token| *name > token)).peekable();
    let mut last = None;
    let urls: Vec<_> =
        names.by_ref().take(most).inspect(|name| last = Some(*name)).map(|name| asked.url(name)).collect();
    let is_more = input.max_results.is_some() && names.peek().is_some();
    let mut output = json!({ field: urls });
    if let Some(token) = last.filter(|_| is_more) {
        output["NextToken"] = json!(token);
    }
    wire::output(&output)
}

pub(super) fn attributes(asked: &mut Asked<'_>) -> Result<Bytes, SqsError> {
    let input: Input = asked.input()?;
    let queue = asked.queue(input.queue_url)?;
    let names = input.attribute_names.unwrap_or_default();
    let mut attributes = asked.queues.attributes(&queue, asked.now)?;
    if let Some(name) = names.iter().find(|name| !ATTRIBUTES.contains(&name.as_str())) {
        let message = format!("Unknown Attribute {name}.");
        return Err(SqsError::new(ErrorKind::InvalidAttributeName, message));
    }
    attributes.retain(|name, _| names.iter().any(|asked| asked == "All" || asked == name));
    wire::output(&if attributes.is_empty() { json!({}) } else { json!({ "Attributes": attributes }) })
}

/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_GetQueueAttributes.html>
const ATTRIBUTES: [&str; 22] = [
    "All",
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesDelayed",
    "ApproximateNumberOfMessagesNotVisible",
    "ContentBasedDeduplication",
    "CreatedTimestamp",
    "DeduplicationScope",
    "DelaySeconds",
    "FifoQueue",
    "FifoThroughputLimit",
    "KmsDataKeyReusePeriodSeconds",
    "KmsMasterKeyId",
    "LastModifiedTimestamp",
    "MaximumMessageSize",
    "MessageRetentionPeriod",
    "Policy",
    "QueueArn",
    "ReceiveMessageWaitTimeSeconds",
    "RedriveAllowPolicy",
    "RedrivePolicy",
    "SqsManagedSseEnabled",
    "VisibilityTimeout",
];

pub(super) fn set_attributes(asked: &mut Asked<'_>) -> Result<Bytes, SqsError> {
    let input: Input = asked.input()?;
    let queue = asked.queue(input.queue_url)?;
    asked.queues.set_attributes(&queue, &required(input.attributes, "Attributes")?, asked.now)?;
    wire::nothing()
}

pub(super) fn tag(asked: &mut Asked<'_>) -> Result<Bytes, SqsError> {
    let input: Input = asked.input()?;
    let queue = asked.queue(input.queue_url)?;
    asked.queues.tags_mut(&queue)?.extend(required(input.tags, "Tags")?);
    wire::nothing()
}

pub(super) fn untag(asked: &mut Asked<'_>) -> Result<Bytes, SqsError> {
    let input: Input = asked.input()?;
    let queue = asked.queue(input.queue_url)?;
    let keys = required(input.tag_keys, "TagKeys")?;
    asked.queues.tags_mut(&queue)?.retain(|key, _| !keys.contains(key));
    wire::nothing()
}

pub(super) fn tags(asked: &mut Asked<'_>) -> Result<Bytes, SqsError> {
    let input: Input = asked.input()?;
    let queue = asked.queue(input.queue_url)?;
    wire::output(&json!({ "Tags": asked.queues.tags(&queue)? }))
}

#[cfg(test)]
mod tests {
    use super::super::testing::World;
    use super::*;

    #[test]
    fn a_queue_is_created_listed_and_deleted() {
        let mut world = World::new();
        let url = "http://127.0.0.1:4566/123456789012/orders";
        let attributes = json!({ "VisibilityTimeout": "480" });
        let input = json!({ "QueueName": "orders", "Attributes": attributes, "tags": { "team": "a" } });
        assert_eq!(world.ask("CreateQueue", input), json!({ "QueueUrl": url }));
        assert_eq!(
            world.ask("ListQueues", json!({ "QueueNamePrefix": "ord" })),
            json!({ "QueueUrls": [url] })
        );
        assert_eq!(
            world.ask("ListQueueTags", json!({ "QueueUrl": url })),
            json!({ "Tags": { "team": "a" } })
        );
        world.ask("DeleteQueue", json!({ "QueueUrl": url }));
        let error = world.refused("GetQueueUrl", json!({ "QueueName": "orders" }));
        assert_eq!(error.header, "AWS.SimpleQueueService.NonExistentQueue;Sender");
    }

    #[test]
    fn a_long_list_comes_in_pages() {
        let mut world = World::new();
        let names = |answer: &serde_json::Value| answer["QueueUrls"].as_array().unwrap().len();
        let first = world.ask("ListQueues", json!({ "MaxResults": 1 }));
        let second = world.ask("ListQueues", json!({ "MaxResults": 1, "NextToken": first["NextToken"] }));
        assert_eq!((names(&first), names(&second)), (1, 1));
        assert_ne!(first["QueueUrls"], second["QueueUrls"]);
        assert_eq!(second.get("NextToken"), None);
    }

    #[test]
    fn attributes_are_given_all_or_by_name() {
        let mut world = World::new();
        let mut ask = |names: serde_json::Value| {
            world.ask("GetQueueAttributes", json!({ "QueueUrl": "q", "AttributeNames": names }))
        };
        let all = ask(json!(["All"]));
        assert_eq!(all["Attributes"]["QueueArn"], "arn:aws:sqs:eu-west-1:123456789012:q");
        assert_eq!(ask(json!(["DelaySeconds", "Policy"])), json!({ "Attributes": { "DelaySeconds": "0" } }));
        assert_eq!(ask(json!([])), json!({}));
        let input = json!({ "QueueUrl": "q", "AttributeNames": ["Color"] });
        assert_eq!(world.refused("GetQueueAttributes", input).header, "InvalidAttributeName;Sender");
    }

    #[test]
    fn the_sources_of_a_dead_letter_queue_are_listed() {
        let mut world = World::new();
        let policy = json!({ "deadLetterTargetArn": world.queues.arn("q"), "maxReceiveCount": "3" });
        let attributes = json!({ "RedrivePolicy": policy.to_string() });
        world.ask("CreateQueue", json!({ "QueueName": "source", "Attributes": attributes }));
        let answer = world.ask("ListDeadLetterSourceQueues", json!({ "QueueUrl": "q" }));
        assert_eq!(answer, json!({ "queueUrls": ["http://127.0.0.1:4566/123456789012/source"] }));
    }

    #[test]
    fn a_second_purge_within_a_minute_is_forbidden() {
        let mut world = World::new();
        world.ask("PurgeQueue", json!({ "QueueUrl": "q" }));
        world.pass(59);
        let error = world.refused("PurgeQueue", json!({ "QueueUrl": "q" }));
        assert_eq!((error.status, error.shape.as_str()), (403, "com.amazonaws.sqs#PurgeQueueInProgress"));
        world.pass(1);
        world.ask("PurgeQueue", json!({ "QueueUrl": "q" }));
    }

    #[test]
    fn tags_are_added_and_taken_away() {
        let mut world = World::new();
        world.ask("TagQueue", json!({ "QueueUrl": "q", "Tags": { "a": "1", "b": "2" } }));
        world.ask("UntagQueue", json!({ "QueueUrl": "q", "TagKeys": ["a"] }));
        assert_eq!(world.ask("ListQueueTags", json!({ "QueueUrl": "q" })), json!({ "Tags": { "b": "2" } }));
    }
}
