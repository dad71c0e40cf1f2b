//! The calls to Lambda and EventBridge Scheduler, each made once.

use std::time::Duration;

use aws_sdk_lambda::error::{DisplayErrorContext, ProvideErrorMetadata};
use aws_sdk_lambda::types::EventSourceMappingConfiguration;
use aws_sdk_scheduler::operation::get_schedule::GetScheduleOutput;
use aws_sdk_scheduler::primitives::{DateTime, DateTimeFormat};
use aws_sdk_scheduler::types::{
    ActionAfterCompletion, FlexibleTimeWindow, FlexibleTimeWindowMode, RetryPolicy, Target,
};
use redrive::Outage;
use serde_json::{Value, json};

use crate::attempt::{Answer, Call, Mapping, Scaling, Schedule};

const TIMEOUT: Duration = Duration::from_secs(5);

/// The schedule that starts the mapping slowly must not run after the one that restores it, so it is given up early.
/// <https://docs.aws.amazon.com/scheduler/latest/APIReference/API_RetryPolicy.html>
const RESUMES_WITHIN: i32 = 60;

#[derive(Debug)]
pub(crate) struct Aws {
    lambda: aws_sdk_lambda::Client,
    scheduler: aws_sdk_scheduler::Client,
    /// What EventBridge Scheduler assumes.
    role_arn: String,
}

impl Aws {
    pub(crate) fn new(
        lambda: &aws_sdk_lambda::Client,
        scheduler: &aws_sdk_scheduler::Client,
        role_arn: String,
    ) -> Self {
        let lambda = {
            use aws_sdk_lambda::config::{retry::RetryConfig, timeout::TimeoutConfig};
            let timeout = TimeoutConfig::builder().operation_timeout(TIMEOUT).build();
            let config = lambda.config().to_builder().retry_config(RetryConfig::disabled());
            aws_sdk_lambda::Client::from_conf(config.timeout_config(timeout).build())
        };
        let scheduler = {
            use aws_sdk_scheduler::config::{retry::RetryConfig, timeout::TimeoutConfig};
            let timeout = TimeoutConfig::builder().operation_timeout(TIMEOUT).build();
            let config = scheduler.config().to_builder().retry_config(RetryConfig::disabled());
            aws_sdk_scheduler::Client::from_conf(config.timeout_config(timeout).build())
        };
        Self { lambda, scheduler, role_arn }
    }

    /// The answer to a call, or what went wrong.
    pub(crate) async fn answer(&self, call: Call, outage: &Outage) -> Result<Answer, String> {
        match call {
            Call::Find => self.find(outage).await,
            Call::Create(schedule) => {
                let created = self
                    .scheduler
                    .create_schedule()
                    .name(&schedule.name)
                    .schedule_expression(expression(&schedule))
                    .set_flexible_time_window(Some(exactly()))
                    .target(self.target(&schedule, outage))
                    .action_after_completion(ActionAfterCompletion::Delete)
                    .send()
                    .await;
                match created {
                    Ok(created) => Ok(done(created.schedule_arn())),
                    Err(error) if error.code() == Some("ConflictException") => Ok(Answer::Conflict),
                    Err(error) => Err(failed("CreateSchedule", &error)),
                }
            }
            Call::Read { name } => {
                let read = self.scheduler.get_schedule().name(name).send().await;
                let unreadable = || "GetSchedule: the schedule is not one of redrive".to_owned();
                match read {
                    Ok(found) => schedule(&found).map(Answer::Schedule).ok_or_else(unreadable),
                    Err(error) if error.code() == Some("ResourceNotFoundException") => Ok(Answer::Missing),
                    Err(error) => Err(failed("GetSchedule", &error)),
                }
            }
            Call::Update(schedule) => {
                let updated = self
                    .scheduler
                    .update_schedule()
                    .name(&schedule.name)
                    .schedule_expression(expression(&schedule))
                    .set_flexible_time_window(Some(exactly()))
                    .target(self.target(&schedule, outage))
                    .action_after_completion(ActionAfterCompletion::Delete)
                    .send()
                    .await;
                match updated {
                    Ok(updated) => Ok(done(updated.schedule_arn())),
                    Err(error) => Err(failed("UpdateSchedule", &error)),
                }
            }
            Call::Disable { uuid } => {
                let update = self.lambda.update_event_source_mapping().uuid(uuid).enabled(false);
                match update.send().await {
                    Ok(_) => Ok(Answer::Done),
                    Err(error) if error.code() == Some("ResourceInUseException") => Ok(Answer::Busy),
                    Err(error) => Err(failed("UpdateEventSourceMapping", &error)),
                }
            }
        }
    }

    /// The mapping of the queue to the function, if there is exactly one.
    async fn find(&self, outage: &Outage) -> Result<Answer, String> {
        let list = self.lambda.list_event_source_mappings().event_source_arn(&outage.queue_arn);
        let found = list.function_name(&outage.function_arn).send().await;
        let found = found.map_err(|error| failed("ListEventSourceMappings", &error))?;
        match found.event_source_mappings() {
            [mapping] => Ok(Answer::Found(self::mapping(mapping))),
            mappings => Err(format!("Lambda lists {} mappings of the queue to the function", mappings.len())),
        }
    }

    /// <https://docs.aws.amazon.com/scheduler/latest/UserGuide/managing-targets-universal.html>
    fn target(&self, schedule: &Schedule, outage: &Outage) -> Target {
        let partition = outage.function_arn.split(':').nth(1).unwrap_or("aws");
        let mut input = json!({ "Uuid": schedule.uuid, "Enabled": true });
        if let Scaling::Limit(limit) = schedule.scaling {
            input["ScalingConfig"] = limit.map_or(json!({}), |limit| json!({ "MaximumConcurrency": limit }));
        }
        let starts_slowly = schedule.name.ends_with("-resume");
        let retries = RetryPolicy::builder().maximum_event_age_in_seconds(RESUMES_WITHIN).build();
        Target::builder()
            .arn(format!("arn:{partition}:scheduler:::aws-sdk:lambda:updateEventSourceMapping"))
            .role_arn(&self.role_arn)
            .input(input.to_string())
            .set_retry_policy(starts_slowly.then_some(retries))
            .build()
            .expect("it has an ARN and a role")
    }
}

/// Whether Scheduler has written a schedule: it then says its ARN.
fn done(schedule_arn: &str) -> Answer {
    if schedule_arn.is_empty() { Answer::Failed } else { Answer::Done }
}

fn failed(operation: &str, error: &(dyn std::error::Error + 'static)) -> String {
    format!("{operation}: {}", DisplayErrorContext(error))
}

fn mapping(found: &EventSourceMappingConfiguration) -> Mapping {
    let limit = found.scaling_config().and_then(|scaling| scaling.maximum_concurrency());
    Mapping {
        uuid: found.uuid().unwrap_or_default().to_owned(),
        is_enabled: found.state() == Some("Enabled"),
        scaling: match found.provisioned_poller_config() {
            Some(_) => Scaling::Unchanged,
            None => Scaling::Limit(limit),
        },
    }
}

/// A one-time schedule of UTC.
/// <https://docs.aws.amazon.com/scheduler/latest/UserGuide/schedule-types.html#one-time>
fn expression(schedule: &Schedule) -> String {
    let at = DateTime::from_secs(schedule.at.as_secs().cast_signed());
    let at = at.fmt(DateTimeFormat::DateTime).unwrap_or_default();
    format!("at({})", at.trim_end_matches('Z'))
}

/// A schedule that this crate has made.
fn schedule(found: &GetScheduleOutput) -> Option<Schedule> {
    let at = found.schedule_expression()?.strip_prefix("at(")?.strip_suffix(')')?;
    let at = DateTime::from_str(&format!("{at}Z"), DateTimeFormat::DateTime).ok()?;
    let input: Value = serde_json::from_str(found.target()?.input()?).ok()?;
    let scaling = match input.get("ScalingConfig") {
        None => Scaling::Unchanged,
        Some(scaling) => Scaling::Limit(match scaling.get("MaximumConcurrency") {
            None => None,
            Some(limit) => Some(limit.as_i64()?.try_into().ok()?),
        }),
    };
    Some(Schedule {
        name: found.name()?.to_owned(),
        uuid: input.get("Uuid")?.as_str()?.to_owned(),
        at: Duration::from_secs(at.secs().try_into().ok()?),
        scaling,
    })
}

fn exactly() -> FlexibleTimeWindow {
    FlexibleTimeWindow::builder().mode(FlexibleTimeWindowMode::Off).build().expect("it has a mode")
}
