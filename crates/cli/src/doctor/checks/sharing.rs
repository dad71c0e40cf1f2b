//! Functions that several queues feed.

use redrive::tools::VARIABLES_OF_ONE_QUEUE;
use redrive_iac::deployment::{Function, Queue};

use crate::doctor::feed::{Feed, redrive_feeds};
use crate::doctor::finding::{Check, Found, Level};
use crate::doctor::words::Words::Redrive;

/// Returns true if a variable has a value, even an unknown one.
fn is_set(function: &Function, name: &str) -> bool {
    let value = function.process.environment.as_ref().and_then(|variables| variables.get(name));
    value.is_some_and(|value| value.as_deref() != Some(""))
}

pub(in crate::doctor) const SETTINGS_SHARED: Check = Check {
    code: "settings-shared",
    level: Level::Error,
    title: "Several queues feed a function that is configured for one",
    why: Redrive(
        "Every message of the other queues becomes a dead letter. A dead-letter queue, a maximum receive count and a \
         visibility timeout belong to one queue. redrive rejects batches from any other queue, and each delivery \
         still counts.",
    ),
    link: "https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-dead-letter-queues.html",
    fix: Redrive(
        "Set REDRIVE_QUEUES, with an entry for each queue, instead of REDRIVE_DEAD_LETTER_QUEUE_URL, \
         REDRIVE_MAX_RECEIVE_COUNT and REDRIVE_VISIBILITY_TIMEOUT; or give each queue its own function.",
    ),
    find: |deployment| {
        let active: Vec<_> =
            redrive_feeds(deployment).filter(|feed| feed.mapping.enabled != Some(false)).collect();
        let mut found = Vec::new();
        for (at, feed) in active.iter().enumerate() {
            // `dead-letters-return` reports a queue beside its own dead-letter queue.
            let is_dead_letters_of = |dead: &Queue, queue: &Queue| {
                deployment.dead_letters_of(queue).is_some_and(|found| found.arn == dead.arn)
            };
            let is_another = |it: &&Feed<'_>| {
                it.function.name == feed.function.name
                    && !is_dead_letters_of(it.source, feed.source)
                    && !is_dead_letters_of(feed.source, it.source)
            };
            let Some(first) = active[..at].iter().find(is_another) else { continue };
            let set: Vec<_> =
                VARIABLES_OF_ONE_QUEUE.iter().copied().filter(|name| is_set(feed.function, name)).collect();
            if !set.is_empty() && feed.function.process.variable("REDRIVE_QUEUES").is_absent() {
                let (one, other, function) = (&first.source.id, &feed.source.id, &feed.function.id);
                let what = format!(
                    "{one} and {other} feed {function}, which has one {} for both.",
                    set.join(" and ")
                );
                found.push(Found::at(feed.mapping, what));
            }
        }
        found
    },
};
