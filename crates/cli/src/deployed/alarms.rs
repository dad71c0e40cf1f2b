//! Selects the alarms on the queues and functions from all of CloudWatch's.

use std::collections::BTreeMap;
use std::time::Duration;

use aws_sdk_cloudwatch::types::{AlarmType, CompositeAlarm, Dimension, MetricAlarm};
use redrive_iac::deployment::{Alarm, Function, Metric, Queue, Seen};

use super::unseen::{Most, Unseen};
use crate::aws::{Aws, DescribeError};

/// Part of CloudWatch's list that is read.
const MOST: Most = Most { pages: 100, on_a_page: 100 };

/// All alarms of an account and region, or the first of them.
#[derive(Debug, Default)]
pub(super) struct Listed {
    alarms: Vec<MetricAlarm>,
    composites: Vec<CompositeAlarm>,
    /// True if there are more.
    is_cut: bool,
}

pub(super) async fn list(aws: &Aws) -> anyhow::Result<Listed> {
    let mut pages = aws
        .cloudwatch()
        .describe_alarms()
        .alarm_types(AlarmType::MetricAlarm)
        .alarm_types(AlarmType::CompositeAlarm)
        .max_records(MOST.on_a_page)
        .into_paginator()
        .send();
    let (pages, is_cut) = MOST
        .read(async || pages.next().await)
        .await
        .describe_error("read the alarms", "cloudwatch:DescribeAlarms")?;
    let mut listed = Listed { is_cut, ..Listed::default() };
    for page in pages {
        listed.alarms.extend(page.metric_alarms.unwrap_or_default());
        listed.composites.extend(page.composite_alarms.unwrap_or_default());
    }
    Ok(listed)
}

impl Listed {
    /// Returns the alarms on a metric of a queue or a function, and those of the stack on any metric.
    pub(super) fn of(&self, queues: &[Queue], functions: &[Function], own: &[String]) -> Vec<Alarm> {
        let names: Vec<&str> = queues
            .iter()
            .map(Queue::name)
            .chain(functions.iter().map(|function| function.name.as_str()))
            .collect();
        let concerned = |alarm: &&MetricAlarm| {
            let is_own = alarm.alarm_name().is_some_and(|name| own.iter().any(|own| own == name));
            is_own
                || dimensions_of(alarm)
                    .any(|dimension| dimension.value().is_some_and(|it| names.contains(&it)))
        };
        self.alarms.iter().filter(concerned).map(|found| alarm(found, &self.composites)).collect()
    }

    /// Returns true if alarms that were not read, or that search for metrics, may watch any queue. Notes them.
    pub(super) fn hides_some(&self, unseen: &mut Unseen) -> bool {
        if self.is_cut {
            unseen.add(MOST.note("other alarms"));
        }
        let searching: Vec<&str> = self.of_any_queue().collect();
        if let [first, others @ ..] = &searching[..] {
            let others = if others.is_empty() { "" } else { " and others" };
            unseen.add(format!(
                "which queues the alarm {first}{others} watches: its metrics come from a search expression"
            ));
        }
        self.is_cut || !searching.is_empty()
    }

    /// Returns the names of alarms that search for their metrics in all of SQS.
    fn of_any_queue(&self) -> impl Iterator<Item = &str> {
        let searches = |alarm: &&MetricAlarm| {
            let mut expressions = alarm.metrics().iter().filter_map(|query| query.expression());
            expressions.any(|expression| Metric::are_found_by(expression) && expression.contains("AWS/SQS"))
        };
        self.alarms.iter().filter(searches).filter_map(MetricAlarm::alarm_name)
    }
}

/// Returns the dimensions of its metric, or of all metrics in its expression.
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
        description: found.alarm_description().unwrap_or_default().to_owned(),
        metric: metric(found),
        may_be_of_a_queue: true,
        math: math(found),
        statistic: statistic.unwrap_or_default().to_owned(),
        period: count(found.period()).map(|seconds| Duration::from_secs(seconds.into())),
        evaluation_periods: periods,
        // It defaults to the number of periods.
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

/// Returns the actions of the alarm, and of the composite alarms that watch it.
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

#[cfg(test)]
mod tests {
    use aws_sdk_cloudwatch::types::MetricDataQuery;

    use super::*;

    #[test]
    fn an_alarm_that_searches_among_all_queues_may_watch_any() {
        let alarm = |name: &str, expression: &str| {
            let query = MetricDataQuery::builder().id("a").expression(expression).build();
            MetricAlarm::builder().alarm_name(name).metrics(query).build()
        };
        let select = r#"SELECT MAX(ApproximateNumberOfMessagesVisible) FROM SCHEMA("AWS/SQS", QueueName)"#;
        let alarms = vec![
            alarm("select", select),
            alarm("search", "SUM(SEARCH('{AWS/SQS,QueueName} dead', 'Maximum', 60))"),
            alarm("sum", "a + b"),
            alarm("of functions", r#"SELECT SUM(Errors) FROM "AWS/Lambda""#),
        ];
        let listed = Listed { alarms, ..Listed::default() };
        assert_eq!(listed.of_any_queue().collect::<Vec<_>>(), ["select", "search"]);
    }
}
