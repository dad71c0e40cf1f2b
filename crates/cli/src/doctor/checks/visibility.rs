//! Visibility timeouts of queues.

use std::time::Duration;

use redrive_iac::deployment::{Deployment, Seen};

use crate::doctor::feed::{Consumer, ConsumerKind, Feed, consumers, feeds};
use crate::doctor::finding::{Check, Found, Level};
use crate::doctor::words::Words::{All, Each, Redrive};

/// The times of one feed.
struct Times {
    visibility: Duration,
    timeout: Duration,
    window: Duration,
}

impl Times {
    fn of(feed: &Feed<'_>) -> Option<Self> {
        let (visibility, timeout) = (feed.source.visibility_timeout?, feed.function.timeout?);
        Some(Self { visibility, timeout, window: feed.mapping.window? })
    }

    /// Returns the longest time of a single delivery.
    fn least(&self) -> Duration {
        self.timeout.saturating_add(self.window)
    }

    /// Returns the visibility timeout that AWS recommends.
    fn enough(&self) -> Duration {
        self.timeout.saturating_mul(6).saturating_add(self.window)
    }
}

fn feeds_with_times(deployment: &Deployment) -> impl Iterator<Item = (Feed<'_>, Times)> {
    feeds(deployment).filter_map(|feed| Times::of(&feed).map(|times| (feed, times)))
}

pub(in crate::doctor) const VISIBILITY_BELOW_TIMEOUT: Check = Check {
    code: "visibility-below-timeout",
    level: Level::Error,
    title: "Messages become visible again while they are being processed",
    why: All(
        "Lambda receives a visible message again while its first delivery still runs. The message is processed \
         twice, and both deliveries count. Lambda rejects a mapping if the queue's visibility timeout is below the \
         function's timeout; a batching window needs more.",
    ),
    link: "https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html",
    fix: All("Set VisibilityTimeout to 6 times the function's timeout plus the batching window."),
    find: |deployment| {
        let short = feeds_with_times(deployment).filter(|(_, times)| times.visibility < times.least());
        short
            .map(|(feed, times)| {
                let what = format!(
                    "The visibility timeout of {} is {} s, but a delivery may take {} s: the timeout of {} ({} s) plus \
                     the batching window ({} s).",
                    feed.source.id,
                    times.visibility.as_secs(),
                    times.least().as_secs(),
                    feed.function.id,
                    times.timeout.as_secs(),
                    times.window.as_secs(),
                );
                Found::at(feed.source, what)
            })
            .collect()
    },
};

pub(in crate::doctor) const VISIBILITY_TOO_SHORT: Check = Check {
    code: "visibility-too-short",
    level: Level::Warning,
    title: "The visibility timeout leaves no time for throttled deliveries",
    why: All(
        "While the function is throttled, Lambda keeps a batch and tries again, but only until the visibility timeout \
          ends. Then the messages are received again, and each receive counts: healthy messages become dead letters. \
          AWS recommends six times the function's timeout plus the batching window.",
    ),
    link: "https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html",
    fix: Each {
        redrive: "Set VisibilityTimeout to 6 times the function's timeout plus the batching window. This does not slow \
           retries down: redrive sets their delays message by message.",
        other: "Set VisibilityTimeout to 6 times the function's timeout plus the batching window. A failed \
          message comes back after that time; if that is too long, change its visibility timeout in the \
          function (ChangeMessageVisibility).",
    },
    find: |deployment| {
        let short = feeds_with_times(deployment)
            .filter(|(_, times)| (times.least()..times.enough()).contains(&times.visibility))
            .filter(|(feed, times)| !is_shorter_than_lease(feed, times));
        short
            .map(|(feed, times)| {
                let what = format!(
                    "The visibility timeout of {} is {} s; 6 x the timeout of {} ({} s) plus the batching window ({} s) \
                     is {} s.",
                    feed.source.id,
                    times.visibility.as_secs(),
                    feed.function.id,
                    times.timeout.as_secs(),
                    times.window.as_secs(),
                    times.enough().as_secs(),
                );
                Found::at(feed.source, what)
            })
            .collect()
    },
};

/// Shortest visibility timeout for a worker, which extends it when two thirds are left.
const SHORTEST_LEASE: Duration = Duration::from_secs(10);

pub(in crate::doctor) const LEASE_SHORT: Check = Check {
    code: "lease-short",
    level: Level::Warning,
    title: "The visibility timeout leaves a worker no time for a slow call",
    why: Redrive(
        "A worker extends the visibility timeout of each message in flight after a third of it. If the call takes \
         longer than the rest, because SQS throttles or the network hangs, the message is received again while its \
         handler runs. The worker then cancels the handler, and the message is handled twice.",
    ),
    link: "https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-visibility-timeout.html",
    fix: Redrive(
        "Set the queue's VisibilityTimeout to 30 or more, and REDRIVE_VISIBILITY_TIMEOUT too if it is set. It need not \
         cover the longest handler.",
    ),
    find: |deployment| {
        let short = consumers(deployment).filter_map(|consumer| {
            let ConsumerKind::Worker(worker) = consumer.kind else { return None };
            let visibility = lease(&consumer).filter(|visibility| *visibility < SHORTEST_LEASE)?;
            let seconds = visibility.as_secs_f64();
            let what =
                format!("{} receives from {} for {seconds} s at a time.", worker.id, consumer.source.id);
            Some(Found::at(worker, what))
        });
        short.collect()
    },
};

/// Returns the visibility timeout with which a worker receives.
fn lease(consumer: &Consumer<'_>) -> Option<Duration> {
    match consumer.variable("REDRIVE_VISIBILITY_TIMEOUT") {
        Seen::There(seconds) => Duration::try_from_secs_f64(seconds.parse().ok()?).ok(),
        Seen::Absent => consumer.source.visibility_timeout,
        Seen::Unknown => None,
    }
}

/// Time by which the lease of an idempotency record outlasts its message's deadline.
const MARGIN: Duration = Duration::from_secs(5);

pub(in crate::doctor) const IDEMPOTENCY_LEASE: Check = Check {
    code: "idempotency-lease",
    level: Level::Warning,
    title: "A message returns before its lease has ended",
    why: Redrive(
        "If a function dies, its message stays leased until 5 s after the function's timeout. If the message comes back \
         sooner, redrive defers it, and the deferral uses up a delivery.",
    ),
    link: "https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html",
    fix: Redrive("Set VisibilityTimeout to 6 times the function's timeout plus the batching window."),
    find: |deployment| {
        let found = feeds_with_times(deployment).filter(|(feed, times)| is_shorter_than_lease(feed, times));
        let found = found.map(|(feed, times)| {
            let what = format!(
                "The visibility timeout of {} is {} s, but a lease of {} may last {} s.",
                feed.source.id,
                times.visibility.as_secs(),
                feed.function.id,
                times.timeout.saturating_add(MARGIN).as_secs(),
            );
            Found::at(feed.source, what)
        });
        found.collect()
    },
};

/// Returns true if messages return after their delivery has ended, but before their lease has.
fn is_shorter_than_lease(feed: &Feed<'_>, times: &Times) -> bool {
    let has_leases = feed.function.may_run_redrive() && feed.consumer().idempotency_table().is_some();
    has_leases && (times.least()..times.timeout.saturating_add(MARGIN)).contains(&times.visibility)
}
