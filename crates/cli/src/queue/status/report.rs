//! All that is known of a queue at a moment. Pure values.

use std::time::Duration;

use aws_sdk_sqs::types::QueueAttributeName;
use serde::Serialize;

use crate::find::Queue;
use crate::letters::expiry::{Expiry, Letters};
use crate::queue::mappings::Mapping;

/// What is `null` was not read; `not_read` says why.
#[derive(Debug, Clone, Default, Serialize)]
pub(super) struct Report {
    /// The queue that feeds the function.
    pub(super) queue: Option<QueueReport>,
    pub(super) dead_letter_queue: Option<QueueReport>,
    /// How many letters `--look` has received; none without it.
    pub(super) letters_seen: Option<usize>,
    /// None as well if there is no letter.
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
    /// None if unknown, or if there is no message.
    pub(super) oldest_seconds: Option<u64>,
    pub(super) oldest_from: Option<Source>,
    /// The last that CloudWatch has told within a day, if that is too old to be the age now.
    pub(super) last_known_oldest: Option<Earlier>,
    pub(super) retention_seconds: u64,
    pub(super) visibility_timeout_seconds: u64,
    pub(super) redrive_policy: Option<Policy>,
    #[serde(skip)]
    pub(super) is_fifo: bool,
}

/// How an age is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Source {
    /// By a metric that leaves out what was received three times or more.
    Cloudwatch,
    /// From all letters.
    Look,
    /// From some letters; another may be older.
    PartialLook,
}

/// What the age was at some time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct Earlier {
    pub(super) seconds: u64,
    pub(super) seconds_ago: u64,
}

/// What CloudWatch tells of a queue's oldest message.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Age {
    pub(super) now: Option<Duration>,
    pub(super) earlier: Option<Earlier>,
}

/// What a look at the letters has found.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen {
    /// How long ago the first of them was sent to this queue.
    pub(super) oldest: Option<Duration>,
    pub(super) letters: usize,
    /// Whether SQS has shown all of them.
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
    /// `OK`, `ALARM` or `INSUFFICIENT_DATA`.
    pub(super) state: String,
    /// RFC 3339.
    pub(super) since: Option<String>,
    #[serde(skip)]
    pub(super) for_seconds: Option<u64>,
}

#[derive(Debug, Clone, Serialize)]
pub(super) struct NotRead {
    pub(super) what: What,
    pub(super) why: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum What {
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
        // Zero beside messages means that the metric does not see them, or not yet.
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

    /// With what a look at the letters has found. SQS counts their retention from the same time.
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

    pub(super) fn why(&self, what: What) -> Option<&str> {
        self.not_read.iter().find(|part| part.what == what).map(|part| part.why.as_str())
    }
}
