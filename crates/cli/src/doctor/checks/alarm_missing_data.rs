//! Alarms that misread a minute without data.

use redrive_iac::deployment::{Alarm, Deployment, Metric};

use super::alarm_metric::{alarms, concerns};
use crate::doctor::feed::is_redrive_metric;
use crate::doctor::finding::{Check, Found, Level};
use crate::doctor::words::Words;

pub(in crate::doctor) const ALARM_MISSING_DATA: Check = Check {
    code: "alarm-missing-data",
    level: Level::Error,
    title: "An alarm treats missing data the wrong way",
    why: Words::All(
        "A metric that counts calls has no zeros: a minute in which nothing was sent, received or invoked \
         has no datapoint. An alarm that only a zero could set off never goes off, unless missing data is \
         breaching. If it is breaching, an alarm on high values goes off for an idle queue.",
    ),
    link: "https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-available-cloudwatch-metrics.html",
    fix: Words::All(
        "Set TreatMissingData to breaching on alarms that detect inactivity, and to notBreaching on all \
         others.",
    ),
    find: |deployment| {
        let found = alarms(deployment).filter(|(_, metric)| concerns(metric, deployment)).filter_map(
            |(alarm, metric)| {
                let Alarm { id, comparison, missing_data, .. } = alarm;
                let what = mistake(alarm, metric, is_polled(deployment, metric))?;
                Some(Found::at(alarm, format!("{id} ({} {comparison}, {missing_data}) {what}.", metric.name)))
            },
        );
        found.collect()
    },
};

/// Returns true if the metric's queue may be polled all the time: it is not a dead-letter queue, or it feeds something.
fn is_polled(deployment: &Deployment, metric: &Metric) -> bool {
    metric.dimensions.get("QueueName").is_none_or(|name| {
        deployment.is_name_of_a_source(name) || !deployment.is_name_of_a_dead_letter_queue(name)
    })
}

fn mistake(alarm: &Alarm, metric: &Metric, is_polled: bool) -> Option<&'static str> {
    let threshold = alarm.threshold?;
    let is_missing_data_breaching = match alarm.missing_data.as_str() {
        "missing" | "ignore" | "notBreaching" => false,
        "breaching" => true,
        _ => return None,
    };
    match alarm.comparison.as_str() {
        "LessThanThreshold" if threshold > 1.0 => None,
        "LessThanOrEqualToThreshold" if threshold >= 1.0 => None,
        "LessThanThreshold" | "LessThanOrEqualToThreshold" => {
            (!is_missing_data_breaching && has_no_zeros(metric)).then_some("never goes off")
        }
        "GreaterThanThreshold" | "GreaterThanOrEqualToThreshold" => (is_missing_data_breaching
            && is_missing_when_idle(metric, is_polled))
        .then_some("goes off when nothing happens"),
        _ => None,
    }
}

/// Returns true for a metric that counts calls, so its values are 1 or more.
fn has_no_zeros(metric: &Metric) -> bool {
    let names: &[&str] = match metric.namespace.as_str() {
        "AWS/SQS" => &["NumberOfMessagesSent", "NumberOfMessagesReceived", "NumberOfMessagesDeleted"],
        "AWS/Lambda" => &["Invocations"],
        _ => &[],
    };
    names.contains(&metric.name.as_str())
}

/// Returns true if the metric has no value while its queue is idle. The depth is 0 while Lambda polls the queue, and missing six
/// hours after the last call.
fn is_missing_when_idle(metric: &Metric, is_polled: bool) -> bool {
    let names: &[&str] = match metric.namespace.as_str() {
        "AWS/SQS" if metric.name == "ApproximateNumberOfMessagesVisible" => return !is_polled,
        "AWS/SQS" => &[
            "ApproximateAgeOfOldestMessage",
            "ApproximateNumberOfMessagesDelayed",
            "ApproximateNumberOfMessagesNotVisible",
            "NumberOfMessagesDeleted",
            "NumberOfMessagesReceived",
            "NumberOfMessagesSent",
            "SentMessageSize",
        ],
        "AWS/Lambda" => &["ConcurrentExecutions", "Duration", "Errors", "Invocations", "Throttles"],
        _ => return is_redrive_metric(&metric.name),
    };
    names.contains(&metric.name.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alarm_must_expect_metrics_without_values_while_a_queue_is_idle() {
        let (never, always) = (Some("never goes off"), Some("goes off when nothing happens"));
        let (low, low_or_equal) = ("LessThanThreshold", "LessThanOrEqualToThreshold");
        let high = "GreaterThanOrEqualToThreshold";
        for (namespace, name, comparison, threshold, missing, expected) in [
            ("AWS/SQS", "NumberOfMessagesReceived", low, 1.0, "missing", never),
            ("AWS/SQS", "NumberOfMessagesReceived", low, 100.0, "missing", None),
            ("AWS/SQS", "NumberOfMessagesReceived", low_or_equal, 0.0, "missing", never),
            ("AWS/SQS", "NumberOfMessagesReceived", low_or_equal, 1.0, "missing", None),
            ("AWS/SQS", "NumberOfMessagesSent", low, 1.0, "notBreaching", never),
            ("AWS/SQS", "NumberOfMessagesSent", low, 1.0, "breaching", None),
            ("AWS/SQS", "NumberOfMessagesSent", high, 1.0, "notBreaching", None),
            ("AWS/SQS", "NumberOfMessagesSent", low, 1.0, "", None),
            ("AWS/SQS", "SentMessageSize", low, 1.0, "missing", None),
            ("AWS/SQS", "ApproximateNumberOfMessagesVisible", low, 1.0, "missing", None),
            ("AWS/SQS", "ApproximateNumberOfMessagesVisible", high, 1.0, "breaching", None),
            ("AWS/SQS", "ApproximateAgeOfOldestMessage", high, 60.0, "breaching", always),
            (
                "AWS/SQS",
                "ApproximateAgeOfOldestMessage",
                "GreaterThanUpperThreshold",
                60.0,
                "breaching",
                None,
            ),
            ("AWS/SQS", "NumberOfEmptyReceives", high, 100.0, "breaching", None),
            ("AWS/SQS", "ApproximateNumberOfNoisyGroups", high, 1.0, "breaching", None),
            ("AWS/Lambda", "Invocations", low, 1.0, "ignore", never),
            ("AWS/Lambda", "Errors", high, 1.0, "breaching", always),
            ("AWS/Lambda", "Errors", low, 1.0, "missing", None),
            ("Redrive", "WorkerErrors", high, 1.0, "breaching", always),
            ("Shop", "Orders", high, 1.0, "breaching", None),
        ] {
            let metric =
                Metric { namespace: namespace.to_owned(), name: name.to_owned(), ..Metric::default() };
            let alarm = Alarm {
                comparison: comparison.to_owned(),
                threshold: Some(threshold),
                missing_data: missing.to_owned(),
                ..Alarm::default()
            };
            let case = format!("{name} {comparison} {threshold} {missing}");
            assert_eq!(mistake(&alarm, &metric, true), expected, "{case}");
            let is_depth = (name, missing) == ("ApproximateNumberOfMessagesVisible", "breaching");
            let unpolled = if is_depth { always } else { expected };
            assert_eq!(mistake(&alarm, &metric, false), unpolled, "{case}, not polled");
            assert_eq!(mistake(&Alarm { threshold: None, ..alarm }, &metric, true), None, "{case}");
        }
    }
}
