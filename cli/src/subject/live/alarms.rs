//! The alarms that concern the queues and functions, of all that CloudWatch has.

use std::collections::BTreeMap;
use std::time::Duration;

use aws_sdk_cloudwatch::types::{AlarmType, CompositeAlarm, Dimension, MetricAlarm};

use super::super::{Alarm, Function, Metric, Queue, Seen};
use crate::aws::{Aws, DescribeError};

/// Those on a metric of a queue or a function, and those that the stack made, whatever they stand on.
pub(super) async fn read(
    aws: &Aws,
    queues: &[Queue],
    functions: &[Function],
    own: &[String],
) -> anyhow::Result<Vec<Alarm>> {
    let mut pages = aws
        .cloudwatch()
        .describe_alarms()
        .alarm_types(AlarmType::MetricAlarm)
        .alarm_types(AlarmType::CompositeAlarm)
        .into_paginator()
        .send();
    let (mut alarms, mut composites) = (Vec::new(), Vec::new());
    while let Some(page) = pages.next().await {
        let page = page.describe_error("read the alarms", "cloudwatch:DescribeAlarms")?;
        alarms.extend(page.metric_alarms.unwrap_or_default());
        composites.extend(page.composite_alarms.unwrap_or_default());
    }
    let names: Vec<&str> = queues
        .iter()
        .map(Queue::name)
        .chain(functions.iter().map(|function| function.name.as_str()))
        .collect();
    let concerned = |alarm: &&MetricAlarm| {
        let is_own = alarm.alarm_name().is_some_and(|name| own.iter().any(|own| own == name));
        is_own
            || dimensions_of(alarm).any(|dimension| dimension.value().is_some_and(|it| names.contains(&it)))
    };
    Ok(alarms.iter().filter(concerned).map(|found| alarm(found, &composites)).collect())
}

/// Those of its metric, or of all metrics that its expression stands on.
fn dimensions_of(alarm: &MetricAlarm) -> impl Iterator<Item = &Dimension> {
    let stats = alarm.metrics().iter().filter_map(|query| query.metric_stat()?.metric());
    alarm.dimensions().iter().chain(stats.flat_map(|metric| metric.dimensions()))
}

fn alarm(found: &MetricAlarm, composites: &[CompositeAlarm]) -> Alarm {
    let name = found.alarm_name().unwrap_or_default();
    let actions: Vec<String> = actions(found, composites).cloned().collect();
    let statistic = found.statistic().map(|statistic| statistic.as_str()).or(found.extended_statistic());
    let count = |number: Option<i32>| number.and_then(|number| u32::try_from(number).ok());
    let periods = count(found.evaluation_periods());
    Alarm {
        name: name.to_owned(),
        metric: metric(found),
        may_be_of_a_queue: true,
        math: math(found),
        statistic: statistic.unwrap_or_default().to_owned(),
        period: count(found.period()).map(|seconds| Duration::from_secs(seconds.into())),
        evaluation_periods: periods,
        // As many as there are periods, where nothing was said.
        datapoints_to_alarm: count(found.datapoints_to_alarm()).or(periods),
        threshold: found.threshold(),
        comparison: found
            .comparison_operator()
            .map(|operator| operator.as_str())
            .unwrap_or_default()
            .to_owned(),
        missing_data: found.treat_missing_data().unwrap_or("missing").to_owned(),
        actions_enabled: found.actions_enabled().unwrap_or(true) || !actions.is_empty(),
        actions: Some(actions).into(),
        line: None,
        id: name.to_owned(),
    }
}

/// What it does itself, and what alarms do that stand on it.
/// <https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_PutCompositeAlarm.html>
fn actions<'a>(found: &'a MetricAlarm, composites: &'a [CompositeAlarm]) -> impl Iterator<Item = &'a String> {
    let name = found.alarm_name().unwrap_or_default();
    let stands_on_it = move |composite: &&CompositeAlarm| {
        composite.alarm_rule().is_some_and(|rule| {
            rule.split(['(', ')', '"', '\''])
                .any(|part| part == name || part.ends_with(&format!(":alarm:{name}")))
        })
    };
    let above = composites.iter().filter(|composite| composite.actions_enabled().unwrap_or(true));
    let own = found.actions_enabled().unwrap_or(true).then(|| found.alarm_actions());
    own.into_iter()
        .flatten()
        .chain(above.filter(stands_on_it).flat_map(|composite| composite.alarm_actions()))
}

fn metric(found: &MetricAlarm) -> Option<Metric> {
    one(found.namespace(), found.metric_name(), found.dimensions())
}

fn math(found: &MetricAlarm) -> Seen<Vec<Metric>> {
    if found.metrics().is_empty() {
        return Seen::Absent;
    }
    let mut metrics = Vec::new();
    for query in found.metrics() {
        let stat = query.metric_stat().and_then(|stat| stat.metric());
        let metric = match (stat, query.expression()) {
            (Some(metric), _) => one(metric.namespace(), metric.metric_name(), metric.dimensions()),
            (None, Some(expression)) if !Metric::are_found_by(expression) => continue,
            (None, _) => None,
        };
        let Some(metric) = metric else { return Seen::Unknown };
        metrics.push(metric);
    }
    Seen::There(metrics)
}

fn one(namespace: Option<&str>, name: Option<&str>, dimensions: &[Dimension]) -> Option<Metric> {
    let pair = |dimension: &Dimension| Some((dimension.name()?.to_owned(), dimension.value()?.to_owned()));
    Some(Metric {
        namespace: namespace?.to_owned(),
        name: name?.to_owned(),
        dimensions: dimensions.iter().filter_map(pair).collect::<BTreeMap<_, _>>(),
    })
}
