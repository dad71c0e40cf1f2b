//! Creates, changes and deletes queues.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::json;

use super::request::{Context, required};
use crate::protocol::Answer;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Input {
    queue_url: Option<String>,
    queue_name: Option<String>,
    attributes: Option<BTreeMap<String, String>>,
    /// Only `CreateQueue` spells this in lower case.
    #[serde(alias = "tags")]
    tags: Option<BTreeMap<String, String>>,
    tag_keys: Option<Vec<String>>,
}

pub(super) fn create(context: &mut Context<'_>) -> Answer {
    context.at_no_queue()?;
    let input: Input = context.input()?;
    let name = required(input.queue_name, "QueueName")?;
    let is_new = !context.service.exists(&name);
    context.service.create(&name, &input.attributes.unwrap_or_default(), context.now)?;
    if is_new {
        context.service.tags_mut(&name)?.extend(input.tags.unwrap_or_default());
    }
    context.output(&json!({ "QueueUrl": context.url(&name) }))
}

pub(super) fn delete(context: &mut Context<'_>) -> Answer {
    let input: Input = context.input()?;
    let queue = context.queue(input.queue_url)?;
    context.service.delete_queue(&queue, context.now)?;
    context.nothing()
}

pub(super) fn purge(context: &mut Context<'_>) -> Answer {
    let input: Input = context.input()?;
    let queue = context.queue(input.queue_url)?;
    context.service.purge(&queue, context.now)?;
    context.nothing()
}

pub(super) fn set_attributes(context: &mut Context<'_>) -> Answer {
    let input: Input = context.input()?;
    let queue = context.queue(input.queue_url)?;
    context.service.set_attributes(&queue, &required(input.attributes, "Attributes")?, context.now)?;
    context.nothing()
}

pub(super) fn tag(context: &mut Context<'_>) -> Answer {
    let input: Input = context.input()?;
    let queue = context.queue(input.queue_url)?;
    context.service.tags_mut(&queue)?.extend(required(input.tags, "Tags")?);
    context.nothing()
}

pub(super) fn untag(context: &mut Context<'_>) -> Answer {
    let input: Input = context.input()?;
    let queue = context.queue(input.queue_url)?;
    let keys = required(input.tag_keys, "TagKeys")?;
    context.service.tags_mut(&queue)?.retain(|key, _| !keys.contains(key));
    context.nothing()
}

pub(super) fn tags(context: &mut Context<'_>) -> Answer {
    let input: Input = context.input()?;
    let queue = context.queue(input.queue_url)?;
    let tags = context.service.tags(&queue)?;
    context.output(&if tags.is_empty() { json!({}) } else { json!({ "Tags": tags }) })
}
