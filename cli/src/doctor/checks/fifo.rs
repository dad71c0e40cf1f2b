//! What only FIFO queues have.

use crate::doctor::feed::feeds;
use crate::doctor::finding::{Check, Found, Level};

pub(in crate::doctor) const FIFO_BATCHING_WINDOW: Check = Check {
    code: "fifo-batching-window",
    level: Level::Error,
    title: "A FIFO queue has no batching window",
    why: "Batching windows are for standard queues. Lambda refuses the mapping, and the deployment fails.",
    link: "https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html",
    mend: "Leave MaximumBatchingWindowInSeconds out.",
    find: |subject| {
        let windows = feeds(subject).filter(|feed| {
            feed.source.is_fifo() && feed.mapping.window.is_some_and(|window| !window.is_zero())
        });
        windows
            .map(|feed| {
                let seconds = feed.mapping.window.unwrap_or_default().as_secs();
                let what = format!(
                    "{} has a batching window of {seconds} s, and {} is FIFO.",
                    feed.mapping.id, feed.source.id
                );
                Found::at_mapping(feed.mapping, what)
            })
            .collect()
    },
};

pub(in crate::doctor) const FIFO_BATCH_BURNS_DELIVERIES: Check = Check {
    code: "fifo-batch-burns-deliveries",
    level: Level::Warning,
    title: "Messages use up their deliveries behind a failing one",
    why: "When a message of a FIFO group fails, those behind it in the batch must not run, but they were received, and \
          that counts. redrive lets the failed one come back alone, so each message in front costs the others one \
          delivery; without that every attempt of it does. The last of a batch can end as a dead letter that never ran.",
    link: "https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html",
    mend: "Set a BatchSize of at most maxReceiveCount; for a function that does not use redrive, of 1.",
    find: |subject| {
        let mut found = Vec::new();
        for feed in feeds(subject).filter(|feed| feed.source.is_fifo()) {
            let (Some(size), Some(count)) = (feed.mapping.batch_size, feed.max_receive_count()) else {
                continue;
            };
            let most = if feed.function.may_run_redrive() { count } else { 1 };
            if size > most {
                let what = format!(
                    "{} takes batches of {size} from {}, whose messages have {count} deliveries.",
                    feed.mapping.id, feed.source.id
                );
                found.push(Found::at_mapping(feed.mapping, what));
            }
        }
        found
    },
};
