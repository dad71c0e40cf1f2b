//! <https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_PutMetricAlarm.html>

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::request::{Context, Dimension, dimensions, name, unit};
use crate::cloudwatch::alarm::{Actions, Comparison, Definition, LowSamples, MissingData};
use crate::cloudwatch::{LARGEST_VALUE, Metric, Statistic, error};
use crate::protocol::{Answer, AwsError, Flag, List, Number, VALIDATION};

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
struct Input {
    alarm_name: Option<String>,
    alarm_description: Option<String>,
    actions_enabled: Option<Flag>,
    #[serde(rename = "OKActions")]
    ok_actions: List<String>,
    alarm_actions: List<String>,
    insufficient_data_actions: List<String>,
    metric_name: Option<String>,
    namespace: Option<String>,
    statistic: Option<String>,
    extended_statistic: Option<String>,
    dimensions: List<Dimension>,
    period: Option<Number>,
    unit: Option<String>,
    evaluation_periods: Option<Number>,
    datapoints_to_alarm: Option<Number>,
    threshold: Option<Number>,
    comparison_operator: Option<String>,
    treat_missing_data: Option<String>,
    evaluate_low_sample_count_percentile: Option<String>,
    /// Metric math.
    metrics: Option<IgnoredAny>,
    /// Anomaly detection.
    threshold_metric_id: Option<IgnoredAny>,
    /// PromQL.
    evaluation_criteria: Option<IgnoredAny>,
}

/// Creates an alarm on one metric with a threshold. Tags are not kept.
pub(super) fn put(context: &mut Context<'_>) -> Answer {
    let definition = context.input::<Input>()?.definition()?;
    context.service.put_alarm(definition, context.now);
    context.nothing()
}

impl Input {
    fn definition(self) -> Result<Definition, AwsError> {
        for (field, given) in [
            ("Metrics", &self.metrics),
            ("ThresholdMetricId", &self.threshold_metric_id),
            ("EvaluationCriteria", &self.evaluation_criteria),
        ] {
            if given.is_some() {
                let message =
                    format!("redrive-local supports alarms on a single metric only, but {field} is set");
                return Err(VALIDATION.error(message));
            }
        }
        let metric = Metric {
            namespace: name(self.namespace, "namespace")?,
            name: name(self.metric_name, "metricName")?,
            dimensions: dimensions(self.dimensions, "Dimensions")?,
        };
        let actions = Actions {
            enabled: self.actions_enabled.is_none_or(|flag| flag.0),
            ok: actions(self.ok_actions, "oKActions")?,
            alarm: actions(self.alarm_actions, "alarmActions")?,
            insufficient_data: actions(self.insufficient_data_actions, "insufficientDataActions")?,
        };
        let operator = VALIDATION.required(self.comparison_operator, "comparisonOperator")?;
        let treat =
            |name: &str| VALIDATION.one_of(name, "treatMissingData", &MissingData::ALL, MissingData::name);
        let low = |name: &str| {
            VALIDATION.one_of(name, "evaluateLowSampleCountPercentile", &LowSamples::ALL, LowSamples::name)
        };
        let threshold = VALIDATION.required(self.threshold, "threshold")?.0;
        if threshold.is_nan() || threshold.abs() > LARGEST_VALUE {
            return Err(error::invalid_value("Threshold", threshold));
        }
        let datapoints = self.datapoints_to_alarm.map(|number| whole(Some(number), "DatapointsToAlarm", 0));
        let definition = Definition {
            name: name(self.alarm_name, "alarmName")?,
            description: self.alarm_description,
            metric,
            unit: unit(self.unit.as_deref(), "Unit")?,
            statistic: statistic(self.statistic.as_deref(), self.extended_statistic.as_deref())?,
            period: whole(self.period, "Period", 0)?.into(),
            evaluation_periods: whole(self.evaluation_periods, "EvaluationPeriods", 0)?,
            datapoints_to_alarm: datapoints.transpose()?,
            threshold,
            comparison: VALIDATION.one_of(
                &operator,
                "comparisonOperator",
                &Comparison::ALL,
                Comparison::name,
            )?,
            missing: self.treat_missing_data.as_deref().map(treat).transpose()?,
            low_samples: self.evaluate_low_sample_count_percentile.as_deref().map(low).transpose()?,
            actions,
        };
        let description = definition.description.as_deref().unwrap_or_default();
        VALIDATION.text(description, "alarmDescription", 0..=1_024)?;
        definition.check().map_err(|message| VALIDATION.error(message))?;
        Ok(definition)
    }
}

fn statistic(plain: Option<&str>, extended: Option<&str>) -> Result<Statistic, AwsError> {
    let parsed =
        |name: &str| name.parse().map_err(|error| VALIDATION.error(format!("ExtendedStatistic: {error}")));
    match (plain, extended) {
        (Some(name), None) => {
            let all = ["SampleCount", "Average", "Sum", "Minimum", "Maximum"];
            parsed(VALIDATION.one_of(name, "statistic", &all, |name| name)?)
        }
        (None, Some(name)) => match parsed(name)? {
            statistic @ Statistic::Percentile(_) => Ok(statistic),
            _ => Err(VALIDATION.error(format!("ExtendedStatistic {name} is not a percentile"))),
        },
        (None, None) => Err(VALIDATION.error("either Statistic or ExtendedStatistic must be given")),
        (Some(_), Some(_)) => Err(VALIDATION.error("Statistic and ExtendedStatistic must not both be given")),
    }
}

fn whole(value: Option<Number>, parameter: &str, least: u32) -> Result<u32, AwsError> {
    let value = value.ok_or_else(|| VALIDATION.error(format!("{parameter} must not be null")))?;
    let whole = value.whole(least);
    whole.ok_or_else(|| {
        VALIDATION.error(format!("{parameter} {} is not an integer of at least {least}", value.0))
    })
}

fn actions(given: List<String>, member: &str) -> Result<Vec<String>, AwsError> {
    VALIDATION.list(&given.0, member, 5)?;
    if let Some(other) = given.0.iter().find(|action| !action.starts_with("arn:") || action.len() > 1_024) {
        return Err(VALIDATION.error(format!("Invalid arn syntax: {other}")));
    }
    Ok(given.0)
}
