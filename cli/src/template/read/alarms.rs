//! `AWS::CloudWatch::Alarm` on one metric.

use std::collections::BTreeMap;
use std::time::Duration;

use redrive_local::{AlarmConfig, Comparison, MissingData, Statistic};

use super::Notes;
use crate::template::document::{Node, TemplateError};
use crate::template::properties::Properties;
use crate::template::resolve::Resolver;

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

/// The alarms that a plain statistic decides; those on metric math or percentiles are left out.
pub(super) fn read(resolver: &Resolver<'_>, notes: &mut Notes) -> Result<Vec<AlarmConfig>, TemplateError> {
    let mut alarms = Vec::new();
    for resource in resolver.resources(&["AWS::CloudWatch::Alarm"])? {
        if resource.properties.get("Statistic").is_some() {
            alarms.push(alarm(&resource.name, Properties::new(&resource.id, &resource.properties))?);
        } else {
            notes.add(format!("alarm {} has no Statistic", resource.id));
        }
    }
    Ok(alarms)
}

/// <https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_PutMetricAlarm.html>
fn alarm(name: &str, properties: Properties<'_>) -> Result<AlarmConfig, TemplateError> {
    let missing = |field: &str| properties.error(format!("{field} is missing"));
    let periods =
        properties.whole("EvaluationPeriods", 1..=1440)?.ok_or_else(|| missing("EvaluationPeriods"))?;
    let threshold = properties.required("Threshold")?;
    Ok(AlarmConfig {
        name: name.to_owned(),
        namespace: properties.required("Namespace")?.to_owned(),
        metric: properties.required("MetricName")?.to_owned(),
        dimensions: dimensions(properties)?,
        statistic: properties.choice("Statistic", &STATISTICS)?.ok_or_else(|| missing("Statistic"))?,
        period: period(properties)?,
        evaluation_periods: periods,
        datapoints_to_alarm: properties.whole("DatapointsToAlarm", 1..=periods)?.unwrap_or(periods),
        threshold: threshold.parse().map_err(|_| properties.refuse("Threshold", threshold, "a number"))?,
        comparison: properties
            .choice("ComparisonOperator", &COMPARISONS)?
            .ok_or_else(|| missing("ComparisonOperator"))?,
        missing: properties.choice("TreatMissingData", &MISSING)?.unwrap_or_default(),
    })
}

/// Metrics here have a value a minute, so shorter periods count as one.
fn period(properties: Properties<'_>) -> Result<Duration, TemplateError> {
    let seconds =
        properties.whole("Period", 10..=604_800)?.ok_or_else(|| properties.error("Period is missing"))?;
    match seconds {
        10 | 20 | 30 => Ok(Duration::from_secs(60)),
        whole if whole % 60 == 0 => Ok(Duration::from_secs(whole.into())),
        other => Err(properties.refuse("Period", &other.to_string(), "10, 20, 30, or a multiple of 60")),
    }
}

fn dimensions(properties: Properties<'_>) -> Result<BTreeMap<String, String>, TemplateError> {
    let list = properties.part("Dimensions").and_then(|part| part.node.as_list()).unwrap_or_default();
    let pair = |dimension: &Node| {
        let text = |key: &str| dimension.get(key).and_then(Node::as_text).map(str::to_owned);
        text("Name").zip(text("Value")).ok_or_else(|| dimension.error("a dimension has a Name and a Value"))
    };
    list.iter().map(pair).collect()
}
