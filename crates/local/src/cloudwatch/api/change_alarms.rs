//! Operations that change existing alarms.
//! <https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_SetAlarmState.html>
//! <https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_DeleteAlarms.html>

use serde::Deserialize;

use super::request::{Context, name};
use crate::cloudwatch::AlarmState;
use crate::cloudwatch::alarm::AlarmRecord;
use crate::cloudwatch::error::{self, INVALID_FORMAT};
use crate::protocol::{Answer, AwsError, List, VALIDATION};

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct NewState {
    alarm_name: Option<String>,
    state_value: Option<String>,
    state_reason: Option<String>,
    state_reason_data: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Names {
    #[serde(default)]
    alarm_names: List<String>,
}

/// Sets the state of an alarm until its next evaluation.
pub(super) fn set_state(context: &mut Context<'_>) -> Answer {
    let input: NewState = context.input()?;
    let name = name(input.alarm_name, "alarmName")?;
    let state = VALIDATION.required(input.state_value, "stateValue")?;
    let state = VALIDATION.one_of(&state, "stateValue", &AlarmState::ALL, AlarmState::name)?;
    let reason = VALIDATION.required(input.state_reason, "stateReason")?;
    VALIDATION.text(&reason, "stateReason", 0..=1_023)?;
    let (data, alarms) = (input.state_reason_data, &mut context.service.alarms);
    let is_json = |data: &String| serde_json::from_str::<serde::de::IgnoredAny>(data).is_ok();
    if data.as_ref().is_some_and(|data| data.len() > 4_000 || !is_json(data)) {
        return Err(INVALID_FORMAT.error("StateReasonData is not JSON of at most 4000 characters"));
    }
    alarms.get(&name).ok_or_else(error::not_found)?;
    alarms.set(&name, AlarmRecord { state, reason, data }, context.now);
    context.nothing()
}

/// Deletes all named alarms, or none of them if one does not exist.
pub(super) fn delete(context: &mut Context<'_>) -> Answer {
    let names = names(context)?;
    let alarms = &mut context.service.alarms;
    if names.iter().any(|name| alarms.get(name).is_none()) {
        return Err(error::not_found());
    }
    for name in names {
        alarms.remove(&name, context.now);
    }
    context.nothing()
}

pub(super) fn enable_actions(context: &mut Context<'_>) -> Answer {
    switch_actions(context, true)
}

pub(super) fn disable_actions(context: &mut Context<'_>) -> Answer {
    switch_actions(context, false)
}

/// Switches actions on or off, ignoring names without an alarm.
fn switch_actions(context: &mut Context<'_>, enabled: bool) -> Answer {
    for name in names(context)? {
        context.service.alarms.enable_actions(&name, enabled, context.now);
    }
    context.nothing()
}

fn names(context: &Context<'_>) -> Result<Vec<String>, AwsError> {
    let input: Names = context.input()?;
    let names = input.alarm_names.0;
    if names.is_empty() {
        return Err(VALIDATION.not_null("alarmNames"));
    }
    VALIDATION.list(&names, "alarmNames", 100)?;
    Ok(names)
}
