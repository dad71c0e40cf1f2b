//! Finds and describes queues.

use serde::Deserialize;
use serde_json::json;

use super::request::{Context, count, required};
use crate::protocol::Answer;
use crate::queue::error;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Input {
    queue_url: Option<String>,
    queue_name: Option<String>,
    #[serde(rename = "QueueOwnerAWSAccountId")]
    owner: Option<String>,
    attribute_names: Option<Vec<String>>,
    queue_name_prefix: Option<String>,
    max_results: Option<i64>,
    next_token: Option<String>,
}

pub(super) fn url(context: &mut Context<'_>) -> Answer {
    let input: Input = context.input()?;
    let name = required(input.queue_name, "QueueName")?;
    if input.owner.is_some_and(|owner| owner != context.service.account()) {
        return Err(error::no_such_queue());
    }
    let queue = context.queue(Some(name))?;
    context.output(&json!({ "QueueUrl": context.url(&queue) }))
}

pub(super) fn list(context: &mut Context<'_>) -> Answer {
    context.at_no_queue()?;
    let input: Input = context.input()?;
    let prefix = input.queue_name_prefix.clone().unwrap_or_default();
    let mut names = context.service.names().filter(|name| name.starts_with(&prefix)).peekable();
    match names.peek() {
        Some(_) => page(context, "QueueUrls", names, &input),
        None => context.output(&json!({})),
    }
}

pub(super) fn list_sources(context: &mut Context<'_>) -> Answer {
    let input: Input = context.input()?;
    let queue = context.queue(input.queue_url.clone())?;
    page(context, "queueUrls", context.service.sources_of(&queue), &input)
}

/// Returns one page of URLs. A next page exists only if `MaxResults` was given. Its token is the last name of this page.
fn page<'a>(
    context: &Context<'_>,
    field: &str,
    names: impl Iterator<Item = &'a str>,
    input: &Input,
) -> Answer {
    let most = input.max_results.unwrap_or(1_000);
    let reason = "MaxResults must be an integer between 1 and 1000.";
    let most = count(most, "MaxResults", 1_000, reason)?;
    let mut names =
        names.filter(|name| input.next_token.as_deref().is_none_or(|token| *name > token)).peekable();
    let mut last = None;
    let urls: Vec<_> =
        names.by_ref().take(most).inspect(|name| last = Some(*name)).map(|name| context.url(name)).collect();
    let is_more = input.max_results.is_some() && names.peek().is_some();
    let mut output = json!({ field: urls });
    if let Some(token) = last.filter(|_| is_more) {
        output["NextToken"] = json!(token);
    }
    context.output(&output)
}

pub(super) fn attributes(context: &mut Context<'_>) -> Answer {
    let input: Input = context.input()?;
    let queue = context.queue(input.queue_url)?;
    let names = input.attribute_names.unwrap_or_default();
    let mut attributes = context.service.attributes(&queue, context.now)?;
    if let Some(name) = names.iter().find(|name| !ATTRIBUTES.contains(&name.as_str())) {
        let message = format!("Unknown Attribute {name}.");
        return Err(error::INVALID_ATTRIBUTE_NAME.error(message));
    }
    attributes.retain(|name, _| names.iter().any(|asked| asked == "All" || asked == name));
    context.output(&if attributes.is_empty() { json!({}) } else { json!({ "Attributes": attributes }) })
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
