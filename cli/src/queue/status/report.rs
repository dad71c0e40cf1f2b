//! All that is known of a queue at a moment. Pure values.

use std::time::Duration;

use aws_sdk_sqs::types::QueueAttributeName;
use serde::Serialize;

use super::expiry::{Expiry, Letters};
use crate::find::Queue;
use crate::queue::mappings::Mapping;

/// What is `null` was not read; `not_read` says why.
#[derive(Debug, Clone, Default, Serialize)]
pub(super) struct Report {
    /// The queue that feeds the function.
    pub(super) queue: Option<QueueReport>,
    pub(super) dead_letter_queue: Option<QueueReport>,
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
    pub(super) retention_seconds: u64,
    pub(super) visibility_timeout_seconds: u64,
    pub(super) redrive_policy: Option<Policy>,
    #[serde(skip)]
    pub(super) is_fifo: bool,
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
    /// `age` is the newest value of the metric.
    pub(super) fn new(queue: &Queue, age: Option<Duration>) -> Self {
        let count = |name| queue.count(&name);
        let mut report = Self {
            name: queue.name().to_owned(),
            url: queue.url.clone(),
            arn: queue.arn.clone(),
            visible: count(QueueAttributeName::ApproximateNumberOfMessages),
            in_flight: count(QueueAttributeName::ApproximateNumberOfMessagesNotVisible),
            delayed: count(QueueAttributeName::ApproximateNumberOfMessagesDelayed),
            oldest_seconds: None,
            retention_seconds: queue.retention().as_secs(),
            visibility_timeout_seconds: queue.visibility_timeout().as_secs(),
            redrive_policy: queue.redrive_policy().map(|policy| Policy {
                dead_letter_queue_arn: policy.dead_letter_target_arn,
                max_receive_count: policy.max_receive_count,
            }),
            is_fifo: queue.is_fifo(),
        };
        // Zero beside messages means that the metric does not see them, or not yet.
        let age = age.map(|age| age.as_secs()).filter(|age| *age > 0);
        report.oldest_seconds = age.filter(|_| !report.is_empty());
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

    pub(super) fn why(&self, what: What) -> Option<&str> {
        self.not_read.iter().find(|part| part.what == what).map(|part| part.why.as_str())
    }
}
