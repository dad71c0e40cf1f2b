//! `StartMessageMoveTask`, `ListMessageMoveTasks` and `CancelMessageMoveTask`.

use std::time::UNIX_EPOCH;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::request::{Context, count, required};
use crate::protocol::{Answer, AwsError};
use crate::queue::error;
use crate::sqs::{MoveTask, Status};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Input {
    source_arn: Option<String>,
    destination_arn: Option<String>,
    max_number_of_messages_per_second: Option<i64>,
    max_results: Option<i64>,
    task_handle: Option<String>,
}

/// A client's handle for a task, in base64.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Handle {
    task_id: String,
    source_arn: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
struct Entry {
    #[serde(skip_serializing_if = "Option::is_none")]
    task_handle: Option<String>,
    status: &'static str,
    source_arn: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    destination_arn: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_number_of_messages_per_second: Option<u32>,
    approximate_number_of_messages_moved: u64,
    approximate_number_of_messages_to_move: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure_reason: Option<String>,
    started_timestamp: u64,
}

pub(super) fn start(context: &mut Context<'_>) -> Answer {
    let input: Input = context.input()?;
    let source_arn = required(input.source_arn, "SourceArn")?;
    let rate = input.max_number_of_messages_per_second;
    let task_id = context.service.start_move(&source_arn, input.destination_arn, rate, context.now)?;
    context.output(&json!({ "TaskHandle": Handle { task_id, source_arn }.write() }))
}

/// Lists tasks, by default only one.
pub(super) fn list(context: &mut Context<'_>) -> Answer {
    let input: Input = context.input()?;
    let source_arn = required(input.source_arn, "SourceArn")?;
    let most = input.max_results.unwrap_or(1);
    let most = count(most, "MaxResults", 10, "Must be between 1 and 10, if provided.")?;
    let tasks = context.service.moves_of(&source_arn, context.now)?.into_iter().take(most);
    let entries: Vec<_> = tasks.map(|task| Entry::new(task, &source_arn)).collect();
    context.output(&if entries.is_empty() { json!({}) } else { json!({ "Results": entries }) })
}

pub(super) fn cancel(context: &mut Context<'_>) -> Answer {
    let input: Input = context.input()?;
    let Handle { task_id, source_arn } = Handle::read(&required(input.task_handle, "TaskHandle")?)?;
    let moved = context.service.cancel_move(&source_arn, &task_id, context.now)?;
    context.output(&json!({ "ApproximateNumberOfMessagesMoved": moved }))
}

impl Handle {
    fn write(&self) -> String {
        BASE64_STANDARD.encode(json!(self).to_string())
    }

    fn read(text: &str) -> Result<Self, AwsError> {
        let json = BASE64_STANDARD.decode(text).ok();
        json.and_then(|json| serde_json::from_slice(&json).ok())
            .ok_or_else(|| error::INVALID_PARAMETER_VALUE.error("Value for parameter TaskHandle is invalid."))
    }
}

impl Entry {
    fn new(task: MoveTask, source_arn: &str) -> Self {
        let status = task.status.name();
        let handle = || Handle { task_id: task.id.clone(), source_arn: source_arn.to_owned() }.write();
        Self {
            task_handle: (task.status == Status::Running).then(handle),
            status,
            source_arn: source_arn.to_owned(),
            destination_arn: task.destination_arn,
            max_number_of_messages_per_second: task.rate,
            approximate_number_of_messages_moved: task.moved,
            approximate_number_of_messages_to_move: task.to_move,
            failure_reason: match task.status {
                Status::Failed(reason) => Some(reason),
                Status::Running | Status::Completed | Status::Cancelling | Status::Cancelled => None,
            },
            started_timestamp: task.started_at.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis()
                as u64,
        }
    }
}
