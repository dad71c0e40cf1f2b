//! One function for several queues.

use crate::doctor::feed::redrive_feeds;
use crate::doctor::finding::{Check, Found, Level};
use crate::doctor::words::Words::Redrive;

pub(in crate::doctor) const SETTINGS_SHARED: Check = Check {
    code: "settings-shared",
    level: Level::Error,
    title: "Queues with different settings feed one function",
    why: Redrive(
        "A function has one set of settings for all its queues. Letters of the second queue go to the \
         dead-letter queue of the first, and its last delivery is not recognized.",
    ),
    link: "https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-dead-letter-queues.html",
    fix: Redrive(
        "Give each queue a function of its own, with the same code and its own variables, or give the queues the same \
         dead-letter queue and maxReceiveCount.",
    ),
    find: |subject| {
        let active: Vec<_> =
            redrive_feeds(subject).filter(|feed| feed.mapping.enabled != Some(false)).collect();
        let mut found = Vec::new();
        for (at, feed) in active.iter().enumerate() {
            let Some(first) = active[..at].iter().find(|it| it.function.name == feed.function.name) else {
                continue;
            };
            let (one, other) = (first.source, feed.source);
            let differ = |a: Option<&str>, b: Option<&str>| a.zip(b).is_some_and(|(a, b)| a != b);
            let counts = one.max_receive_count().zip(other.max_receive_count());
            let what: Vec<&str> = [
                (differ(one.dead_letter_target(), other.dead_letter_target()), "dead-letter queues"),
                (counts.is_some_and(|(one, other)| one != other), "values of maxReceiveCount"),
            ]
            .into_iter()
            .filter_map(|(differs, what)| differs.then_some(what))
            .collect();
            if !what.is_empty() {
                let (one, other, what) = (&one.id, &other.id, what.join(" and "));
                let what = format!("{one} and {other} feed {}, but have different {what}.", feed.function.id);
                found.push(Found::at(feed.mapping, what));
            }
        }
        found
    },
};
