//! The operations, whatever protocol they come in.

mod alarm_history;
mod change_alarms;
mod check;
mod describe_alarms;
mod get_metric_data;
mod get_metric_statistics;
mod list_metrics;
mod page;
mod put_metric_alarm;
mod put_metric_data;
mod reading;
#[cfg(test)]
mod testing;

use std::time::SystemTime;

use ciborium::Value;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::CloudWatch;
use super::wire::Refusal;
use super::wire::field::{Stamp, Time};
use crate::clock::ClientClock;

/// What an operation may look at or change.
#[derive(Debug)]
pub(super) struct Asked<'a> {
    pub(super) cloudwatch: &'a mut CloudWatch,
    pub(super) now: SystemTime,
    pub(super) clock: ClientClock,
}

/// An answer that says nothing.
#[derive(Debug, Serialize)]
struct Done {}

pub(super) fn perform(operation: &str, input: &Value, asked: &mut Asked<'_>) -> Result<Value, Refusal> {
    match operation {
        "PutMetricData" => run(input, asked, put_metric_data::put),
        "GetMetricData" => run(input, asked, get_metric_data::get),
        "GetMetricStatistics" => run(input, asked, get_metric_statistics::get),
        "ListMetrics" => run(input, asked, |input, asked| list_metrics::list(&input, asked)),
        "PutMetricAlarm" => run(input, asked, put_metric_alarm::put),
        "DescribeAlarms" => run(input, asked, |input, asked| describe_alarms::describe(&input, asked)),
        "DescribeAlarmsForMetric" => run(input, asked, describe_alarms::of_metric),
        "DescribeAlarmHistory" => run(input, asked, |input, asked| alarm_history::describe(&input, asked)),
        "SetAlarmState" => run(input, asked, change_alarms::set_state),
        "DeleteAlarms" => run(input, asked, change_alarms::delete),
        "EnableAlarmActions" => run(input, asked, change_alarms::enable_actions),
        "DisableAlarmActions" => run(input, asked, change_alarms::disable_actions),
        _ => Err(Refusal::unknown(operation)),
    }
}

fn run<Input: DeserializeOwned, Output: Serialize>(
    input: &Value,
    asked: &mut Asked<'_>,
    operation: impl FnOnce(Input, &mut Asked<'_>) -> Result<Output, Refusal>,
) -> Result<Value, Refusal> {
    let output = operation(input.deserialized().map_err(Refusal::unreadable)?, asked)?;
    Ok(Value::serialized(&output).expect("plain values can be written"))
}

impl Asked<'_> {
    fn simulated(&self, time: Time) -> SystemTime {
        self.clock.to_simulated(time.0)
    }

    fn stamp(&self, at: SystemTime) -> Stamp {
        Stamp(self.clock.to_client(at))
    }
}
