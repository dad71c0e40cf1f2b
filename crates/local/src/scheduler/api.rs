//! The operations of the Scheduler, in REST JSON.
//! <https://docs.aws.amazon.com/scheduler/latest/APIReference/Welcome.html>

use std::time::SystemTime;

use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::{Schedule, Scheduler};
use crate::protocol::{
    Answer, AwsError, ErrorKind, RequestContext, Route, Service, UNKNOWN_OPERATION, plain,
};

/// The one target that schedules have here.
const SEND_MESSAGE: &str = "arn:aws:scheduler:::aws-sdk:sqs:sendMessage";

const LONGEST_NAME: usize = 64;

const INVALID: ErrorKind = ErrorKind::named("ValidationException");
const CONFLICT: ErrorKind = ErrorKind::named("ConflictException").with_status(StatusCode::CONFLICT);
const NOT_FOUND: ErrorKind = ErrorKind::named("ResourceNotFoundException").with_status(StatusCode::NOT_FOUND);

pub(crate) static SERVICE: Service<Scheduler> = Service {
    name: "scheduler",
    operations: &[
        ("CreateSchedule", create),
        ("DeleteSchedule", delete),
        ("GetSchedule", get),
        ("ListSchedules", list),
    ],
    target: None,
    query: None,
    routes: &[
        Route(Method::GET, "schedules", "ListSchedules", 200),
        Route(Method::POST, "schedules/*", "CreateSchedule", 200),
        Route(Method::GET, "schedules/*", "GetSchedule", 200),
        Route(Method::DELETE, "schedules/*", "DeleteSchedule", 200),
    ],
    unknown: (
        UNKNOWN_OPERATION.with_status(StatusCode::NOT_FOUND),
        "redrive-local does not support {} of the Scheduler",
    ),
    unreadable: (INVALID, "Could not parse request body into json: {}"),
    body: plain,
};

type Context<'a> = RequestContext<'a, Scheduler>;

impl Context<'_> {
    fn schedule_name(&self) -> String {
        self.call.path().rsplit('/').next().unwrap_or_default().to_owned()
    }

    fn schedule_arn(&self, name: &str) -> String {
        let Scheduler { region, account, .. } = &*self.service;
        format!("arn:aws:scheduler:{region}:{account}:schedule/default/{name}")
    }

    fn found(&self) -> Result<(String, &Schedule), AwsError> {
        let name = self.schedule_name();
        match self.service.schedules.get(&name) {
            Some(schedule) => Ok((name, schedule)),
            None => Err(NOT_FOUND.error(format!("Schedule {name} does not exist."))),
        }
    }
}

fn create(context: &mut Context<'_>) -> Answer {
    let (name, input): (String, Value) = (context.schedule_name(), context.input()?);
    let is_name = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if !(1..=LONGEST_NAME).contains(&name.len()) || !name.chars().all(is_name) {
        return Err(INVALID.constraint(
            &name,
            "name",
            "satisfy regular expression pattern: ^[0-9a-zA-Z-_.]+$",
        ));
    }
    if let Some(group) = input["GroupName"].as_str().filter(|group| *group != "default") {
        return Err(NOT_FOUND.error(format!("Schedule group {group} does not exist.")));
    }
    if input["FlexibleTimeWindow"]["Mode"] != "OFF" || !input["Target"]["RoleArn"].is_string() {
        return Err(
            INVALID.error("redrive-local needs a FlexibleTimeWindow whose Mode is OFF, and a RoleArn")
        );
    }
    if input["Target"]["Arn"] != SEND_MESSAGE {
        return Err(INVALID.error(format!("redrive-local supports only the target {SEND_MESSAGE}")));
    }
    let expression = input["ScheduleExpression"].as_str().unwrap_or_default();
    let is_utc = input["ScheduleExpressionTimezone"].as_str().is_none_or(|zone| zone == "UTC");
    let Some(due) = time_of(expression).filter(|_| is_utc) else {
        return Err(INVALID.error(format!(
            "Invalid Schedule Expression {expression}. redrive-local supports at(…) in UTC"
        )));
    };
    if input["State"].as_str().is_some_and(|state| state != "ENABLED") {
        return Err(INVALID.error("redrive-local supports only the State ENABLED"));
    }
    let is_json = |text: &str| serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
    if !input["Target"]["Input"].as_str().is_some_and(is_json) {
        return Err(INVALID.error("Invalid RequestJson provided. Reason: the Input is not JSON"));
    }
    // A moment that has passed is due now.
    let due = context.clock.to_simulated(due).max(context.now);
    let arn = context.schedule_arn(&name);
    if context.service.schedules.contains_key(&name) {
        return Err(CONFLICT.error(format!("Schedule {name} already exists.")));
    }
    let schedule = Schedule { input, created: context.now, due, is_done: false };
    context.service.schedules.insert(name, schedule);
    context.output(&json!({ "ScheduleArn": arn }))
}

fn get(context: &mut Context<'_>) -> Answer {
    let (name, schedule) = context.found()?;
    let mut output = schedule.input.clone();
    output["Name"] = json!(name);
    output["GroupName"] = json!("default");
    output["State"] = json!("ENABLED");
    output["Arn"] = json!(context.schedule_arn(&name));
    output["CreationDate"] = json!(context.stamp(schedule.created));
    context.output(&output)
}

fn delete(context: &mut Context<'_>) -> Answer {
    let (name, _) = context.found()?;
    context.service.schedules.remove(&name);
    context.output(&json!({}))
}

fn list(context: &mut Context<'_>) -> Answer {
    let summary = |(name, schedule): (&String, &Schedule)| {
        json!({
            "Arn": context.schedule_arn(name),
            "Name": name,
            "GroupName": "default",
            "State": "ENABLED",
            "CreationDate": context.stamp(schedule.created),
            "Target": { "Arn": schedule.input["Target"]["Arn"] },
        })
    };
    let prefix = context.call.parameter("NamePrefix").unwrap_or_default();
    let listed = context.service.schedules.iter().filter(|(name, _)| name.starts_with(&prefix));
    context.output(&json!({ "Schedules": listed.map(summary).collect::<Vec<_>>() }))
}

/// Reads `at(2026-12-24T18:00:00)`.
/// <https://docs.aws.amazon.com/scheduler/latest/UserGuide/schedule-types.html#one-time>
fn time_of(expression: &str) -> Option<SystemTime> {
    let text = expression.strip_prefix("at(")?.strip_suffix(')')?;
    let is_whole = text.len() == "2026-12-24T18:00:00".len();
    humantime::parse_rfc3339(&format!("{text}Z")).ok().filter(|_| is_whole)
}
