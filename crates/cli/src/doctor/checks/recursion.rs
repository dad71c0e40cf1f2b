//! Messages that a consumer sends back to its own queue.

use redrive_iac::deployment::{Deployment, Function, Queue, Seen};

use crate::doctor::feed::{Feed, consumers, feeds as all_feeds, redrive_consumers};
use crate::doctor::finding::{Check, Found, Level};
use crate::doctor::words::Words::{All, Each};

const PAGE: &str = "https://docs.aws.amazon.com/lambda/latest/dg/invocation-recursion.html";

pub(in crate::doctor) const DEAD_LETTERS_RETURN: Check = Check {
    code: "dead-letters-return",
    level: Level::Error,
    title: "Dead letters return to the consumer",
    why: All(
        "The function receives each dead letter and fails again and again, until the letter expires. Lambda stops \
         some of these loops after about 16 invocations, but nothing reports the message as failed.",
    ),
    link: PAGE,
    fix: All(
        "Remove the mapping of the dead-letter queue, or set Enabled: false on it. Once the cause is fixed, run \
         `redrive dlq retry` to send the letters back.",
    ),
    find: |deployment| {
        let mut found = Vec::new();
        for queue in &deployment.queues {
            if queue.dead_letter_target() == Some(&queue.arn) {
                found.push(Found::at(queue, format!("{} is its own dead-letter queue.", queue.id)));
            }
        }
        for feed in active(deployment) {
            let Some(dead) =
                deployment.dead_letters_of(feed.source).filter(|dead| dead.arn != feed.source.arn)
            else {
                continue;
            };
            if !feeds(deployment, &dead.arn, feed.function) {
                continue;
            }
            let back = active(deployment)
                .find(|other| other.source.arn == dead.arn && other.function.name == feed.function.name);
            if let Some(back) = back {
                let what = format!(
                    "{}, the dead-letter queue of {}, feeds {} too.",
                    dead.id, feed.source.id, feed.function.id
                );
                found.push(Found::at(back.mapping, what));
            }
        }
        let is_dead = |queue: &Queue| deployment.is_dead_letter_queue(&queue.arn);
        for consumer in redrive_consumers(deployment).filter(|consumer| !is_dead(consumer.source)) {
            if let Seen::There(url) = consumer.variable("REDRIVE_DEAD_LETTER_QUEUE_URL")
                && consumer.source.may_be_at(&url)
            {
                let (id, source) = (consumer.id, &consumer.source.id);
                let what = format!("REDRIVE_DEAD_LETTER_QUEUE_URL of {id} is {source}, which feeds it.");
                found.push(Found::at(consumer, what));
            }
        }
        for function in &deployment.functions {
            let back = function.asynchronous_dead_letters.iter().find(|arn| feeds(deployment, arn, function));
            if let Some(arn) = back {
                let what = format!(
                    "A dead-letter queue or destination of {} is {arn}, which feeds it.",
                    function.id
                );
                found.push(Found::at(function, what));
            }
        }
        found
    },
};

pub(in crate::doctor) const SENDS_TO_OWN_SOURCE: Check = Check {
    code: "sends-to-own-source",
    level: Level::Warning,
    title: "The consumer can send to the queue that feeds it",
    why: All(
        "A message that is sent again instead of retried gets a new id and a receive count of 1, so it never becomes \
         a dead letter. A message that always fails loops forever. Lambda stops the loops that it detects after \
         about 16 invocations, and the messages are lost.",
    ),
    link: PAGE,
    fix: Each {
        redrive: "Return Failure::retry_after or Failure::defer instead of sending the message again. If the \
                  function sends other messages to the queue, exclude this finding with --except \
                  sends-to-own-source.",
        other: "Report the message in batchItemFailures instead of sending it again; ChangeMessageVisibility \
                sets when it comes back. If the function sends other messages to the queue, exclude this \
                finding with --except sends-to-own-source.",
    },
    find: |deployment| {
        let returning = consumers(deployment).filter_map(|consumer| {
            let (id, source) = (consumer.id, consumer.source);
            let mut variables = consumer.process.environment.iter().flatten();
            let (name, _) = variables.find(|(name, value)| {
                // A value that equals the queue's name may mean anything, unless the variable is named after a queue.
                let is_named = |value: &str| value == source.name() && name.to_uppercase().contains("QUEUE");
                let is_source = |value: &str| source.may_be_at(value) || is_named(value);
                value.as_deref().is_some_and(is_source) && !name.starts_with("REDRIVE_")
            })?;
            let what = format!("The variable {name} of {id} is {}, and {id} may send to it.", source.id);
            (consumer.process.may("sqs:SendMessage", &source.arn) == Some(true))
                .then(|| Found::at(consumer, what))
        });
        returning.collect()
    },
};

/// Returns the feeds whose mapping is enabled: a disabled one of a dead-letter queue may be a switch for replays.
fn active(deployment: &Deployment) -> impl Iterator<Item = Feed<'_>> {
    all_feeds(deployment).filter(|feed| feed.mapping.enabled != Some(false))
}

/// Returns true if the queue with an ARN feeds a function.
pub(super) fn feeds(deployment: &Deployment, arn: &str, function: &Function) -> bool {
    deployment.queue(arn).is_some() && deployment.feeds(arn, &function.name)
}
