//! Alarms on metrics that nobody publishes, and alarms that notify nobody.

use redrive::Metrics;
use redrive_iac::deployment::{Alarm, Deployment, Metric};
use redrive_sqs::queue_name;

use crate::doctor::feed::{Consumer, DEFAULT_NAMESPACE, feeds, is_redrive_metric, redrive_consumers};
use crate::doctor::finding::{Check, Found, Level};
use crate::doctor::words::Words::{All, Redrive};

const DIMENSION: &str = "QueueName";
const MISSING_DATA: &str =
    "https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/alarms-and-missing-data.html";
const CONCEPTS: &str =
    "https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/cloudwatch_concepts.html#Dimension";

/// Returns the alarms that watch a single metric.
pub(super) fn alarms(deployment: &Deployment) -> impl Iterator<Item = (&Alarm, &Metric)> {
    deployment.alarms.iter().flatten().filter_map(|alarm| Some((alarm, alarm.metric.as_ref()?)))
}

/// Returns the alarms on a metric that has the name of one of redrive's.
fn alarms_on_redrive_metrics(deployment: &Deployment) -> impl Iterator<Item = (&Alarm, &Metric)> {
    alarms(deployment).filter(|(_, metric)| is_redrive_metric(&metric.name))
}

/// Returns true if the only dimension of a metric is a consumer's queue.
fn is_of(metric: &Metric, consumer: &Consumer<'_>) -> bool {
    let mut dimensions = metric.dimensions.iter();
    matches!((dimensions.next(), dimensions.next()), (Some((name, value)), None) if name == DIMENSION && value == consumer.source.name())
}

pub(in crate::doctor) const ALARM_METRIC_UNKNOWN: Check = Check {
    code: "alarm-metric-unknown",
    level: Level::Error,
    title: "An alarm watches a metric that redrive does not publish",
    why: Redrive(
        "Messages fail, and the alarm never goes off, because nothing publishes its metric. With \
         TreatMissingData: notBreaching it even reports OK.",
    ),
    link: MISSING_DATA,
    fix: Redrive(
        "Set MetricName to a metric of redrive: WorkerErrors, Stuck, DeadLettered, Retried, Outages, Deferred, \
         Discarded, Replayed, NotStarted or SettleErrors. REDRIVE_METRICS=emf adds Succeeded, MaxAttempt, WorkerDuration and \
         ResponseTime; workers add LeaseLost, InHand and Workers.",
    ),
    find: |deployment| {
        let publishes = redrive_consumers(deployment).any(|it| it.namespace() == Some(DEFAULT_NAMESPACE));
        // The user's own namespace may contain metrics of the user's.
        let unknown = alarms(deployment).filter(|(_, metric)| {
            publishes && metric.namespace == DEFAULT_NAMESPACE && !is_redrive_metric(&metric.name)
        });
        let found = unknown.map(|(alarm, Metric { name, namespace, .. })| {
            Found::at(alarm, format!("{} watches {name} in the namespace {namespace}.", alarm.id))
        });
        found.collect()
    },
};

pub(in crate::doctor) const ALARM_NAMESPACE: Check = Check {
    code: "alarm-namespace",
    level: Level::Error,
    title: "An alarm watches redrive's metrics in the wrong namespace",
    why: Redrive(
        "Messages fail, and the alarm never goes off: it watches a namespace to which the consumer does not \
         publish. CloudWatch identifies a metric by its namespace, its name and its dimensions.",
    ),
    link: CONCEPTS,
    fix: Redrive(
        "Set Namespace to the value of REDRIVE_METRICS_NAMESPACE, or to Redrive if the variable is not set.",
    ),
    find: |deployment| {
        let elsewhere = alarms_on_redrive_metrics(deployment).filter_map(|(alarm, metric)| {
            let published = redrive_consumers(deployment).filter(|it| is_of(metric, it));
            let published: Vec<_> = published.map(|it| it.namespace()).collect();
            let actual = (*published.first()?)?;
            let what = format!(
                "{} watches {} in the namespace {}, but it is published in {actual}.",
                alarm.id, metric.name, metric.namespace
            );
            let elsewhere = published.iter().all(|it| it.is_some_and(|it| it != metric.namespace));
            elsewhere.then(|| Found::at(alarm, what))
        });
        elsewhere.collect()
    },
};

pub(in crate::doctor) const ALARM_DIMENSION: Check = Check {
    code: "alarm-dimension",
    level: Level::Error,
    title: "An alarm has dimensions that no metric has",
    why: All("The alarm never goes off, because no metric has these dimensions. CloudWatch needs the exact \
        dimensions of a metric. QueueName must be the queue's name, not its URL or ARN."),
    link: CONCEPTS,
    fix: All(
        "For a queue, set Dimensions: [{Name: QueueName, Value: !GetAtt QUEUE.QueueName}]. For Lambda's own metrics, \
         set Dimensions: [{Name: FunctionName, Value: !Ref FUNCTION}].",
    ),
    find: |deployment| {
        let mut found = Vec::new();
        for (alarm, metric) in alarms(deployment) {
            let wrong = match metric.namespace.as_str() {
                "AWS/SQS" => wrong_name(metric, DIMENSION),
                "AWS/Lambda" => wrong_name(metric, "FunctionName"),
                space => {
                    is_redrive_metric(&metric.name) && may_be_meant(metric, deployment) && {
                        let mut publishers = redrive_consumers(deployment)
                            .filter(|it| it.namespace() == Some(space))
                            .peekable();
                        publishers.peek().is_some() && !publishers.any(|it| is_of(metric, &it))
                    }
                }
            };
            if wrong {
                let dimensions: Vec<_> =
                    metric.dimensions.iter().map(|(name, value)| format!("{name} {value}")).collect();
                let dimensions =
                    if dimensions.is_empty() { "no dimension".to_owned() } else { dimensions.join(", ") };
                let what = format!("{} watches {} with {dimensions}.", alarm.id, metric.name);
                found.push(Found::at(alarm, what));
            }
        }
        found
    },
};

/// Returns true if it may be a metric of the deployment's queues: others may publish one of the same name elsewhere.
fn may_be_meant(metric: &Metric, deployment: &Deployment) -> bool {
    match metric.dimensions.get(DIMENSION) {
        Some(value) => {
            let name = queue_name(value);
            deployment.queues.iter().any(|queue| queue.name() == name)
        }
        None => metric.dimensions.is_empty() || metric.namespace == DEFAULT_NAMESPACE,
    }
}

/// Returns true for a URL or an ARN instead of a name, which can contain neither.
fn wrong_name(metric: &Metric, dimension: &str) -> bool {
    metric.dimensions.get(dimension).is_some_and(|value| value.contains([':', '/']))
}

pub(in crate::doctor) const ALARM_METRICS_OFF: Check = Check {
    code: "alarm-metrics-off",
    level: Level::Error,
    title: "An alarm watches a metric that the consumer does not publish",
    why: Redrive(
        "With REDRIVE_METRICS=off redrive publishes no metrics; with cloudwatch, only the counters of failures. An \
         alarm on a metric that is not published never goes off.",
    ),
    link: MISSING_DATA,
    fix: Redrive(
        "Set REDRIVE_METRICS to emf, or to cloudwatch for the counters of failures, or remove the alarm.",
    ),
    find: |deployment| {
        let unpublished = alarms_on_redrive_metrics(deployment).filter_map(|(alarm, metric)| {
            let meant: Vec<_> = redrive_consumers(deployment)
                .filter(|it| it.namespace() == Some(&metric.namespace) && is_of(metric, it))
                .collect();
            let is_off = meant.iter().any(|it| it.sink() == Some(Metrics::Off));
            let how = if is_off { "off" } else { "cloudwatch" };
            let what = format!("{} watches {}, but REDRIVE_METRICS is {how}.", alarm.id, metric.name);
            let is_silent = !meant.is_empty() && meant.iter().all(|it| !it.publishes(&metric.name));
            is_silent.then(|| Found::at(alarm, what))
        });
        unpublished.collect()
    },
};

pub(in crate::doctor) const ALARM_WITHOUT_ACTION: Check = Check {
    code: "alarm-without-action",
    level: Level::Warning,
    title: "An alarm notifies nobody",
    why: All(
        "The alarm goes off, and nobody is notified: it only changes its state in the console. Meanwhile \
         messages fail, or letters wait until they expire.",
    ),
    link: "https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_PutMetricAlarm.html",
    fix: All(
        "Set AlarmActions: [!Ref TOPIC] with an SNS topic that somebody reads, and remove ActionsEnabled: false.",
    ),
    find: |deployment| {
        let silent = alarms(deployment).filter_map(|(alarm, metric)| {
            let none = alarm.actions.there().is_some_and(Vec::is_empty);
            let why = if alarm.actions_enabled { "no AlarmActions" } else { "ActionsEnabled: false" };
            let is_silent = (none || !alarm.actions_enabled) && concerns(metric, deployment);
            is_silent.then(|| Found::at(alarm, format!("{} has {why}.", alarm.id)))
        });
        silent.collect()
    },
};

/// Returns true for a metric of a checked queue, or of a function that one feeds, and not of something else in the template.
pub(super) fn concerns(metric: &Metric, deployment: &Deployment) -> bool {
    let named = |dimension: &str| metric.dimensions.get(dimension);
    let queue =
        named(DIMENSION).is_some_and(|name| deployment.queues.iter().any(|queue| queue.name() == name));
    let function =
        named("FunctionName").is_some_and(|name| feeds(deployment).any(|it| it.function.name == *name));
    queue || function
}
