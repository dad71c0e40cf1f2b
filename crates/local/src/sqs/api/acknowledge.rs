//! `DeleteMessage`, `ChangeMessageVisibility`, and their batches.

use serde::Deserialize;
use serde_json::{Value, json};

use super::batch;
use super::request::{Context, required, visibility_timeout};
use crate::protocol::{Answer, AwsError};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Input {
    queue_url: Option<String>,
    receipt_handle: Option<String>,
    visibility_timeout: Option<i64>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct BatchInput {
    queue_url: Option<String>,
    #[serde(default)]
    entries: Vec<Entry>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Entry {
    #[serde(default)]
    id: String,
    receipt_handle: Option<String>,
    visibility_timeout: Option<i64>,
}

pub(super) fn delete(context: &mut Context<'_>) -> Answer {
    let input: Input = context.input()?;
    let queue = context.queue(input.queue_url)?;
    let handle = required(input.receipt_handle, "ReceiptHandle")?;
    context.service.delete(&queue, &handle, context.now)?;
    context.nothing()
}

pub(super) fn change_visibility(context: &mut Context<'_>) -> Answer {
    let input: Input = context.input()?;
    let queue = context.queue(input.queue_url)?;
    change(context, &queue, input.receipt_handle, input.visibility_timeout)?;
    context.nothing()
}

pub(super) fn delete_batch(context: &mut Context<'_>) -> Answer {
    each(context, "DeleteMessageBatch", |context, queue, entry| {
        let handle = required(entry.receipt_handle, "ReceiptHandle")?;
        context.service.delete(queue, &handle, context.now)
    })
}

pub(super) fn change_visibility_batch(context: &mut Context<'_>) -> Answer {
    each(context, "ChangeMessageVisibilityBatch", |context, queue, entry| {
        change(context, queue, entry.receipt_handle, entry.visibility_timeout)
    })
}

fn change(
    context: &mut Context<'_>,
    queue: &str,
    receipt_handle: Option<String>,
    timeout: Option<i64>,
) -> Result<(), AwsError> {
    let handle = required(receipt_handle, "ReceiptHandle")?;
    let timeout = visibility_timeout(required(timeout, "VisibilityTimeout")?)?;
    context.service.change_visibility(queue, &handle, timeout, context.now)
}

/// Applies an action to each entry of a batch.
fn each(
    context: &mut Context<'_>,
    operation: &str,
    mut verb: impl FnMut(&mut Context<'_>, &str, Entry) -> Result<(), AwsError>,
) -> Answer {
    let input: BatchInput = context.input()?;
    let queue = context.queue(input.queue_url)?;
    batch::check(input.entries.iter().map(|entry| entry.id.as_str()), operation)?;
    let results = input.entries.into_iter().map(|entry| {
        let id = entry.id.clone();
        let result = verb(context, &queue, entry).map(|()| -> Value { json!({ "Id": id }) });
        (id, result)
    });
    let answer = batch::Answer::new(results);
    context.output(&answer)
}
