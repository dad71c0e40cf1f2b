//! Settings that matter only for FIFO queues.

use super::redrive_policy::FEWEST;
use crate::counted::counted;
use crate::doctor::feed::feeds;
use crate::doctor::finding::{Check, Found, Level};
use crate::doctor::words::Words::{All, Each};

pub(in crate::doctor) const FIFO_BATCHING_WINDOW: Check = Check {
    code: "fifo-batching-window",
    level: Level::Error,
    title: "A FIFO queue cannot have a batching window",
    why: All(
        "Batching windows are for standard queues. Lambda rejects the mapping, and the deployment fails.",
    ),
    link: "https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html",
    fix: All("Remove MaximumBatchingWindowInSeconds."),
    find: |deployment| {
        let windows = feeds(deployment).filter(|feed| feed.source.is_fifo()).filter_map(|feed| {
            let seconds = feed.mapping.window.filter(|window| !window.is_zero())?.as_secs();
            let (mapping, source) = (&feed.mapping.id, &feed.source.id);
            let what =
                format!("{mapping} has a batching window of {seconds} s, but {source} is a FIFO queue.");
            Some(Found::at(feed.mapping, what))
        });
        windows.collect()
    },
};

pub(in crate::doctor) const FIFO_BATCH_USES_DELIVERIES: Check = Check {
    code: "fifo-batch-uses-deliveries",
    level: Level::Warning,
    title: "Messages behind a failing one use up their deliveries",
    why: Each {
        redrive: "Messages can become dead letters without ever having run. When a message of a FIFO group fails, the \
          messages behind it in the batch must wait, but SQS has counted their delivery. The failed message comes back \
          alone, so each message in front costs the others one delivery.",
        other: "Messages can become dead letters without ever having run. When a message of a FIFO group fails, the \
            messages behind it in the batch must wait, but SQS has counted their delivery. Each attempt of the \
            failed message costs the others one delivery.",
    },
    link: "https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html",
    fix: Each {
        redrive: "Set BatchSize to at most maxReceiveCount.",
        other: "Set maxReceiveCount to 5 or more and FunctionResponseTypes to [ReportBatchItemFailures], and in the function \
          stop at the first failure and return the rest: the ids of the failed message and of all behind it as \
          batchItemFailures. Or set BatchSize to 1.",
    },
    find: |deployment| {
        let large = feeds(deployment).filter(|feed| feed.source.is_fifo()).filter_map(|feed| {
            let (size, count) = (feed.mapping.batch_size?, feed.source.max_receive_count()?);
            // With both, as in AWS's guide, a message that fails a few times leaves deliveries for those behind it.
            let is_guarded = count >= FEWEST && feed.mapping.reports_batch_item_failures != Some(false);
            let most = match feed.function.may_run_redrive() {
                true => count,
                false if is_guarded => size,
                false => 1,
            };
            let what = format!(
                "{} receives batches of {size} from {}, whose messages get {}.",
                feed.mapping.id,
                feed.source.id,
                counted(count as usize, "delivery")
            );
            (size > most).then(|| Found::at(feed.mapping, what))
        });
        large.collect()
    },
};
