//! Making, changing and deleting queues.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::json;

use super::asked::{Asked, required};
use crate::queue::SqsError;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Input {
    queue_url: Option<String>,
    queue_name: Option<String>,
    attributes: Option<BTreeMap<String, String>>,
    /// `CreateQueue` alone spells it in lower case.
    #[serde(alias = "tags")]
    tags: Option<BTreeMap<String, String>>,
    tag_keys: Option<Vec<String>>,
}

pub(super) fn create(asked: &mut Asked<'_>) -> Result<Bytes, SqsError> {
    let input: Input = asked.input()?;
    let name = required(input.queue_name, "QueueName")?;
    let is_new = !asked.queues.exists(&name);
    asked.queues.create(&name, &input.attributes.unwrap_or_default(), asked.now)?;
    if is_new {
        asked.queues.tags_mut(&name)?.extend(input.tags.unwrap_or_default());
    }
    asked.output(&json!({ "QueueUrl": asked.url(&name) }))
}

pub(super) fn delete(asked: &mut Asked<'_>) -> Result<Bytes, SqsError> {
    let input: Input = asked.input()?;
    let queue = asked.queue(input.queue_url)?;
    asked.queues.delete_queue(&queue, asked.now)?;
    asked.nothing()
}

pub(super) fn purge(asked: &mut Asked<'_>) -> Result<Bytes, SqsError> {
    let input: Input = asked.input()?;
    let queue = asked.queue(input.queue_url)?;
    asked.queues.purge(&queue, asked.now)?;
    asked.nothing()
}

pub(super) fn set_attributes(asked: &mut Asked<'_>) -> Result<Bytes, SqsError> {
    let input: Input = asked.input()?;
    let queue = asked.queue(input.queue_url)?;
    asked.queues.set_attributes(&queue, &required(input.attributes, "Attributes")?, asked.now)?;
    asked.nothing()
}

pub(super) fn tag(asked: &mut Asked<'_>) -> Result<Bytes, SqsError> {
    let input: Input = asked.input()?;
    let queue = asked.queue(input.queue_url)?;
    asked.queues.tags_mut(&queue)?.extend(required(input.tags, "Tags")?);
    asked.nothing()
}

pub(super) fn untag(asked: &mut Asked<'_>) -> Result<Bytes, SqsError> {
    let input: Input = asked.input()?;
    let queue = asked.queue(input.queue_url)?;
    let keys = required(input.tag_keys, "TagKeys")?;
    asked.queues.tags_mut(&queue)?.retain(|key, _| !keys.contains(key));
    asked.nothing()
}

pub(super) fn tags(asked: &mut Asked<'_>) -> Result<Bytes, SqsError> {
    let input: Input = asked.input()?;
    let queue = asked.queue(input.queue_url)?;
    let tags = asked.queues.tags(&queue)?;
    asked.output(&if tags.is_empty() { json!({}) } else { json!({ "Tags": tags }) })
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
        let again = json!({ "QueueName": "orders", "tags": { "team": "b" } });
        assert_eq!(world.ask("CreateQueue", again), json!({ "QueueUrl": url }));
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
        world.ask("UntagQueue", json!({ "QueueUrl": "q", "TagKeys": ["b", "c"] }));
        assert_eq!(world.ask("ListQueueTags", json!({ "QueueUrl": "q" })), json!({}));
    }
}
