//! What is done to alarms that exist.
//! <https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_SetAlarmState.html>
//! <https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_DeleteAlarms.html>

use serde::Deserialize;

use super::request::{Context, name};
use crate::cloudwatch::AlarmState;
use crate::cloudwatch::alarm::Standing;
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

/// The state lasts until the alarm is next evaluated.
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
    alarms.set(&name, Standing { state, reason, data }, context.now);
    context.nothing()
}

/// All of them or, if one does not exist, none.
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

/// Names without an alarm are passed over.
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

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::testing::client;
    use crate::cloudwatch::CloudWatch;
    use crate::protocol::testing::{Client, at};

    fn world() -> Client<CloudWatch> {
        let mut world = client();
        for name in ["a", "b"] {
            let alarm = json!({
                "AlarmName": name, "Namespace": "Shop", "MetricName": "Errors", "Statistic": "Sum", "Period": 60,
                "EvaluationPeriods": 1, "Threshold": 1, "ComparisonOperator": "GreaterThanOrEqualToThreshold",
            });
            world.ask("PutMetricAlarm", alarm);
        }
        world
    }

    fn alarms(world: &mut Client<CloudWatch>, field: &str) -> Vec<Value> {
        let found = world.ask("DescribeAlarms", json!({}));
        found["MetricAlarms"].as_array().unwrap().iter().map(|alarm| alarm[field].clone()).collect()
    }

    #[test]
    fn a_state_that_is_set_lasts_until_the_alarm_is_evaluated() {
        let mut world = world();
        let state = json!({ "AlarmName": "a", "StateValue": "ALARM", "StateReason": "drill" });
        world.ask("SetAlarmState", state);
        assert_eq!(alarms(&mut world, "StateValue"), ["ALARM", "INSUFFICIENT_DATA"]);
        assert_eq!(alarms(&mut world, "StateReason"), ["drill", "Unchecked: Initial alarm creation"]);
        let mut queues = crate::sqs::Sqs::new("eu-west-1", "123456789012");
        world.state.tick(&mut queues, at(60));
        assert_eq!(alarms(&mut world, "StateReason")[0], "Insufficient Data: 1 datapoint was unknown.");
    }

    #[test]
    fn what_is_no_state_or_no_alarm_is_refused_as_by_cloudwatch() {
        let mut world = world();
        let set = |name: &str, value: &str, data: &str| json!({ "AlarmName": name, "StateValue": value, "StateReason": "drill", "StateReasonData": data });
        let message = "1 validation error detected: Value 'INVALID' at 'stateValue' failed to satisfy constraint: \
            Member must satisfy enum value set: [INSUFFICIENT_DATA, ALARM, OK]";
        let refused = world.refused("SetAlarmState", set("a", "INVALID", "{}"));
        assert_eq!((refused.code.as_str(), refused.message.as_str()), ("ValidationError", message));
        let refused = world.refused("SetAlarmState", set("c", "OK", "{}"));
        assert_eq!((refused.code.as_str(), refused.message.as_str()), ("ResourceNotFound", ""));
        assert_eq!(world.refused("SetAlarmState", set("a", "OK", "{")).code, "InvalidFormat");
    }

    #[test]
    fn alarms_are_deleted_together_or_not_at_all() {
        let mut world = world();
        let refused = world.refused("DeleteAlarms", json!({ "AlarmNames": ["a", "c"] }));
        assert_eq!((refused.code.as_str(), alarms(&mut world, "AlarmName").len()), ("ResourceNotFound", 2));
        world.ask("DeleteAlarms", json!({ "AlarmNames": ["a"] }));
        assert_eq!(alarms(&mut world, "AlarmName"), ["b"]);
        assert_eq!(world.refused("DeleteAlarms", json!({})).code, "ValidationError");
    }

    #[test]
    fn actions_are_switched_off_and_on() {
        let mut world = world();
        world.ask("DisableAlarmActions", json!({ "AlarmNames": ["a", "none"] }));
        assert_eq!(alarms(&mut world, "ActionsEnabled"), [false, true]);
        world.ask("EnableAlarmActions", json!({ "AlarmNames": ["a"] }));
        assert_eq!(alarms(&mut world, "ActionsEnabled"), [true, true]);
    }
}
