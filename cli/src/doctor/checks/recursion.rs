//! Messages that come back to where they came from.

use crate::doctor::feed::{dead_letter_queues, feeds as all_feeds, redrive_feeds};
use crate::doctor::finding::{Check, Found, Level};
use crate::subject::{Arn, Function, Queue, Seen, Subject};

const PAGE: &str = "https://docs.aws.amazon.com/lambda/latest/dg/invocation-recursion.html";

pub(in crate::doctor) const DEAD_LETTERS_RETURN: Check = Check {
    code: "dead-letters-return",
    level: Level::Error,
    title: "Dead letters come back to the function",
    why: "If a dead-letter queue feeds the same function, each letter is received again, fails again, and so on. \
          Lambda stops some of these loops after about 16 invocations, but nothing reports the message as failed.",
    link: PAGE,
    fix: "Use a separate dead-letter queue that feeds no function. `redrive dlq retry` sends letters back when their \
           cause is fixed.",
    find: |subject| {
        let mut found = Vec::new();
        for queue in &subject.queues {
            let target =
                queue.redrive_policy.there().and_then(|policy| policy.dead_letter_target_arn.as_deref());
            if target == Some(&queue.arn) {
                found.push(Found::at_queue(queue, format!("{} is its own dead-letter queue.", queue.id)));
            }
        }
        for feed in all_feeds(subject) {
            let Some(dead) = subject.dead_letters_of(feed.source).filter(|dead| dead.arn != feed.source.arn)
            else {
                continue;
            };
            let back = all_feeds(subject)
                .find(|other| other.source.arn == dead.arn && other.function.name == feed.function.name);
            if let Some(back) = back {
                let what = format!(
                    "{}, the dead-letter queue of {}, feeds {} too.",
                    dead.id, feed.source.id, feed.function.id
                );
                found.push(Found::at_mapping(back.mapping, what));
            }
        }
        let is_dead = |queue: &Queue| dead_letter_queues(subject).any(|dead| dead.arn == queue.arn);
        for feed in redrive_feeds(subject).filter(|feed| !is_dead(feed.source)) {
            if let Seen::There(url) = feed.function.variable("REDRIVE_DEAD_LETTER_QUEUE_URL")
                && is_at(feed.source, url)
            {
                let (function, source) = (&feed.function.id, &feed.source.id);
                let what =
                    format!("REDRIVE_DEAD_LETTER_QUEUE_URL of {function} is {source}, which feeds it.");
                found.push(Found::at_function(feed.function, what));
            }
        }
        for function in &subject.functions {
            let back = function.asynchronous_dead_letters.iter().find(|arn| feeds(subject, arn, function));
            if let Some(arn) = back {
                let what = format!(
                    "A dead-letter queue or destination of {} is {arn}, which feeds it.",
                    function.id
                );
                found.push(Found::at_function(function, what));
            }
        }
        found
    },
};

pub(in crate::doctor) const SENDS_TO_OWN_SOURCE: Check = Check {
    code: "sends-to-own-source",
    level: Level::Warning,
    title: "The function can send to the queue that feeds it",
    why: "A message that is sent again instead of retried gets a new id and a receive count of 1: it never becomes a \
          dead letter, and one that always fails goes round forever. Lambda stops the loops that it detects after \
          about 16 invocations, and those deliveries are lost.",
    link: PAGE,
    fix: "Return Failure::retry_after or Failure::defer instead of sending the message again. If the function sends \
           other messages to the queue, ignore the finding with --ignore sends-to-own-source.",
    find: |subject| {
        let mut found = Vec::new();
        for feed in all_feeds(subject) {
            if feed.function.may("sqs:SendMessage", &feed.source.arn) != Some(true) {
                continue;
            }
            let variables = feed.function.environment.iter().flatten();
            let named = variables
                .filter(|(name, _)| !name.starts_with("REDRIVE_"))
                .find(|(_, value)| value.as_deref().is_some_and(|value| is_at(feed.source, value)));
            if let Some((name, _)) = named {
                let (function, source) = (&feed.function.id, &feed.source.id);
                let what =
                    format!("The variable {name} of {function} is {source}, and {function} may send to it.");
                found.push(Found::at_function(feed.function, what));
            }
        }
        found
    },
};

/// Whether the queue with an ARN feeds a function.
pub(super) fn feeds(subject: &Subject, arn: &str, function: &Function) -> bool {
    all_feeds(subject).any(|feed| feed.source.arn == arn && feed.function.name == function.name)
}

/// Whether a queue is at a URL, or has an ARN.
fn is_at(queue: &Queue, text: &str) -> bool {
    let named = Arn::of_queue_url(text).or_else(|| Arn::parse(text));
    match (named, Arn::parse(&queue.arn)) {
        (Some(named), Some(queue)) => named.may_be(&queue),
        _ => false,
    }
}
