//! Alarms on one metric.

use std::time::Duration;

use redrive_local::{AlarmConfig, Comparison, MissingData, Statistic};

use super::Result;
use super::allowed::{Allowed, Properties};
use crate::subject::{Alarm, Subject};
use crate::template::Resolver;

const STATISTICS: [(&str, Statistic); 5] = [
    ("Sum", Statistic::Sum),
    ("Maximum", Statistic::Maximum),
    ("Minimum", Statistic::Minimum),
    ("Average", Statistic::Average),
    ("SampleCount", Statistic::SampleCount),
];

const COMPARISONS: [(&str, Comparison); 4] = [
    ("GreaterThanThreshold", Comparison::GreaterThanThreshold),
    ("GreaterThanOrEqualToThreshold", Comparison::GreaterThanOrEqualToThreshold),
    ("LessThanThreshold", Comparison::LessThanThreshold),
    ("LessThanOrEqualToThreshold", Comparison::LessThanOrEqualToThreshold),
];

const MISSING: [(&str, MissingData); 4] = [
    ("missing", MissingData::Missing),
    ("notBreaching", MissingData::NotBreaching),
    ("breaching", MissingData::Breaching),
    ("ignore", MissingData::Ignore),
];

/// <https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_PutMetricAlarm.html>
const ALARM: [(&str, Allowed); 9] = [
    ("Namespace", Allowed::Text),
    ("MetricName", Allowed::Text),
    ("Statistic", Allowed::Text),
    ("ComparisonOperator", Allowed::Text),
    ("TreatMissingData", Allowed::Text),
    ("EvaluationPeriods", Allowed::Whole(1, 1440)),
    ("Threshold", Allowed::Number),
    ("Period", Allowed::Whole(10, 604_800)),
    ("DatapointsToAlarm", Allowed::Whole(1, 1440)),
];

/// The alarms that a plain statistic decides; those on metric math or percentiles are left out.
pub(super) fn read(
    resolver: &Resolver<'_>,
    subject: &Subject,
    notes: &mut Vec<String>,
) -> Result<Vec<AlarmConfig>> {
    let mut alarms = Vec::new();
    for resource in super::runnable(resolver, &["AWS::CloudWatch::Alarm"])? {
        let properties = Properties::of(&resource);
        let known = subject.alarms.iter().flatten().find(|alarm| alarm.id == resource.id);
        match known.filter(|_| properties.part("Statistic").is_some()) {
            Some(known) => alarms.push(alarm(known, properties)?),
            None => notes.push(format!("alarm {} has no Statistic", resource.id)),
        }
    }
    Ok(alarms)
}

fn alarm(known: &Alarm, properties: Properties<'_>) -> Result<AlarmConfig> {
    properties.check(&ALARM)?;
    let missing = |name: &str| properties.error(format!("{name} is missing"));
    let metric = known.metric.clone().ok_or_else(|| {
        let name = ["Namespace", "MetricName"].into_iter().find(|name| properties.text(name).is_none());
        name.map_or_else(|| properties.error("a dimension has a Name and a Value"), missing)
    })?;
    let periods = known.evaluation_periods.ok_or_else(|| missing("EvaluationPeriods"))?;
    properties.check(&[("DatapointsToAlarm", Allowed::Whole(1, periods))])?;
    let comparison = properties.choice("ComparisonOperator", &COMPARISONS)?;
    Ok(AlarmConfig {
        name: known.name.clone(),
        namespace: metric.namespace,
        metric: metric.name,
        dimensions: metric.dimensions,
        statistic: properties.choice("Statistic", &STATISTICS)?.ok_or_else(|| missing("Statistic"))?,
        period: minutes(known.period.ok_or_else(|| missing("Period"))?, properties)?,
        evaluation_periods: periods,
        datapoints_to_alarm: known.datapoints_to_alarm.unwrap_or(periods),
        threshold: known.threshold.ok_or_else(|| missing("Threshold"))?,
        comparison: comparison.ok_or_else(|| missing("ComparisonOperator"))?,
        missing: properties.choice("TreatMissingData", &MISSING)?.unwrap_or_default(),
    })
}

/// Metrics here have a value a minute, so shorter periods count as one.
fn minutes(period: Duration, properties: Properties<'_>) -> Result<Duration> {
    match period.as_secs() {
        10 | 20 | 30 => Ok(Duration::from_secs(60)),
        seconds if seconds % 60 == 0 => Ok(period),
        other => Err(properties.refuse("Period", &other.to_string(), "10, 20, 30, or a multiple of 60")),
    }
}
