//! The event source mapping itself.

use crate::doctor::feed::{Feed, feeds};
use crate::doctor::finding::{Check, Found, Level};

pub(in crate::doctor) const BATCH_RESPONSE_MISSING: Check = Check {
    code: "batch-response-missing",
    level: Level::Error,
    title: "The mapping does not ask for partial batch responses",
    why: "Without ReportBatchItemFailures Lambda does not read which messages failed. A function that returns deletes \
          its whole batch, the failed messages too; one that fails gets the successful ones again.",
    link: "https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html",
    mend: "Set FunctionResponseTypes: [ReportBatchItemFailures] on the event source mapping.",
    find: |subject| {
        let silent = subject.mappings.iter().filter(|it| it.reports_batch_item_failures == Some(false));
        silent
            .map(|mapping| {
                let what =
                    format!("{} has no ReportBatchItemFailures in its FunctionResponseTypes.", mapping.id);
                Found::at_mapping(mapping, what)
            })
            .collect()
    },
};

pub(in crate::doctor) const MAPPING_DISABLED: Check = Check {
    code: "mapping-disabled",
    level: Level::Warning,
    title: "The mapping is disabled",
    why: "Nobody receives the messages. A message expires at the end of its retention wherever it is, and only a receive \
          moves it to the dead-letter queue: what waits too long is deleted without a trace.",
    link: "https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-parameters.html",
    mend: "Set Enabled: true, or leave Enabled out.",
    find: |subject| {
        let disabled = subject.mappings.iter().filter(|mapping| mapping.enabled == Some(false));
        disabled
            .map(|mapping| Found::at_mapping(mapping, format!("{} has Enabled: false.", mapping.id)))
            .collect()
    },
};

/// Without a window, and on a FIFO queue in any case.
const MOST_AT_ONCE: u32 = 10;

pub(in crate::doctor) const BATCH_SIZE_REFUSED: Check = Check {
    code: "batch-size-refused",
    level: Level::Error,
    title: "Lambda refuses the batch size",
    why: "SQS gives at most 10 messages to a receive. More are collected within a batching window of at least 1 s, and \
          from FIFO queues never.",
    link: "https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-parameters.html",
    mend: "Set a MaximumBatchingWindowInSeconds of at least 1, or a BatchSize of at most 10; on a FIFO queue the latter.",
    find: |subject| {
        let mut found = Vec::new();
        for mapping in &subject.mappings {
            let (Some(size), Some(window)) = (mapping.batch_size, mapping.window) else { continue };
            let fifo = subject.source_of(mapping).is_some_and(|source| source.is_fifo());
            if size > MOST_AT_ONCE && (fifo || window.is_zero()) {
                let reason = if fifo { "its queue is FIFO" } else { "it has no batching window" };
                found.push(Found::at_mapping(
                    mapping,
                    format!("The batch size of {} is {size}, and {reason}.", mapping.id),
                ));
            }
        }
        found
    },
};

pub(in crate::doctor) const QUEUE_SHARED: Check = Check {
    code: "queue-shared",
    level: Level::Error,
    title: "Several functions receive from one queue",
    why: "A queue gives each message to one receiver, so each function sees a part of the messages only. With filters it \
          is worse: a message that the filter of one function does not match is deleted, even if another wants it.",
    link: "https://docs.aws.amazon.com/lambda/latest/dg/with-sqs-filtering.html",
    mend: "Give each function a queue of its own, and send to both by an SNS topic or an EventBridge rule.",
    find: |subject| {
        let mut found = Vec::new();
        let active: Vec<_> = feeds(subject).filter(|feed| feed.mapping.enabled != Some(false)).collect();
        for (at, feed) in active.iter().enumerate() {
            let is_other = |other: &&Feed<'_>| {
                other.source.arn == feed.source.arn && other.function.name != feed.function.name
            };
            let earlier = active[..at].iter().find(is_other);
            if let Some(earlier) = earlier {
                let (source, ours, theirs) = (&feed.source.id, &feed.function.id, &earlier.function.id);
                found.push(Found::at_mapping(
                    feed.mapping,
                    format!("{source} feeds both {theirs} and {ours}."),
                ));
            }
        }
        found
    },
};
