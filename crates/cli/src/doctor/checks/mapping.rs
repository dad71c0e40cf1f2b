//! Event source mappings.

use redrive_iac::deployment::{BATCH_SIZE, Deployment, Function, Mapping, Queue};

use crate::doctor::feed::{Feed, feeds, is_letter_queue, is_received_from};
use crate::doctor::finding::{Check, Found, Level};
use crate::doctor::words::Words::{All, Each};

/// <https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html#services-sqs-batchfailurereporting>
const FIFO_RESPONSE: &str = "Set FunctionResponseTypes: [ReportBatchItemFailures] on the event source mapping. In the function, stop \
                             at the first failure and return the rest: the ids of the failed message and of all behind it as \
                             batchItemFailures.";

pub(in crate::doctor) const BATCH_RESPONSE_MISSING: Check = Check {
    code: "batch-response-missing",
    level: Level::Error,
    title: "Partial batch responses are not enabled",
    why: All(
        "Without ReportBatchItemFailures, Lambda ignores which messages failed. If the function returns, Lambda \
         deletes the whole batch, including failed messages. If the function fails, Lambda delivers the successful \
         messages again.",
    ),
    link: "https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html",
    fix: Each {
        redrive: "Set FunctionResponseTypes: [ReportBatchItemFailures] on the event source mapping.",
        other: "Set FunctionResponseTypes: [ReportBatchItemFailures] on the event source mapping, and return \
          the ids of the messages that failed as batchItemFailures. On a FIFO queue, stop at the first failure and return \
          the rest of the batch too.",
    },
    find: |deployment| {
        let known = deployment.mappings.iter().filter(|it| it.lacks.is_none());
        let silent = known.filter(|it| it.reports_batch_item_failures == Some(false));
        // A batch of one message cannot fail others, but redrive's function returns even if the message fails.
        let needs = |mapping: &&Mapping| mapping.batch_size != Some(1) || runs_redrive(deployment, mapping);
        let what = |id: &str| format!("{id} has no ReportBatchItemFailures in its FunctionResponseTypes.");
        let told = |mapping: &Mapping| {
            let is_fifo = deployment.source_of(mapping).is_some_and(Queue::is_fifo);
            let stops = (is_fifo && !runs_redrive(deployment, mapping)).then_some(FIFO_RESPONSE);
            Found::at(mapping, what(&mapping.id)).fixed_by(stops)
        };
        silent.filter(needs).map(told).collect()
    },
};

fn runs_redrive(deployment: &Deployment, mapping: &Mapping) -> bool {
    deployment.function_of(mapping).is_some_and(Function::may_run_redrive)
}

pub(in crate::doctor) const MAPPING_DISABLED: Check = Check {
    code: "mapping-disabled",
    level: Level::Warning,
    title: "The mapping is disabled",
    why: All(
        "Nothing receives the messages, so they wait. SQS deletes each at the end of its retention period. It never \
         reaches the dead-letter queue, because SQS moves a message only when it is received.",
    ),
    link: "https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-parameters.html",
    fix: All(
        "Set Enabled: true, or remove Enabled; Lambda then delivers all waiting messages. If you paused the queue on \
         purpose, put the comment # redrive:accept=mapping-disabled: REASON into the resource.",
    ),
    find: |deployment| {
        let mut found = Vec::new();
        for mapping in deployment.mappings.iter().filter(|mapping| mapping.enabled == Some(false)) {
            let source = deployment.source_of(mapping);
            // It is a switch for replays. An alarm reports waiting messages, and a missing alarm is another finding.
            let is_switch =
                |queue: &Queue| is_letter_queue(deployment, queue) || is_received_from(deployment, queue);
            if source.is_some_and(is_switch) {
                continue;
            }
            found.push(Found::at(mapping, format!("{} has Enabled: false.", mapping.id)));
        }
        found
    },
};

pub(in crate::doctor) const MAPPING_WITHOUT_QUEUE: Check = Check {
    code: "mapping-without-queue",
    level: Level::Error,
    title: "The mapping does not name a queue",
    why: All(
        "Nothing feeds the function: SAM or Lambda rejects a mapping without a source, and the deployment fails.",
    ),
    link: "https://docs.aws.amazon.com/serverless-application-model/latest/developerguide/sam-property-function-sqs.html",
    fix: All(
        "Set Queue: !GetAtt NAME.Arn (SAM) or EventSourceArn: !GetAtt NAME.Arn with the name of the queue.",
    ),
    find: |deployment| {
        let lacking = deployment.mappings.iter().filter_map(|mapping| Some((mapping, mapping.lacks?)));
        let what = |(mapping, lacks): (&Mapping, &str)| format!("{} has no {lacks}.", mapping.id);
        lacking.map(|it| Found::at(it.0, what(it))).collect()
    },
};

/// Largest batch without a window, and of a FIFO queue in any case.
const MOST_AT_ONCE: u32 = 10;

pub(in crate::doctor) const BATCH_SIZE_REFUSED: Check = Check {
    code: "batch-size-refused",
    level: Level::Error,
    title: "Lambda rejects the batch size",
    why: All(
        "A receive returns at most 10 messages. Lambda forms larger batches only with a batching window of \
         at least 1 s, and never from a FIFO queue.",
    ),
    link: "https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-parameters.html",
    fix: All(
        "Set BatchSize to at most 10, or, on a standard queue, MaximumBatchingWindowInSeconds to at least 1.",
    ),
    find: |deployment| {
        let too_large = deployment.mappings.iter().filter_map(|mapping| {
            let (size, window) = (mapping.batch_size?, mapping.window?);
            let reason = match deployment.source_of(mapping).is_some_and(|source| source.is_fifo()) {
                true => "its queue is a FIFO queue",
                false if window.is_zero() => "it has no batching window",
                false => return None,
            };
            let what = format!("The batch size of {} is {size}, but {reason}.", mapping.id);
            (size > MOST_AT_ONCE && BATCH_SIZE.contains(&size)).then(|| Found::at(mapping, what))
        });
        too_large.collect()
    },
};

pub(in crate::doctor) const QUEUE_SHARED: Check = Check {
    code: "queue-shared",
    level: Level::Error,
    title: "Several functions receive from one queue",
    why: All(
        "SQS delivers each message to one receiver, so each function sees only some of the messages. Filters make it \
         worse: Lambda deletes a message that does not match the filter of one function, even if it matches the \
         other's.",
    ),
    link: "https://docs.aws.amazon.com/lambda/latest/dg/with-sqs-filtering.html",
    fix: All(
        "Give each function its own queue, and send to both through an SNS topic or an EventBridge rule.",
    ),
    find: |deployment| {
        let active: Vec<_> = feeds(deployment).filter(|feed| feed.mapping.enabled != Some(false)).collect();
        let shared = active.iter().enumerate().filter_map(|(at, feed)| {
            let Feed { source, function, .. } = feed;
            let is_other = |it: &&Feed<'_>| it.source.arn == source.arn && it.function.name != function.name;
            let earlier = active[..at].iter().find(is_other)?;
            let what = format!("{} feeds both {} and {}.", source.id, earlier.function.id, function.id);
            Some(Found::at(feed.mapping, what))
        });
        shared.collect()
    },
};
