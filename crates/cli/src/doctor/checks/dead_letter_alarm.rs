//! The alarm on waiting dead letters.

use redrive_iac::deployment::{Alarm, Deployment, Metric, Queue, Seen};

use crate::doctor::feed::{is_received_from, letter_queues};
use crate::doctor::finding::{Check, Found, Level};
use crate::doctor::words::Words::All;

/// Counts waiting messages, no matter how they arrived.
const VISIBLE: &str = "ApproximateNumberOfMessagesVisible";

/// Age of the oldest message since SQS moved it.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/setting-up-dead-letter-queue-retention.html>
const AGE: &str = "ApproximateAgeOfOldestMessage";

const PAGE: &str = "https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/dead-letter-queues-alarms-cloudwatch.html";

/// Returns each dead-letter queue with the alarms on it, or nothing if alarms were not read.
fn watched(deployment: &Deployment) -> Vec<(&Queue, Vec<&Alarm>)> {
    let Some(alarms) = &deployment.alarms else { return Vec::new() };
    let queues = letter_queues(deployment);
    queues.map(|queue| (queue, alarms.iter().filter(|alarm| is_on(alarm, queue)).collect())).collect()
}

fn is_on(alarm: &Alarm, queue: &Queue) -> bool {
    alarm.metric.as_ref().is_some_and(|metric| is_of(metric, queue))
}

fn is_of(metric: &Metric, queue: &Queue) -> bool {
    metric.namespace == "AWS/SQS"
        && metric.dimensions.get("QueueName").is_some_and(|name| name == queue.name())
}

/// Returns true if an alarm that cannot be checked, on metric math or on an unknown metric, may watch the queue.
fn may_be_watched(deployment: &Deployment, queue: &Queue) -> bool {
    let is_on = |alarm: &Alarm| match &alarm.math {
        Seen::There(metrics) => metrics.iter().any(|metric| is_of(metric, queue)),
        Seen::Absent => alarm.may_be_of_a_queue,
        Seen::Unknown => true,
    };
    let mut unclear = deployment.alarms.iter().flatten().filter(|alarm| alarm.metric.is_none());
    deployment.hides_alarms || queue.may_be_watched_elsewhere || unclear.any(is_on)
}

fn watches(alarm: &Alarm, name: &str) -> bool {
    alarm.metric.as_ref().is_some_and(|metric| metric.name == name)
}

/// Returns true if it watches a metric that rises while letters wait. An alarm on the age must go off above its threshold.
fn shows_letters(alarm: &Alarm) -> bool {
    watches(alarm, VISIBLE) || (watches(alarm, AGE) && alarm.comparison.starts_with("GreaterThan"))
}

pub(in crate::doctor) const DEAD_LETTER_ALARM_MISSING: Check = Check {
    code: "dead-letter-alarm-missing",
    level: Level::Error,
    title: "No alarm watches the dead-letter queue",
    why: All(
        "Dead letters wait until they expire, and then SQS deletes them. Nobody is notified, so they are lost as surely \
          as without a dead-letter queue, only later.",
    ),
    link: PAGE,
    fix: All(
        "Add an AWS::CloudWatch::Alarm with Namespace: AWS/SQS, MetricName: ApproximateNumberOfMessagesVisible, Dimensions: \
         [{Name: QueueName, Value: !GetAtt DeadLetterQueue.QueueName}], Statistic: Maximum, Period: 60, EvaluationPeriods: 1, \
         ComparisonOperator: GreaterThanOrEqualToThreshold, Threshold: 1, TreatMissingData: notBreaching and AlarmActions \
         with a topic that somebody reads.",
    ),
    find: |deployment| {
        let is_unwatched = |(queue, alarms): &(&Queue, Vec<&Alarm>)| {
            // A receiver of the letters sees each of them.
            alarms.is_empty() && !may_be_watched(deployment, queue) && !is_received_from(deployment, queue)
        };
        let unwatched = watched(deployment).into_iter().filter(is_unwatched);
        let what = |id: &str| format!("No alarm watches a metric of {id}.");
        unwatched.map(|(queue, _)| Found::at(queue, what(&queue.id))).collect()
    },
};

pub(in crate::doctor) const DEAD_LETTER_ALARM_METRIC: Check = Check {
    code: "dead-letter-alarm-metric",
    level: Level::Error,
    title: "The dead-letter alarm watches the wrong metric",
    why: All(
        "SQS moves letters to the dead-letter queue, and the alarm stays OK: NumberOfMessagesSent does not count the \
         messages that a redrive policy moves. Two metrics show waiting letters: ApproximateNumberOfMessagesVisible, \
         which AWS recommends for this alarm, and a high ApproximateAgeOfOldestMessage.",
    ),
    link: PAGE,
    fix: All("Set MetricName to ApproximateNumberOfMessagesVisible."),
    find: |deployment| {
        let mut found = Vec::new();
        for (queue, alarms) in watched(deployment) {
            if alarms.iter().any(|alarm| shows_letters(alarm)) || may_be_watched(deployment, queue) {
                continue;
            }
            found.extend(alarms.into_iter().map(|alarm| {
                let metric = alarm.metric.as_ref().map_or("", |metric| &metric.name);
                Found::at(alarm, format!("{} watches only {metric} of {}.", alarm.id, queue.id))
            }));
        }
        found
    },
};

pub(in crate::doctor) const DEAD_LETTER_ALARM_THRESHOLD: Check = Check {
    code: "dead-letter-alarm-threshold",
    level: Level::Error,
    title: "The dead-letter alarm does not distinguish one letter from none",
    why: All(
        "The first dead letter may be the only one. An alarm that needs two letters ignores it. An alarm that is in \
         ALARM while the queue is empty does not change when the letter arrives. The letter then expires unseen.",
    ),
    link: PAGE,
    fix: All("Set Statistic: Maximum, ComparisonOperator: GreaterThanOrEqualToThreshold, Threshold: 1."),
    find: |deployment| {
        let mut found = Vec::new();
        for (queue, alarms) in watched(deployment) {
            let alarms: Vec<_> = alarms.into_iter().filter(|alarm| watches(alarm, VISIBLE)).collect();
            if alarms.iter().any(|alarm| distinguishes_one_letter(alarm)) {
                continue;
            }
            found.extend(alarms.into_iter().map(|alarm| {
                let Alarm { id, statistic, comparison, .. } = alarm;
                let threshold = alarm.threshold.unwrap_or_default();
                Found::at(
                    alarm,
                    format!("{id} goes off on {} at {statistic} {comparison} {threshold}.", queue.id),
                )
            }));
        }
        found
    },
};

/// Returns true if the alarm goes off at one letter and not at none, or if its threshold is unknown.
fn distinguishes_one_letter(alarm: &Alarm) -> bool {
    let Some(threshold) = alarm.threshold else { return true };
    let minutes = alarm.period.map_or(1.0, |period| (period.as_secs_f64() / 60.0).max(1.0));
    // SQS reports once a minute.
    let value = |letters: f64| match alarm.statistic.as_str() {
        "Sum" => letters * minutes,
        "SampleCount" => minutes,
        _ => letters,
    };
    let goes_off = |letters: f64| match alarm.comparison.as_str() {
        "GreaterThanThreshold" => value(letters) > threshold,
        "GreaterThanOrEqualToThreshold" => value(letters) >= threshold,
        "LessThanThreshold" => value(letters) < threshold,
        "LessThanOrEqualToThreshold" => value(letters) <= threshold,
        _ => letters > 0.0,
    };
    goes_off(1.0) && !goes_off(0.0)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn one_letter_must_be_enough_and_none_too_few() {
        for (statistic, comparison, threshold, fits) in [
            ("Maximum", "GreaterThanOrEqualToThreshold", 1.0, true),
            ("Maximum", "GreaterThanThreshold", 0.0, true),
            ("Sum", "GreaterThanOrEqualToThreshold", 1.0, true),
            ("Average", "GreaterThanThreshold", 0.0, true),
            ("Maximum", "GreaterThanThreshold", 1.0, false),
            ("Maximum", "GreaterThanOrEqualToThreshold", 2.0, false),
            ("Maximum", "GreaterThanOrEqualToThreshold", 0.0, false),
            ("SampleCount", "GreaterThanOrEqualToThreshold", 1.0, false),
            ("Maximum", "LessThanThreshold", 1.0, false),
        ] {
            let alarm = Alarm {
                statistic: statistic.to_owned(),
                comparison: comparison.to_owned(),
                threshold: Some(threshold),
                period: Some(Duration::from_secs(60)),
                ..Alarm::default()
            };
            assert_eq!(distinguishes_one_letter(&alarm), fits, "{statistic} {comparison} {threshold}");
        }
    }
}
