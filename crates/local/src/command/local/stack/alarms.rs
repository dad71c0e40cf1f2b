//! Alarms on one metric.

use std::time::Duration;

use redrive_iac::deployment::{Alarm, Deployment};
use redrive_iac::{Node, Resolver};

use super::Result;
use super::allowed::{Allowed, Properties};
use super::notes::Notes;
use crate::{AlarmConfig, Comparison, MissingData, Statistic, Unit, is_published};

const STATISTICS: [Statistic; 5] =
    [Statistic::Sum, Statistic::Maximum, Statistic::Minimum, Statistic::Average, Statistic::SampleCount];

/// <https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_PutMetricAlarm.html>
const ALARM: [(&str, Allowed); 10] = [
    ("Namespace", Allowed::Text),
    ("MetricName", Allowed::Text),
    ("Unit", Allowed::Text),
    ("Statistic", Allowed::Text),
    ("ComparisonOperator", Allowed::Text),
    ("TreatMissingData", Allowed::Text),
    ("EvaluationPeriods", Allowed::Whole(1, 1440)),
    ("Threshold", Allowed::Number),
    ("Period", Allowed::Whole(10, 604_800)),
    ("DatapointsToAlarm", Allowed::Whole(1, 1440)),
];

/// Properties of alarms that are not a threshold on a plain statistic.
const OTHERS: [(&str, &str); 4] = [
    ("ThresholdMetricId", "anomaly detection"),
    ("Metrics", "metric math"),
    ("ExtendedStatistic", "a percentile"),
    ("EvaluationCriteria", "PromQL"),
];

/// Properties without an effect: alarms here call nothing, and work without a text.
const UNUSED: [&str; 6] =
    ["ActionsEnabled", "AlarmActions", "AlarmDescription", "InsufficientDataActions", "OKActions", "Tags"];

/// Reads the alarms on a plain statistic. One note names the others, each with the reason.
pub(super) fn read(
    resolver: &Resolver<'_>,
    subject: &Deployment,
    notes: &mut Notes,
) -> Result<Vec<AlarmConfig>> {
    let (mut alarms, mut others) = (Vec::new(), Vec::new());
    let (resources, doubtful) = resolver.resources(&["AWS::CloudWatch::Alarm"]);
    for (resource, properties) in resources.iter().map(|resource| (resource, Properties::of(resource))) {
        let known = subject.alarms.iter().flatten().find(|alarm| alarm.id == resource.id);
        match (known, why_not(properties)) {
            (Some(known), None) => alarms.push(alarm(known, properties)?),
            (_, why) => others.push((resource.id.clone(), why.unwrap_or_default())),
        }
    }
    let (composites, more) = resolver.resources(&["AWS::CloudWatch::CompositeAlarm"]);
    others.extend(composites.into_iter().map(|composite| (composite.id, "composite".to_owned())));
    let unnamed = "AlarmName cannot be resolved";
    others.extend(doubtful.into_iter().chain(more).map(|alarm| (alarm.id, unnamed.to_owned())));
    if !others.is_empty() {
        let named: Vec<_> = others.iter().map(|(id, why)| format!("{id} ({why})")).collect();
        let alarms = if named.len() == 1 { "alarm" } else { "alarms" };
        notes.add(["", ""], &format!("{alarms} {}", named.join(", ")), ["", ""]);
    }
    Ok(alarms)
}

/// Returns the reason why an alarm is not evaluated here, if it is not.
fn why_not(properties: Properties<'_>) -> Option<String> {
    let is_unknown =
        |(name, value): &&(String, Node)| !UNUSED.contains(&name.as_str()) && value.first_unknown().is_some();
    let unknown = properties.node.entries().iter().find(is_unknown).map(|(name, _)| name.as_str());
    let unknown = unknown.or(properties.node.unknown().map(|_| "Properties"));
    if let Some((_, other)) = OTHERS.iter().find(|(name, _)| properties.node.get(name).is_some()) {
        Some((*other).to_owned())
    } else if let Some(name) = unknown {
        Some(format!("{name} cannot be resolved"))
    } else if properties.node.get("Statistic").is_none() {
        Some("no Statistic".to_owned())
    } else {
        let metric = properties.text("Namespace").zip(properties.text("MetricName"));
        let elsewhere = metric.filter(|(namespace, metric)| !is_published(namespace, metric));
        elsewhere.map(|(namespace, metric)| format!("redrive local does not publish {metric} of {namespace}"))
    }
}

fn alarm(known: &Alarm, properties: Properties<'_>) -> Result<AlarmConfig> {
    properties.check(&ALARM)?;
    let missing = |name: &str| properties.error(format!("{name} is missing"));
    let metric = known.metric.clone().ok_or_else(|| {
        let name = ["Namespace", "MetricName"].into_iter().find(|name| properties.text(name).is_none());
        name.map_or_else(|| properties.error("a dimension has a Name and a Value"), missing)
    })?;
    let periods = known.evaluation_periods.ok_or_else(|| missing("EvaluationPeriods"))?;
    properties.check(&[("DatapointsToAlarm", Allowed::Whole(1, periods.into()))])?;
    let comparison = properties.choice("ComparisonOperator", &Comparison::ALL, |it| it.name().to_owned())?;
    Ok(AlarmConfig {
        name: known.name.clone(),
        description: Some(known.description.clone()).filter(|description| !description.is_empty()),
        namespace: metric.namespace,
        metric: metric.name,
        dimensions: metric.dimensions,
        unit: properties.text("Unit").map(|name| unit(name, properties)).transpose()?,
        statistic: properties
            .choice("Statistic", &STATISTICS, |it| it.to_string())?
            .ok_or_else(|| missing("Statistic"))?,
        period: allowed(known.period.ok_or_else(|| missing("Period"))?, properties)?,
        evaluation_periods: periods,
        datapoints_to_alarm: known.datapoints_to_alarm.unwrap_or(periods),
        threshold: known.threshold.ok_or_else(|| missing("Threshold"))?,
        comparison: comparison.ok_or_else(|| missing("ComparisonOperator"))?,
        missing: properties
            .choice("TreatMissingData", &MissingData::ALL, |it| it.name().to_owned())?
            .unwrap_or_default(),
    })
}

fn unit(name: &str, properties: Properties<'_>) -> Result<Unit> {
    Unit::parse(name)
        .ok_or_else(|| properties.refuse("Unit", name, "a unit of CloudWatch, such as Count or Seconds"))
}

fn allowed(period: Duration, properties: Properties<'_>) -> Result<Duration> {
    match period.as_secs() {
        seconds if matches!(seconds, 10 | 20 | 30) || seconds % 60 == 0 => Ok(period),
        other => Err(properties.refuse("Period", &other.to_string(), "10, 20, 30, or a multiple of 60")),
    }
}
