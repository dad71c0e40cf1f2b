//! Limits of retries that have no effect on queues.

use std::collections::HashMap;

use crate::doctor::feed::feeds;
use crate::doctor::finding::{Check, Found, Level};
use crate::doctor::words::Words::All;

pub(in crate::doctor) const RETRY_LIMITS_UNUSED: Check = Check {
    code: "retry-limits-unused",
    level: Level::Warning,
    title: "A retry limit has no effect on a queue",
    why: All(
        "SQS delivers a message until it succeeds, uses up maxReceiveCount, or expires, regardless of these \
         properties. MaximumRetryAttempts and MaximumEventAgeInSeconds of a function limit asynchronous invocations. \
         On a mapping such properties are for streams, and Lambda may reject them on a queue's mapping.",
    ),
    link: "https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-configuring.html",
    fix: All(
        "Remove the property, unless something else invokes the function asynchronously. To limit attempts, set \
         maxReceiveCount in the queue's RedrivePolicy to 5 or more; to limit the age, set the queue's \
         MessageRetentionPeriod.",
    ),
    find: |deployment| {
        let mut found = Vec::new();
        for mapping in deployment.mappings.iter().filter(|it| !it.of_streams.is_empty() && it.lacks.is_none())
        {
            let what =
                format!("{} has {}, which is not for queues.", mapping.id, mapping.of_streams.join(" and "));
            found.push(Found::at(mapping, what));
        }
        let mut sources = HashMap::new();
        for feed in feeds(deployment) {
            sources.entry(&feed.function.name).or_insert(feed);
        }
        for function in deployment.functions.iter().filter(|it| !it.invoked_asynchronously) {
            let (Some(feed), false) = (sources.get(&function.name), function.asynchronous_limits.is_empty())
            else {
                continue;
            };
            let (id, limits) = (&function.id, function.asynchronous_limits.join(" and "));
            let what = format!("{id} has {limits}, but {} invokes it synchronously.", feed.source.id);
            found.push(Found::at(function, what));
        }
        found
    },
};
