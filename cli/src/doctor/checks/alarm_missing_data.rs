//! Alarms that take a minute without data for the opposite of what it is.

use super::alarm_metric::{alarms, concerns, is_ours};
use crate::doctor::feed::dead_letter_queues;
use crate::doctor::finding::{Check, Found, Level};
use crate::doctor::words::Words;
use crate::subject::{Alarm, Metric};

pub(in crate::doctor) const ALARM_MISSING_DATA: Check = Check {
    code: "alarm-missing-data",
    level: Level::Error,
    title: "An alarm takes missing data for the opposite",
    why: Words::All(
        "SQS and Lambda publish no zeros: a minute in which nothing was sent, received or invoked has no value. An alarm \
          that waits for a low value sees none, and never goes off unless missing data is breaching. An alarm that waits for a \
          high value goes off on an idle queue if missing data is breaching.",
    ),
    link: "https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-available-cloudwatch-metrics.html",
    fix: Words::All(
        "Set TreatMissingData: breaching on an alarm that is to notice that nothing happens, notBreaching on the others.",
    ),
    find: |subject| {
        let found =
            alarms(subject).filter(|(_, metric)| concerns(metric, subject)).filter_map(|(alarm, metric)| {
                let dead = dead_letter_queues(subject)
                    .any(|queue| metric.dimensions.get("QueueName").is_some_and(|it| it == queue.name()));
                let Alarm { id, comparison, missing_data, .. } = alarm;
                let what = mistake(alarm, metric, dead)?;
                Some(Found::at(alarm, format!("{id} ({} {comparison}, {missing_data}) {what}.", metric.name)))
            });
        found.collect()
    },
};

fn mistake(alarm: &Alarm, metric: &Metric, is_of_dead_letter_queue: bool) -> Option<&'static str> {
    match (waits_for(&alarm.comparison)?, alarm.missing_data.as_str()) {
        (Value::Low, "missing" | "ignore" | "notBreaching") if has_no_zeros(metric) => Some("never goes off"),
        (Value::High, "breaching") if is_missing_when_idle(metric, is_of_dead_letter_queue) => {
            Some("goes off when nothing happens")
        }
        _ => None,
    }
}

enum Value {
    Low,
    High,
}

/// None of a range around a model.
fn waits_for(comparison: &str) -> Option<Value> {
    match comparison {
        "LessThanThreshold" | "LessThanOrEqualToThreshold" => Some(Value::Low),
        "GreaterThanThreshold" | "GreaterThanOrEqualToThreshold" => Some(Value::High),
        _ => None,
    }
}

/// Whether it counts what happens, and so has no value where nothing does.
fn has_no_zeros(metric: &Metric) -> bool {
    match metric.namespace.as_str() {
        "AWS/SQS" => metric.name.starts_with("NumberOf") || metric.name == "SentMessageSize",
        "AWS/Lambda" => metric.name == "Invocations",
        _ => false,
    }
}

/// The depth is 0 while Lambda polls the queue, and missing on a dead-letter queue that nobody asks about for six hours.
fn is_missing_when_idle(metric: &Metric, is_of_dead_letter_queue: bool) -> bool {
    match metric.namespace.as_str() {
        "AWS/SQS" => metric.name != "ApproximateNumberOfMessagesVisible" || is_of_dead_letter_queue,
        "AWS/Lambda" => true,
        _ => is_ours(&metric.name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_alarm_says_of_an_idle_queue_follows_from_what_has_no_value_then() {
        let (never, always) = (Some("never goes off"), Some("goes off when nothing happens"));
        let (low, high) = ("LessThanThreshold", "GreaterThanOrEqualToThreshold");
        for (namespace, name, comparison, missing, expected) in [
            ("AWS/SQS", "NumberOfMessagesReceived", low, "missing", never),
            ("AWS/SQS", "NumberOfMessagesSent", low, "notBreaching", never),
            ("AWS/SQS", "NumberOfMessagesSent", low, "breaching", None),
            ("AWS/SQS", "NumberOfMessagesSent", high, "notBreaching", None),
            ("AWS/SQS", "NumberOfMessagesSent", low, "", None),
            ("AWS/SQS", "ApproximateNumberOfMessagesVisible", low, "missing", None),
            ("AWS/SQS", "ApproximateNumberOfMessagesVisible", high, "breaching", None),
            ("AWS/SQS", "ApproximateAgeOfOldestMessage", high, "breaching", always),
            ("AWS/SQS", "ApproximateAgeOfOldestMessage", "GreaterThanUpperThreshold", "breaching", None),
            ("AWS/Lambda", "Invocations", low, "ignore", never),
            ("AWS/Lambda", "Errors", high, "breaching", always),
            ("AWS/Lambda", "Errors", low, "missing", None),
            ("Redrive", "WorkerErrors", high, "breaching", always),
            ("Shop", "Orders", high, "breaching", None),
        ] {
            let metric =
                Metric { namespace: namespace.to_owned(), name: name.to_owned(), ..Metric::default() };
            let alarm = Alarm {
                comparison: comparison.to_owned(),
                missing_data: missing.to_owned(),
                ..Alarm::default()
            };
            assert_eq!(mistake(&alarm, &metric, false), expected, "{name} {comparison} {missing}");
            let of_letters = if (name, missing) == ("ApproximateNumberOfMessagesVisible", "breaching") {
                always
            } else {
                expected
            };
            assert_eq!(mistake(&alarm, &metric, true), of_letters, "{name} {comparison} {missing}");
        }
    }
}
