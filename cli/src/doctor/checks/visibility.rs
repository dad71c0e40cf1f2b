//! How long a received message stays hidden.

use std::time::Duration;

use crate::doctor::feed::{Feed, feeds};
use crate::doctor::finding::{Check, Found, Level};
use crate::subject::Subject;

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

    /// What a single delivery may take.
    fn least(&self) -> Duration {
        self.timeout + self.window
    }

    /// What AWS recommends.
    fn enough(&self) -> Duration {
        6 * self.timeout + self.window
    }
}

fn feeds_with_times(subject: &Subject) -> impl Iterator<Item = (Feed<'_>, Times)> {
    feeds(subject).filter_map(|feed| Times::of(&feed).map(|times| (feed, times)))
}

pub(in crate::doctor) const VISIBILITY_BELOW_TIMEOUT: Check = Check {
    code: "visibility-below-timeout",
    level: Level::Error,
    title: "Messages become visible again while they are in work",
    why: "A message that is visible again is received again, while its first delivery still runs: it is done twice, and \
          both deliveries count. Lambda refuses a mapping whose queue has a visibility timeout below the function's \
          timeout; a batch that waits in the window needs more.",
    link: "https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html",
    mend: "Set VisibilityTimeout to 6 times the function's timeout and the batching window.",
    find: |subject| {
        let short = feeds_with_times(subject).filter(|(_, times)| times.visibility < times.least());
        short
            .map(|(feed, times)| {
                let what = format!(
                    "The visibility timeout of {} is {} s, but a delivery may take {} s: the timeout of {} ({} s) and \
                     the batching window ({} s).",
                    feed.source.id,
                    times.visibility.as_secs(),
                    times.least().as_secs(),
                    feed.function.id,
                    times.timeout.as_secs(),
                    times.window.as_secs(),
                );
                Found::at_queue(feed.source, what)
            })
            .collect()
    },
};

pub(in crate::doctor) const VISIBILITY_TOO_SHORT: Check = Check {
    code: "visibility-too-short",
    level: Level::Warning,
    title: "The visibility timeout leaves no time for throttled deliveries",
    why: "While the function is throttled, Lambda keeps a batch and tries again, but only until the visibility timeout is \
          over. Then the messages are received anew, and each time counts: healthy messages end as dead letters. AWS \
          recommends six times the function's timeout and the batching window.",
    link: "https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html",
    mend: "Set VisibilityTimeout to 6 times the function's timeout and the batching window. Retries do not wait for it: \
           their delays are set message by message.",
    find: |subject| {
        let short = feeds_with_times(subject)
            .filter(|(_, times)| (times.least()..times.enough()).contains(&times.visibility));
        short
            .map(|(feed, times)| {
                let what = format!(
                    "The visibility timeout of {} is {} s; 6 x the timeout of {} ({} s) and the batching window ({} s) \
                     are {} s.",
                    feed.source.id,
                    times.visibility.as_secs(),
                    feed.function.id,
                    times.timeout.as_secs(),
                    times.window.as_secs(),
                    times.enough().as_secs(),
                );
                Found::at_queue(feed.source, what)
            })
            .collect()
    },
};
