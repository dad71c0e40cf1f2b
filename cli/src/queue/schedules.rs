//! The schedules that end a pause of a function's mapping, as `redrive-pause` creates them.

use aws_sdk_scheduler::operation::get_schedule::GetScheduleOutput;
use redrive_sqs::pause_schedules;
use serde::Serialize;
use serde_json::Value;

use crate::aws::{Aws, DescribeError, code_of};
use crate::queue::mappings::Mapping;

/// A pause that is not over. Times are RFC 3339.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Pause {
    /// When the mapping starts slowly; none if it has.
    pub(super) resumes_at: Option<String>,
    /// When its concurrency is restored.
    pub(super) restores_at: Option<String>,
    /// What is restored, if the pause changes it: none removes the limit.
    #[serde(skip)]
    pub(super) maximum_concurrency: Option<Option<i32>>,
}

impl Pause {
    /// The pause of a mapping.
    ///
    /// # Errors
    /// No permission, or an emulator without EventBridge Scheduler.
    pub(super) async fn of(aws: &Aws, mapping: &Mapping) -> anyhow::Result<Option<Self>> {
        let [resuming, restoring] = names(mapping);
        let (resuming, restoring) = tokio::try_join!(read(aws, &resuming), read(aws, &restoring))?;
        if resuming.is_none() && restoring.is_none() {
            return Ok(None);
        }
        Ok(Some(Self {
            resumes_at: resuming.as_ref().and_then(at),
            restores_at: restoring.as_ref().and_then(at),
            maximum_concurrency: restoring.as_ref().and_then(maximum_concurrency),
        }))
    }

    /// Deletes the schedule that would lower the concurrency again.
    pub(super) async fn delete_resuming(aws: &Aws, mapping: &Mapping) -> anyhow::Result<()> {
        let [resuming, _] = names(mapping);
        delete(aws, &resuming).await
    }

    /// Deletes the schedule that restores the mapping: last, because a command that is killed before needs it.
    pub(super) async fn delete_restoring(aws: &Aws, mapping: &Mapping) -> anyhow::Result<()> {
        let [_, restoring] = names(mapping);
        delete(aws, &restoring).await
    }
}

fn names(mapping: &Mapping) -> [String; 2] {
    pause_schedules(&mapping.queue_arn, &mapping.function_arn)
}

async fn read(aws: &Aws, name: &str) -> anyhow::Result<Option<GetScheduleOutput>> {
    let read = aws.scheduler().get_schedule().name(name).send().await;
    if read.as_ref().err().and_then(code_of) == Some("ResourceNotFoundException") {
        return Ok(None);
    }
    read.describe_error(&format!("read the schedule {name}"), "scheduler:GetSchedule").map(Some)
}

async fn delete(aws: &Aws, name: &str) -> anyhow::Result<()> {
    let deleted = aws.scheduler().delete_schedule().name(name).send().await;
    if deleted.as_ref().err().and_then(code_of) == Some("ResourceNotFoundException") {
        return Ok(());
    }
    deleted.describe_error(&format!("delete the schedule {name}"), "scheduler:DeleteSchedule").map(drop)
}

fn at(schedule: &GetScheduleOutput) -> Option<String> {
    let at = schedule.schedule_expression()?.strip_prefix("at(")?.strip_suffix(')')?;
    Some(format!("{at}Z"))
}

fn maximum_concurrency(schedule: &GetScheduleOutput) -> Option<Option<i32>> {
    let input: Value = serde_json::from_str(schedule.target()?.input()?).ok()?;
    let limit = input.get("ScalingConfig")?.get("MaximumConcurrency").and_then(Value::as_i64);
    Some(limit.and_then(|limit| limit.try_into().ok()))
}
