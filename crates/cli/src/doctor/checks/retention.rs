//! Retention periods of queues.

use std::time::Duration;

use redrive_iac::deployment::Queue;
use redrive_sqs::MESSAGE_RETENTION_PERIOD;

use super::dead_letter_queue::{expires_early, pairs};
use super::retries::outlive;
use crate::doctor::feed::{is_letter_queue, letter_queues, sources};
use crate::doctor::finding::{Check, Found, Level};
use crate::doctor::words::Words::All;
use crate::span::lasting;

const SHORTEST: Duration = Duration::from_secs(3_600);
const SHORTEST_OF_LETTERS: Duration = Duration::from_secs(86_400);

pub(in crate::doctor) const RETENTION_SHORT: Check = Check {
    code: "retention-short",
    level: Level::Warning,
    title: "Messages expire before anyone can react",
    why: All(
        "SQS deletes a message at the end of its retention period, whether or not it was ever received. If the \
         function is throttled, paused or failing for longer than that, its messages are gone, and no dead-letter \
         queue has them. SQS's metrics may lag by 15 minutes. If dead letters expire sooner, the alarm goes off too \
         late.",
    ),
    link: "https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SetQueueAttributes.html",
    fix: All(
        "Set MessageRetentionPeriod: 345600 (4 days, the default) or more on a queue that feeds a function, and 1209600 (14 \
         days, the maximum) on a dead-letter queue. If old messages are worthless, put the comment # redrive:accept=retention-short: REASON \
         into the resource.",
    ),
    find: |deployment| {
        let is_dead = |queue: &Queue| is_letter_queue(deployment, queue);
        // Another finding reports the same cause.
        let is_told = |queue: &Queue| {
            outlive(deployment, queue)
                || pairs(deployment)
                    .any(|(source, dead)| dead.arn == queue.arn && expires_early(source, dead))
        };
        let is_short = |queue: &Queue, least: Duration| {
            queue.retention.is_some_and(|it| it < least && MESSAGE_RETENTION_PERIOD.contains(&it.as_secs()))
                && !is_told(queue)
        };
        let found = |queue: &Queue, messages: &str| {
            let Queue { id, retention, .. } = queue;
            Found::at(queue, format!("{id} keeps {messages} for {}.", lasting(retention.unwrap_or_default())))
        };
        let sources = sources(deployment).map(|(queue, _)| queue).filter(|queue| !is_dead(queue));
        let sources = sources.filter(|queue| is_short(queue, SHORTEST)).map(|queue| found(queue, "messages"));
        let letters = letter_queues(deployment).filter(|queue| is_short(queue, SHORTEST_OF_LETTERS));
        sources.chain(letters.map(|queue| found(queue, "letters"))).collect()
    },
};
