//! What is done to alarms that exist.
//! <https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_SetAlarmState.html>
//! <https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_DeleteAlarms.html>

use serde::Deserialize;

use super::check::{member, one_of, text};
use super::{Asked, Done, Refusal};
use crate::cloudwatch::AlarmState;
use crate::cloudwatch::alarm::Standing;
use crate::cloudwatch::wire::field::List;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct NewState {
    alarm_name: Option<String>,
    state_value: Option<String>,
    state_reason: Option<String>,
    state_reason_data: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Names {
    #[serde(default)]
    alarm_names: List<String>,
}

/// The state lasts until the alarm is next evaluated.
pub(super) fn set_state(input: NewState, asked: &mut Asked<'_>) -> Result<Done, Refusal> {
    let name = text(member(input.alarm_name, "alarmName")?, "alarmName", 255)?;
    let state = member(input.state_value, "stateValue")?;
    let state = one_of(&state, "stateValue", &AlarmState::ALL, AlarmState::name)?;
    let reason = member(input.state_reason, "stateReason")?;
    let (data, alarms) = (input.state_reason_data, &mut asked.cloudwatch.alarms);
    if reason.chars().count() > 1_023 {
        let constraint = "Member must have length less than or equal to 1023";
        return Err(Refusal::constraint(format!("'{reason}'"), "stateReason", constraint));
    }
    let is_json = |data: &String| serde_json::from_str::<serde::de::IgnoredAny>(data).is_ok();
    if data.as_ref().is_some_and(|data| data.len() > 4_000 || !is_json(data)) {
        return Err(Refusal::format("StateReasonData is not JSON of at most 4000 characters"));
    }
    alarms.get(&name).ok_or_else(Refusal::not_found)?;
    alarms.set(&name, Standing { state, reason, data }, asked.now);
    Ok(Done {})
}

/// All of them or, if one does not exist, none.
pub(super) fn delete(input: Names, asked: &mut Asked<'_>) -> Result<Done, Refusal> {
    let names = input.check()?;
    let alarms = &mut asked.cloudwatch.alarms;
    if names.iter().any(|name| alarms.get(name).is_none()) {
        return Err(Refusal::not_found());
    }
    for name in names {
        alarms.remove(&name, asked.now);
    }
    Ok(Done {})
}

pub(super) fn enable_actions(input: Names, asked: &mut Asked<'_>) -> Result<Done, Refusal> {
    switch_actions(input, true, asked)
}

pub(super) fn disable_actions(input: Names, asked: &mut Asked<'_>) -> Result<Done, Refusal> {
    switch_actions(input, false, asked)
}

/// Names without an alarm are passed over.
fn switch_actions(input: Names, enabled: bool, asked: &mut Asked<'_>) -> Result<Done, Refusal> {
    for name in input.check()? {
        asked.cloudwatch.alarms.enable_actions(&name, enabled, asked.now);
    }
    Ok(Done {})
}

impl Names {
    fn check(self) -> Result<Vec<String>, Refusal> {
        let names = self.alarm_names.0;
        match names.len() {
            0 => Err(Refusal::constraint("null", "alarmNames", "Member must not be null")),
            1..=100 => Ok(names),
            _ => {
                let constraint = "Member must have length less than or equal to 100";
                Err(Refusal::constraint(format!("'[{}]'", names.join(", ")), "alarmNames", constraint))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::testing::{World, at};

    fn world() -> World {
        let mut world = World::new();
        for name in ["a", "b"] {
            let alarm = json!({
                "AlarmName": name, "Namespace": "Shop", "MetricName": "Errors", "Statistic": "Sum", "Period": 60,
                "EvaluationPeriods": 1, "Threshold": 1, "ComparisonOperator": "GreaterThanOrEqualToThreshold",
            });
            world.ask("PutMetricAlarm", alarm);
        }
        world
    }

    fn alarms(world: &mut World, field: &str) -> Vec<Value> {
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
        world.cloudwatch.tick(&mut queues, at(60));
        assert_eq!(alarms(&mut world, "StateReason")[0], "Insufficient Data: 1 datapoint was unknown.");
    }

    #[test]
    fn what_is_no_state_or_no_alarm_is_refused_as_by_cloudwatch() {
        let mut world = world();
        let set = |name: &str, value: &str, data: &str| json!({ "AlarmName": name, "StateValue": value, "StateReason": "drill", "StateReasonData": data });
        let message = "1 validation error detected: Value 'INVALID' at 'stateValue' failed to satisfy constraint: \
            Member must satisfy enum value set: [INSUFFICIENT_DATA, ALARM, OK]";
        let refused = world.refused("SetAlarmState", set("a", "INVALID", "{}"));
        assert_eq!(refused, ("ValidationError", message.to_owned()));
        assert_eq!(world.refused("SetAlarmState", set("c", "OK", "{}")), ("ResourceNotFound", String::new()));
        assert_eq!(world.refused("SetAlarmState", set("a", "OK", "{")).0, "InvalidFormat");
    }

    #[test]
    fn alarms_are_deleted_together_or_not_at_all() {
        let mut world = world();
        let refused = world.refused("DeleteAlarms", json!({ "AlarmNames": ["a", "c"] }));
        assert_eq!((refused.0, alarms(&mut world, "AlarmName").len()), ("ResourceNotFound", 2));
        world.ask("DeleteAlarms", json!({ "AlarmNames": ["a"] }));
        assert_eq!(alarms(&mut world, "AlarmName"), ["b"]);
        assert_eq!(world.refused("DeleteAlarms", json!({})).0, "ValidationError");
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
