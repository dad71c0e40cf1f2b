//! <https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_DescribeAlarms.html>

use serde::{Deserialize, Serialize};

use super::request::{Context, Dimension, dimension_list, max_records, metric};
use crate::cloudwatch::alarm::{Alarm, LowSamples, MissingData};
use crate::cloudwatch::{AlarmState, Statistic, Unit, error};
use crate::protocol::{Answer, List, Number, Stamp, VALIDATION, page};

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
struct Input {
    alarm_names: List<String>,
    alarm_name_prefix: Option<String>,
    alarm_types: List<String>,
    state_value: Option<String>,
    action_prefix: Option<String>,
    max_records: Option<Number>,
    next_token: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct OfMetric {
    metric_name: Option<String>,
    namespace: Option<String>,
    statistic: Option<String>,
    extended_statistic: Option<String>,
    #[serde(default)]
    dimensions: List<Dimension>,
    period: Option<Number>,
    unit: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Output {
    /// Always empty: composite alarms and log alarms do not exist here.
    composite_alarms: [(); 0],
    log_alarms: [(); 0],
    metric_alarms: Vec<MetricAlarm>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_token: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct AlarmsOfMetric {
    metric_alarms: Vec<MetricAlarm>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct MetricAlarm {
    alarm_name: String,
    alarm_arn: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    alarm_description: Option<String>,
    alarm_configuration_updated_timestamp: Stamp,
    actions_enabled: bool,
    #[serde(rename = "OKActions")]
    ok_actions: Vec<String>,
    alarm_actions: Vec<String>,
    insufficient_data_actions: Vec<String>,
    state_value: &'static str,
    state_reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    state_reason_data: Option<String>,
    state_updated_timestamp: Stamp,
    metric_name: String,
    namespace: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    statistic: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extended_statistic: Option<String>,
    dimensions: Vec<Dimension>,
    period: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    unit: Option<&'static str>,
    evaluation_periods: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    datapoints_to_alarm: Option<u32>,
    threshold: f64,
    comparison_operator: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    treat_missing_data: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    evaluate_low_sample_count_percentile: Option<&'static str>,
    state_transitioned_timestamp: Stamp,
}

pub(super) fn describe(context: &mut Context<'_>) -> Answer {
    let input: Input = context.input()?;
    let named = |state| VALIDATION.one_of(state, "stateValue", &AlarmState::ALL, AlarmState::name);
    let state = input.state_value.as_deref().map(named).transpose()?;
    for kind in &input.alarm_types.0 {
        VALIDATION.one_of(kind, "alarmTypes", &["CompositeAlarm", "MetricAlarm", "LogAlarm"], |name| name)?;
    }
    if !input.alarm_names.0.is_empty() && input.alarm_name_prefix.is_some() {
        return Err(VALIDATION.error("AlarmNames and AlarmNamePrefix must not both be given"));
    }
    VALIDATION.list(&input.alarm_names.0, "alarmNames", 100)?;
    let most = max_records(input.max_records)?;
    let alarms = context.service.alarms.iter();
    let alarms =
        alarms.filter(|alarm| state.is_none_or(|state| state == alarm.record.state) && input.matches(alarm));
    let found = page(alarms, input.next_token.as_deref(), most, error::next_token)?;
    let metric_alarms = found.items.into_iter().map(|alarm| MetricAlarm::of(alarm, context)).collect();
    context.output(&Output {
        composite_alarms: [],
        log_alarms: [],
        metric_alarms,
        next_token: found.next_token,
    })
}

/// <https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_DescribeAlarmsForMetric.html>
pub(super) fn of_metric(context: &mut Context<'_>) -> Answer {
    let input: OfMetric = context.input()?;
    let metric = metric(input.namespace, input.metric_name, input.dimensions, "")?;
    let statistic = input.statistic.or(input.extended_statistic);
    let alarms = context.service.alarms.iter().filter(|alarm| {
        let definition = &alarm.definition;
        definition.metric == metric
            && statistic.as_ref().is_none_or(|name| definition.statistic.to_string() == *name)
            && input.period.is_none_or(|period| definition.period as f64 == period.0)
            && input
                .unit
                .as_deref()
                .is_none_or(|name| definition.unit.is_some_and(|unit| unit.name() == name))
    });
    context.output(&AlarmsOfMetric {
        metric_alarms: alarms.map(|alarm| MetricAlarm::of(alarm, context)).collect(),
    })
}

impl Input {
    fn matches(&self, alarm: &Alarm) -> bool {
        let (names, definition) = (&self.alarm_names.0, &alarm.definition);
        let actions = &definition.actions;
        let mut all_actions = actions.ok.iter().chain(&actions.alarm).chain(&actions.insufficient_data);
        (names.is_empty() || names.contains(&definition.name))
            && (self.alarm_types.0.is_empty() || self.alarm_types.0.iter().any(|kind| kind == "MetricAlarm"))
            && self.alarm_name_prefix.as_ref().is_none_or(|prefix| definition.name.starts_with(prefix))
            && self
                .action_prefix
                .as_ref()
                .is_none_or(|prefix| all_actions.any(|action| action.starts_with(prefix)))
    }
}

impl MetricAlarm {
    fn of(alarm: &Alarm, context: &Context<'_>) -> Self {
        let definition = &alarm.definition;
        let (actions, name) = (&definition.actions, definition.statistic.to_string());
        let is_percentile = matches!(definition.statistic, Statistic::Percentile(_));
        Self {
            alarm_name: definition.name.clone(),
            alarm_arn: context.service.alarm_arn(&definition.name),
            alarm_description: definition.description.clone(),
            alarm_configuration_updated_timestamp: context.stamp(alarm.defined_at),
            actions_enabled: actions.enabled,
            ok_actions: actions.ok.clone(),
            alarm_actions: actions.alarm.clone(),
            insufficient_data_actions: actions.insufficient_data.clone(),
            state_value: alarm.record.state.name(),
            state_reason: alarm.record.reason.clone(),
            state_reason_data: alarm.record.data.clone(),
            state_updated_timestamp: context.stamp(alarm.updated_at),
            metric_name: definition.metric.name.clone(),
            namespace: definition.metric.namespace.clone(),
            statistic: (!is_percentile).then(|| name.clone()),
            extended_statistic: is_percentile.then_some(name),
            dimensions: dimension_list(&definition.metric.dimensions),
            period: definition.period,
            unit: definition.unit.map(Unit::name),
            evaluation_periods: definition.evaluation_periods,
            datapoints_to_alarm: definition.datapoints_to_alarm,
            threshold: definition.threshold,
            comparison_operator: definition.comparison.name(),
            treat_missing_data: definition.missing.map(MissingData::name),
            evaluate_low_sample_count_percentile: definition.low_samples.map(LowSamples::name),
            state_transitioned_timestamp: context.stamp(alarm.changed_at),
        }
    }
}
