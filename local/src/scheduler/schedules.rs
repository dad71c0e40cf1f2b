//! One-time schedules that call `UpdateEventSourceMapping`.
//! <https://docs.aws.amazon.com/scheduler/latest/APIReference/API_CreateSchedule.html>

use std::time::Duration;

use humantime::parse_rfc3339;
use serde_json::{Map, Value, json};

use super::Schedule;
use super::api::{CONFLICT, Context, NOT_FOUND, VALIDATION};
use crate::protocol::{Answer, AwsError};

/// A schedule is given up after so long, unless it says less.
/// <https://docs.aws.amazon.com/scheduler/latest/APIReference/API_RetryPolicy.html>
const A_DAY: u64 = 86_400;

pub(super) fn create(context: &mut Context<'_>) -> Answer {
    let name = name(context);
    if context.service.schedules.contains_key(&name) {
        return Err(CONFLICT.error(format!("Schedule {name} already exists.")));
    }
    put(context, name)
}

/// All that it does not say gets its default.
pub(super) fn update(context: &mut Context<'_>) -> Answer {
    let name = existing(context)?;
    put(context, name)
}

pub(super) fn get(context: &mut Context<'_>) -> Answer {
    let name = existing(context)?;
    let mut definition = context.service.schedules[&name].definition.clone();
    definition.extend([("Name".to_owned(), json!(name)), ("GroupName".to_owned(), json!("default"))]);
    definition.entry("State").or_insert(json!("ENABLED"));
    context.output(&definition)
}

pub(super) fn delete(context: &mut Context<'_>) -> Answer {
    let name = existing(context)?;
    context.service.schedules.remove(&name);
    context.output(&json!({}))
}

fn put(context: &mut Context<'_>, name: String) -> Answer {
    let definition: Map<String, Value> = context.input()?;
    let schedule = schedule(context, definition)?;
    let answer = json!({ "ScheduleArn": format!("arn:aws:scheduler:::schedule/default/{name}") });
    context.service.schedules.insert(name, schedule);
    context.output(&answer)
}

fn name(context: &Context<'_>) -> String {
    context.call.path().rsplit('/').next().unwrap_or_default().to_owned()
}

fn existing(context: &Context<'_>) -> Result<String, AwsError> {
    let name = name(context);
    match context.service.schedules.contains_key(&name) {
        true => Ok(name),
        false => Err(NOT_FOUND.error(format!("Schedule {name} does not exist."))),
    }
}

/// One that calls `UpdateEventSourceMapping` once, and deletes itself.
/// <https://docs.aws.amazon.com/scheduler/latest/UserGuide/schedule-types.html#one-time>
fn schedule(context: &Context<'_>, definition: Map<String, Value>) -> Result<Schedule, AwsError> {
    let invalid = |message: &str| VALIDATION.error(message);
    let text = |of: Option<&Value>| of.and_then(Value::as_str).unwrap_or_default().to_owned();
    let expression = text(definition.get("ScheduleExpression"));
    let at = expression.strip_prefix("at(").and_then(|rest| rest.strip_suffix(')'));
    let at = at.and_then(|at| parse_rfc3339(&format!("{at}Z")).ok());
    let at = at
        .ok_or_else(|| invalid("Invalid Schedule Expression: redrive-local knows at(yyyy-mm-ddThh:mm:ss)"))?;
    if text(definition.get("ActionAfterCompletion")) != "DELETE" {
        return Err(invalid("redrive-local knows the ActionAfterCompletion DELETE"));
    }
    if text(definition.get("FlexibleTimeWindow").and_then(|window| window.get("Mode"))) != "OFF" {
        return Err(invalid("redrive-local knows the FlexibleTimeWindow OFF"));
    }
    let target = definition.get("Target").unwrap_or(&Value::Null);
    if text(target.get("Arn")) != "arn:aws:scheduler:::aws-sdk:lambda:updateEventSourceMapping" {
        return Err(invalid("redrive-local knows the target aws-sdk:lambda:updateEventSourceMapping"));
    }
    if !text(target.get("RoleArn")).starts_with("arn:aws:iam::") {
        return Err(invalid("Provide a valid role ARN"));
    }
    let mut change: Map<String, Value> = serde_json::from_str(&text(target.get("Input")))
        .map_err(|error| invalid(&format!("Invalid RequestJson provided. Reason: {error}")))?;
    let mapping = text(change.remove("Uuid").as_ref());
    if mapping.is_empty() || !mapping.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
        return Err(invalid("Invalid RequestJson provided. Reason: Uuid is not the id of a mapping"));
    }
    let age = target.get("RetryPolicy").and_then(|policy| policy.get("MaximumEventAgeInSeconds"));
    let age = age.and_then(Value::as_u64).unwrap_or(A_DAY);
    let at = context.clock.to_simulated(at);
    Ok(Schedule {
        at,
        due: at,
        mapping,
        change: Value::from(change).to_string().into(),
        given_up_after: Duration::from_secs(age),
        definition,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{Scheduler, api::SERVICE};
    use super::*;
    use crate::protocol::testing::{Client, accepted, at, refused};

    const PATH: &str = "/schedules/resume";

    fn resume() -> Value {
        json!({
            "ScheduleExpression": "at(2026-11-21T12:05:00)",
            "FlexibleTimeWindow": { "Mode": "OFF" },
            "ActionAfterCompletion": "DELETE",
            "Target": {
                "Arn": "arn:aws:scheduler:::aws-sdk:lambda:updateEventSourceMapping",
                "RoleArn": "arn:aws:iam::123456789012:role/resume",
                "Input": r#"{"Uuid":"a1-b2","Enabled":true}"#,
                "RetryPolicy": { "MaximumEventAgeInSeconds": 60 },
            },
        })
    }

    fn client() -> Client<Scheduler> {
        Client::new(&SERVICE, Scheduler::default())
    }

    #[test]
    fn a_schedule_calls_lambda_once_it_is_due_and_again_for_a_while_if_that_refuses() {
        let mut client = client();
        accepted(&client.rest("POST", PATH, &resume().to_string()));
        assert_eq!((client.state.next_due(), client.state.due(at(299)).is_none()), (Some(at(300)), true));
        let (name, request) = client.state.due(at(300)).unwrap();
        assert_eq!(
            (request.uri().path(), &request.body()[..]),
            ("/2015-03-31/event-source-mappings/a1-b2", &br#"{"Enabled":true}"#[..])
        );
        client.state.called(&name, false);
        assert_eq!(client.state.next_due(), Some(at(360)));
        client.state.called(&name, false);
        assert_eq!(client.state.next_due(), None, "it is older than 60 s");
        accepted(&client.rest("POST", PATH, &resume().to_string()));
        client.state.called(&name, true);
        assert_eq!(refused(&client.rest("GET", PATH, "")).status, 404, "it deletes itself");
    }

    #[test]
    fn a_name_is_taken_until_its_schedule_is_gone() {
        let mut client = client();
        for (method, status) in [("GET", 404), ("PUT", 404), ("DELETE", 404), ("POST", 200), ("POST", 409)] {
            assert_eq!(client.rest(method, PATH, &resume().to_string()).status(), status, "{method}");
        }
        let mut later = resume();
        later["ScheduleExpression"] = json!("at(2026-11-21T12:06:00)");
        accepted(&client.rest("PUT", PATH, &later.to_string()));
        let read = accepted(&client.rest("GET", PATH, ""));
        assert_eq!(
            (&read["Name"], &read["ScheduleExpression"]),
            (&json!("resume"), &later["ScheduleExpression"])
        );
        accepted(&client.rest("DELETE", PATH, ""));
        assert_eq!(client.state.next_due(), None);
    }

    #[test]
    fn what_cannot_be_done_here_is_refused() {
        let mut client = client();
        for (place, value) in [
            ("/ScheduleExpression", "rate(5 minutes)"),
            ("/FlexibleTimeWindow/Mode", "FLEXIBLE"),
            ("/ActionAfterCompletion", "NONE"),
            ("/Target/Arn", "arn:aws:scheduler:::aws-sdk:sqs:sendMessage"),
            ("/Target/RoleArn", "resume"),
            ("/Target/Input", r#"{"UUID":"a1-b2"}"#),
            ("/Target/Input", r#"{"Uuid":"a1/b2"}"#),
            ("/Target/Input", "Uuid"),
        ] {
            let mut wrong = resume();
            *wrong.pointer_mut(place).unwrap() = json!(value);
            let refused = refused(&client.rest("POST", PATH, &wrong.to_string()));
            assert_eq!(
                (refused.status, refused.shape.as_str()),
                (400, "ValidationException"),
                "{place} {value}"
            );
        }
    }
}
