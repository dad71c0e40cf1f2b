//! Numbers outside the ranges that AWS accepts.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::time::Duration;

use redrive_iac::deployment::{BATCH_SIZE, BATCHING_WINDOW, Deployment, Mapping, Queue};
use redrive_sqs::{MAX_RECEIVE_COUNT, MESSAGE_RETENTION_PERIOD, VISIBILITY_TIMEOUT};

use crate::doctor::finding::{Check, Found, Level};
use crate::doctor::words::Words::All;
use crate::span::lasting;

pub(in crate::doctor) const VALUE_REFUSED: Check = Check {
    code: "value-refused",
    level: Level::Error,
    title: "A number is out of range",
    why: All(
        "SQS or Lambda rejects the value, and the deployment fails. The previous deployment stays in effect; if \
         there is none, nothing handles messages.",
    ),
    link: "https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SetQueueAttributes.html",
    fix: All("Set a value in the range that the finding shows."),
    find: |deployment: &Deployment| {
        let of_queues = deployment
            .queues
            .iter()
            .flat_map(|queue| of_queue(queue).into_iter().flatten().map(move |what| Found::at(queue, what)));
        let of_mappings = deployment.mappings.iter().flat_map(|mapping| {
            of_mapping(mapping).into_iter().flatten().map(move |what| Found::at(mapping, what))
        });
        of_queues.chain(of_mappings).collect()
    },
};

fn of_queue(queue: &Queue) -> [Option<String>; 3] {
    let (visibility, retention) = (queue.visibility_timeout, queue.retention);
    let (id, seconds) = (&queue.id, |time: Duration| time.as_secs());
    [
        refused("VisibilityTimeout", id, visibility.map(seconds), &VISIBILITY_TIMEOUT),
        refused_in("MessageRetentionPeriod", id, retention.map(seconds), &MESSAGE_RETENTION_PERIOD, |it| {
            format!("{it} ({})", lasting(Duration::from_secs(*it)))
        }),
        refused("maxReceiveCount", id, queue.max_receive_count(), &MAX_RECEIVE_COUNT),
    ]
}

fn of_mapping(mapping: &Mapping) -> [Option<String>; 2] {
    let window = mapping.window.map(|window| window.as_secs());
    [
        refused("BatchSize", &mapping.id, mapping.batch_size, &BATCH_SIZE),
        refused("MaximumBatchingWindowInSeconds", &mapping.id, window, &BATCHING_WINDOW),
    ]
}

fn refused<T>(property: &str, id: &str, value: Option<T>, allowed: &RangeInclusive<T>) -> Option<String>
where
    T: Display + PartialOrd,
{
    refused_in(property, id, value, allowed, T::to_string)
}

fn refused_in<T: Display + PartialOrd>(
    property: &str,
    id: &str,
    value: Option<T>,
    allowed: &RangeInclusive<T>,
    show: impl Fn(&T) -> String,
) -> Option<String> {
    let value = value.filter(|value| !allowed.contains(value))?;
    Some(format!(
        "{property} of {id} is {value}, allowed: {} to {}.",
        show(allowed.start()),
        show(allowed.end())
    ))
}
