//! Estimates the expiry of the oldest letter from a metric. Pure.
//! <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/setting-up-dead-letter-queue-retention.html>

use std::time::Duration;

use serde::Serialize;

use crate::span::span;

/// Seconds until the first letter expires, at the earliest and at the latest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct Expiry {
    pub(crate) earliest_in_seconds: u64,
    pub(crate) latest_in_seconds: u64,
}

/// Facts about a dead-letter queue.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Letters {
    /// Age of the oldest letter in this queue.
    pub(crate) oldest: Duration,
    pub(crate) retention: Duration,
    /// Retention period of the source queue.
    pub(crate) source_retention: Option<Duration>,
    pub(crate) is_fifo: bool,
}

impl Expiry {
    /// Computes the range. A letter that SQS moved from a standard queue has aged there, for its retention period at most.
    pub(crate) fn of(letters: Letters) -> Self {
        let latest = letters.retention.saturating_sub(letters.oldest);
        let aged = match (letters.is_fifo, letters.source_retention) {
            (true, _) => Duration::ZERO,
            (false, Some(retention)) => retention,
            (false, None) => latest,
        };
        Self {
            earliest_in_seconds: latest.saturating_sub(aged).as_secs(),
            latest_in_seconds: latest.as_secs(),
        }
    }

    /// Formats the range as `in 3d`, `in 3d to 4d`, or `within 4d`.
    pub(crate) fn words(self) -> String {
        let [earliest, latest] = [self.earliest_in_seconds, self.latest_in_seconds]
            .map(|seconds| span(Duration::from_secs(seconds)));
        match self.earliest_in_seconds {
            _ if earliest == latest => format!("in {latest}"),
            0 => format!("within {latest}"),
            _ => format!("in {earliest} to {latest}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expiry(oldest: u64, source_retention: Option<u64>, is_fifo: bool) -> (u64, u64) {
        let days = |days: u64| Duration::from_secs(days * 86_400);
        let letters = Letters {
            oldest: days(oldest),
            retention: days(14),
            source_retention: source_retention.map(days),
            is_fifo,
        };
        let expiry = Expiry::of(letters);
        (expiry.earliest_in_seconds / 86_400, expiry.latest_in_seconds / 86_400)
    }

    #[test]
    fn a_letter_of_a_fifo_queue_begins_anew_when_it_is_moved() {
        assert_eq!(expiry(1, Some(7), true), (13, 13));
    }

    #[test]
    fn a_letter_of_a_standard_queue_may_have_aged_in_the_source() {
        assert_eq!(expiry(1, Some(7), false), (6, 13));
        assert_eq!(expiry(10, Some(7), false), (0, 4));
        assert_eq!(expiry(1, None, false), (0, 13));
        assert_eq!(expiry(15, None, false), (0, 0));
    }
}
