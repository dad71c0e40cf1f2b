//! The status of a queue as values. Pure.

use std::time::Duration;

use aws_sdk_sqs::types::QueueAttributeName;
use serde::Serialize;

use crate::find::Queue;
use crate::letters::expiry::{Expiry, Letters};
use crate::queue::mappings::Mapping;

/// The status. A field that is `null` was not read, for a reason in `not_read`.
#[derive(Debug, Clone, Default, Serialize)]
pub(super) struct Report {
    /// The queue that feeds the function.
    pub(super) queue: Option<QueueReport>,
    pub(super) dead_letter_queue: Option<QueueReport>,
    /// Letters that `--look` has received. None without it.
    pub(super) letters_seen: Option<usize>,
    /// None also if there is no letter.
    pub(super) first_letter_expires: Option<Expiry>,
    pub(super) mappings: Option<Vec<Mapping>>,
    pub(super) alarms: Option<Vec<Alarm>>,
    pub(super) not_read: Vec<NotRead>,
}

#[derive(Debug, Clone, Serialize)]
pub(super) struct QueueReport {
    pub(super) name: String,
    pub(super) url: String,
    pub(super) arn: String,
    pub(super) visible: u64,
    pub(super) in_flight: u64,
    pub(super) delayed: u64,
    /// Age of the oldest message. None if it is unknown, or if there is no message.
    pub(super) oldest_seconds: Option<u64>,
    pub(super) oldest_from: Option<Source>,
    /// The last value of CloudWatch within a day, if it is too old to be current.
    pub(super) last_known_oldest: Option<Earlier>,
    pub(super) retention_seconds: u64,
    pub(super) visibility_timeout_seconds: u64,
    pub(super) redrive_policy: Option<Policy>,
    #[serde(skip)]
    pub(super) is_fifo: bool,
}

/// Source of an age.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Source {
    /// A metric that leaves out messages that were received three times or more.
    Cloudwatch,
    /// All letters.
    Look,
    /// Some letters. Another may be older.
    PartialLook,
}

/// A former age.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct Earlier {
    pub(super) seconds: u64,
    pub(super) seconds_ago: u64,
}

/// CloudWatch's values for a queue's oldest message.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Age {
    pub(super) now: Option<Duration>,
    pub(super) earlier: Option<Earlier>,
}

/// Result of a look at the letters.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen {
    /// Time since the first of them was sent to this queue.
    pub(super) oldest: Option<Duration>,
    pub(super) letters: usize,
    /// True if SQS has returned all of them.
    pub(super) is_all: bool,
}

#[derive(Debug, Clone, Serialize)]
pub(super) struct Policy {
    pub(super) dead_letter_queue_arn: String,
    pub(super) max_receive_count: u32,
}

#[derive(Debug, Clone, Serialize)]
pub(super) struct Alarm {
    pub(super) name: String,
    /// State: `OK`, `ALARM` or `INSUFFICIENT_DATA`.
    pub(super) state: String,
    /// Time of the change in RFC 3339.
    pub(super) since: Option<String>,
    #[serde(skip)]
    pub(super) for_seconds: Option<u64>,
}

#[derive(Debug, Clone, Serialize)]
pub(super) struct NotRead {
    pub(super) what: UnreadPart,
    pub(super) why: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum UnreadPart {
    DeadLetterQueue,
    Ages,
    Mappings,
    Alarms,
}

impl QueueReport {
    pub(super) fn new(queue: &Queue, age: Age) -> Self {
        let count = |name| queue.count(&name);
        let mut report = Self {
            name: queue.name().to_owned(),
            url: queue.url.clone(),
            arn: queue.arn.clone(),
            visible: count(QueueAttributeName::ApproximateNumberOfMessages),
            in_flight: count(QueueAttributeName::ApproximateNumberOfMessagesNotVisible),
            delayed: count(QueueAttributeName::ApproximateNumberOfMessagesDelayed),
            oldest_seconds: None,
            oldest_from: None,
            last_known_oldest: None,
            retention_seconds: queue.retention().as_secs(),
            visibility_timeout_seconds: queue.visibility_timeout().as_secs(),
            redrive_policy: queue.redrive_policy().map(|policy| Policy {
                dead_letter_queue_arn: policy.dead_letter_target_arn,
                max_receive_count: policy.max_receive_count,
            }),
            is_fifo: queue.is_fifo(),
        };
        // If there are messages, zero means that the metric does not see them, or not yet.
        if !report.is_empty() {
            report.oldest_seconds = age.now.map(|age| age.as_secs()).filter(|age| *age > 0);
            report.oldest_from = report.oldest_seconds.map(|_| Source::Cloudwatch);
            report.last_known_oldest = age.earlier.filter(|_| report.oldest_seconds.is_none());
        }
        report
    }

    pub(super) fn is_empty(&self) -> bool {
        self.visible + self.in_flight + self.delayed == 0
    }
}

impl Report {
    pub(super) fn new(queue: Option<QueueReport>, dead: Option<QueueReport>) -> Self {
        let first_letter_expires = dead.as_ref().and_then(|dead| {
            Some(Expiry::of(Letters {
                oldest: Duration::from_secs(dead.oldest_seconds?),
                retention: Duration::from_secs(dead.retention_seconds),
                source_retention: queue.as_ref().map(|queue| Duration::from_secs(queue.retention_seconds)),
                is_fifo: dead.is_fifo,
            }))
        });
        Self { queue, dead_letter_queue: dead, first_letter_expires, ..Self::default() }
    }

    /// Adds the result of a look at the letters, whose retention period starts at the same time.
    pub(super) fn with_look(mut self, seen: Seen) -> Self {
        if let (Some(dead), Some(oldest)) = (&mut self.dead_letter_queue, seen.oldest) {
            let latest = Duration::from_secs(dead.retention_seconds).saturating_sub(oldest).as_secs();
            dead.oldest_seconds = Some(oldest.as_secs());
            dead.oldest_from = Some(if seen.is_all { Source::Look } else { Source::PartialLook });
            self.first_letter_expires = Some(Expiry {
                earliest_in_seconds: if seen.is_all { latest } else { 0 },
                latest_in_seconds: latest,
            });
        }
        self.letters_seen = Some(seen.letters);
        self
    }

    pub(super) fn why(&self, what: UnreadPart) -> Option<&str> {
        self.not_read.iter().find(|part| part.what == what).map(|part| part.why.as_str())
    }
}
