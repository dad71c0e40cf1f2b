//! Reads the parts of a report concurrently. A part that fails becomes a note.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use anyhow::Context;
use aws_sdk_cloudwatch::primitives::{DateTime, DateTimeFormat};
use aws_sdk_cloudwatch::types::{Dimension, MetricAlarm};

use super::report::{Age, Alarm, Earlier, NotRead, QueueReport, Report, UnreadPart};
use crate::aws::{Aws, DescribeError};
use crate::find::{Of, Pair, Queue};
use crate::queue::mappings::Mapping;
use crate::sqs::{OLDEST, RECENT, maximum_each_minute};

/// Greatest age of a former value that is still useful.
const EARLIER: Duration = Duration::from_secs(24 * 60 * 60);

/// Pages with 100 alarms each. Users with more have other tools.
const ALARM_PAGES: usize = 50;

impl Report {
    pub(super) async fn read(aws: &Aws, pair: &Pair) -> Self {
        let queues: Vec<&Queue> = pair.source.iter().chain(&pair.dead).collect();
        let (ages, (mappings, alarms)) = tokio::join!(ages(aws, &queues), async {
            let mappings = match &pair.source {
                Some(source) => Mapping::list(aws, Of::Queue(&source.arn)).await,
                None => Ok(Vec::new()),
            };
            let functions: Vec<&str> = match (&mappings, &pair.stack) {
                (Ok(mappings), _) => mappings.iter().map(|mapping| mapping.function.as_str()).collect(),
                (Err(_), Some(stack)) => stack.function_name.as_deref().into_iter().collect(),
                (Err(_), None) => Vec::new(),
            };
            let alarms = alarms(aws, &queues, &functions).await;
            (mappings, alarms)
        });
        let mut not_read = Vec::new();
        if let Some(why) = pair.not_read() {
            not_read.push(NotRead { what: UnreadPart::DeadLetterQueue, why: why.to_owned() });
        }
        let ages = part(UnreadPart::Ages, ages, &mut not_read).unwrap_or_default();
        let age = |queue: &Queue| ages.get(queue.name()).copied().unwrap_or_default();
        let queue = |queue: &Queue| QueueReport::new(queue, age(queue));
        Self {
            mappings: part(UnreadPart::Mappings, mappings, &mut not_read),
            alarms: part(UnreadPart::Alarms, alarms, &mut not_read),
            not_read,
            ..Self::new(pair.source.as_ref().map(queue), pair.dead.as_ref().map(queue))
        }
    }
}

fn part<T>(what: UnreadPart, read: anyhow::Result<T>, not_read: &mut Vec<NotRead>) -> Option<T> {
    read.map_err(|error| not_read.push(NotRead { what, why: format!("{error:#}") })).ok()
}

/// Reads the newest age of the oldest message by queue, and the newest that is not 0. Leaves out queues without one.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-available-cloudwatch-metrics.html>
async fn ages(aws: &Aws, queues: &[&Queue]) -> anyhow::Result<BTreeMap<String, Age>> {
    let now = SystemTime::now();
    let queries: Vec<_> = queues
        .iter()
        .enumerate()
        .map(|(index, queue)| maximum_each_minute(&format!("age{index}"), OLDEST, queue))
        .collect();
    let read = aws
        .cloudwatch()
        .get_metric_data()
        .start_time(DateTime::from(now - EARLIER))
        .end_time(DateTime::from(now))
        .set_metric_data_queries(Some(queries))
        .send()
        .await;
    let read = read.describe_error("read the age of the oldest message", "cloudwatch:GetMetricData")?;
    // The newest value is first.
    let newest = read.metric_data_results().iter().filter_map(|series| {
        let index: usize = series.id()?.strip_prefix("age")?.parse().ok()?;
        let points = series.timestamps().iter().zip(series.values()).filter_map(|(time, age)| {
            let past = now.duration_since(SystemTime::try_from(*time).ok()?).unwrap_or_default();
            Some((past, Duration::try_from_secs_f64(*age).ok()?))
        });
        let points: Vec<_> = points.collect();
        let recent = points.first().filter(|(past, _)| *past <= RECENT).map(|(_, age)| *age);
        let earlier = points.iter().find(|(_, age)| age.as_secs() > 0);
        let earlier =
            earlier.map(|(past, age)| Earlier { seconds: age.as_secs(), seconds_ago: past.as_secs() });
        Some((queues.get(index)?.name().to_owned(), Age { now: recent, earlier }))
    });
    Ok(newest.collect())
}

/// Reads the alarms on any metric of these queues and functions.
async fn alarms(aws: &Aws, queues: &[&Queue], functions: &[&str]) -> anyhow::Result<Vec<Alarm>> {
    let is_meant = |dimension: &Dimension| match (dimension.name(), dimension.value()) {
        (Some("QueueName"), Some(name)) => queues.iter().any(|queue| queue.name() == name),
        (Some("FunctionName"), Some(name)) => functions.contains(&name),
        _ => false,
    };
    let mut pages = aws.cloudwatch().describe_alarms().max_records(100).into_paginator().send();
    let mut found = Vec::new();
    for _ in 0..ALARM_PAGES {
        let Some(page) = pages.next().await else { break };
        let page = page.describe_error("read the alarms", "cloudwatch:DescribeAlarms")?;
        let meant = page.metric_alarms().iter().filter(|alarm| dimensions(alarm).any(is_meant));
        found.extend(meant.map(alarm).collect::<anyhow::Result<Vec<_>>>()?);
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

/// Returns the dimensions of an alarm on one or several metrics.
fn dimensions(alarm: &MetricAlarm) -> impl Iterator<Item = &Dimension> {
    let metrics = alarm.metrics().iter().filter_map(|query| query.metric_stat()?.metric());
    alarm.dimensions().iter().chain(metrics.flat_map(|metric| metric.dimensions()))
}

fn alarm(alarm: &MetricAlarm) -> anyhow::Result<Alarm> {
    let since = alarm.state_transitioned_timestamp().or_else(|| alarm.state_updated_timestamp());
    let since_text = since.map(|since| since.fmt(DateTimeFormat::DateTime)).transpose();
    let duration = since.and_then(|since| SystemTime::try_from(*since).ok()?.elapsed().ok());
    Ok(Alarm {
        name: alarm.alarm_name().unwrap_or_default().to_owned(),
        state: alarm.state_value().map_or("unknown", |state| state.as_str()).to_owned(),
        since: since_text.context("CloudWatch returned an invalid time")?,
        for_seconds: duration.map(|duration| duration.as_secs()),
    })
}
