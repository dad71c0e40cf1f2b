//! Retries that take longer than a queue keeps a message.

use std::time::Duration;

use redrive::tools::{Retries, Retry};
use redrive_iac::deployment::{Deployment, Queue, Seen};
use redrive_sqs::MAX_RECEIVE_COUNT;

use crate::doctor::feed::{Consumer, consumers};
use crate::doctor::finding::{Check, Found, Level};
use crate::doctor::words::Words::{All, Each};
use crate::span::lasting;

/// Jitter that makes a backoff the longest.
const LONGEST: f64 = 1.0;

pub(in crate::doctor) const RETRIES_OUTLIVE_RETENTION: Check = Check {
    code: "retries-outlive-retention",
    level: Level::Error,
    title: "Messages expire before their last delivery",
    why: All(
        "SQS deletes a message at the end of its retention period, counted from when it was sent, regardless of its \
         receive count. If the waits between all deliveries are longer than that, no failing message reaches the \
         dead-letter queue.",
    ),
    link: "https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-dead-letter-queues.html",
    fix: Each {
        redrive: "Lower maxReceiveCount, cap the delays (REDRIVE_BACKOFF={\"max\":900}), or raise \
            MessageRetentionPeriod. `redrive schedule` shows when each attempt happens.",
        other: "Lower maxReceiveCount or VisibilityTimeout, or raise MessageRetentionPeriod. `redrive schedule` \
            shows when each attempt happens.",
    },
    find: |deployment| {
        let late = consumers(deployment).filter_map(|consumer| {
            let (retention, count) = (consumer.source.retention?, consumer.source.max_receive_count()?);
            let waits = waits(&consumer, count).filter(|waits| *waits >= retention)?;
            let what = format!(
                "The waits between the {count} deliveries of a message add up to {}, but {} keeps it for {}.",
                lasting(waits),
                consumer.source.id,
                lasting(retention),
            );
            Some(Found::at(consumer.source, what))
        });
        late.collect()
    },
};

/// Returns true if messages of a queue expire before their last delivery.
pub(super) fn outlive(deployment: &Deployment, queue: &Queue) -> bool {
    consumers(deployment).filter(|consumer| consumer.source.arn == queue.arn).any(|consumer| {
        let waits = queue.max_receive_count().and_then(|count| waits(&consumer, count));
        waits.zip(queue.retention).is_some_and(|(waits, retention)| waits >= retention)
    })
}

/// Returns the longest time between a message's first delivery and its last, if every one fails at once.
fn waits(consumer: &Consumer<'_>, count: u32) -> Option<Duration> {
    // SQS refuses other counts: another check reports them.
    if !MAX_RECEIVE_COUNT.contains(&count) {
        return None;
    }
    let between = count - 1;
    if !consumer.may_run_redrive() {
        return Some(consumer.source.visibility_timeout?.saturating_mul(between));
    }
    consumer.process.environment.as_ref()?;
    // The queue's count decides here. Another check compares it with the function's variable.
    let variable = |name: &str| match name {
        "REDRIVE_MAX_RECEIVE_COUNT" => Some(count.to_string()),
        "REDRIVE_QUEUES" => None,
        name => consumer.variable(name).there().cloned(),
    };
    if matches!(consumer.variable("REDRIVE_BACKOFF"), Seen::Unknown) {
        return None;
    }
    let retries = Retries::from_variables(&consumer.source.arn, variable).ok()?;
    let wait = |attempt| match retries.after(attempt, LONGEST) {
        Retry::In(after) => after,
        _ => Duration::ZERO,
    };
    Some((1..=between).map(wait).sum())
}
