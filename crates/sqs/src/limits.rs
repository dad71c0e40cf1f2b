//! What SQS takes of numbers, and what Lambda does of those of a queue's mapping.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::time::Duration;

use crate::MAX_BYTES;

/// How long a message can be hidden, counted from its receive.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-visibility-timeout.html>
#[doc(hidden)]
pub const LONGEST_VISIBILITY: Duration = Duration::from_secs(43_200);

/// How long nobody can receive a message that was sent.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessage.html>
#[doc(hidden)]
pub const LONGEST_DELAY: Duration = Duration::from_secs(900);

/// How long a receive waits for messages.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_ReceiveMessage.html>
#[doc(hidden)]
pub const LONGEST_POLL: Duration = Duration::from_secs(20);

/// Lambda's longest timeout.
/// <https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html>
#[doc(hidden)]
pub const LONGEST_INVOCATION: Duration = Duration::from_secs(900);

/// What `BatchSize` of a mapping may be.
/// <https://docs.aws.amazon.com/lambda/latest/api/API_CreateEventSourceMapping.html>
#[doc(hidden)]
pub const BATCH_SIZE: RangeInclusive<u32> = 1..=10_000;

/// What `MaximumBatchingWindowInSeconds` of a mapping may be.
/// <https://docs.aws.amazon.com/lambda/latest/api/API_CreateEventSourceMapping.html>
#[doc(hidden)]
pub const BATCHING_WINDOW: RangeInclusive<u64> = 0..=300;

/// What `ScalingConfig.MaximumConcurrency` of a mapping may be.
/// <https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html#events-sqs-max-concurrency>
#[doc(hidden)]
pub const MAXIMUM_CONCURRENCY: RangeInclusive<u32> = 2..=1_000;

/// What `VisibilityTimeout` of a queue may be, in seconds; 30 by default.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SetQueueAttributes.html>
pub const VISIBILITY_TIMEOUT: RangeInclusive<u64> = 0..=LONGEST_VISIBILITY.as_secs();

/// What `MessageRetentionPeriod` of a queue may be, in seconds; 4 days by default.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SetQueueAttributes.html>
pub const MESSAGE_RETENTION_PERIOD: RangeInclusive<u64> = 60..=1_209_600;

/// What `maxReceiveCount` of a redrive policy may be.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-dead-letter-queues.html>
pub const MAX_RECEIVE_COUNT: RangeInclusive<u32> = 1..=1_000;

/// Numbers that a queue is set to, with their limits and defaults.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SetQueueAttributes.html>
pub const QUEUE_NUMBERS: [(&str, RangeInclusive<u64>, u64); 6] = [
    ("DelaySeconds", 0..=LONGEST_DELAY.as_secs(), 0),
    ("KmsDataKeyReusePeriodSeconds", 60..=86_400, 300),
    ("MaximumMessageSize", 1_024..=MAX_BYTES as u64, MAX_BYTES as u64),
    ("MessageRetentionPeriod", MESSAGE_RETENTION_PERIOD, 345_600),
    ("ReceiveMessageWaitTimeSeconds", 0..=LONGEST_POLL.as_secs(), 0),
    ("VisibilityTimeout", VISIBILITY_TIMEOUT, 30),
];

/// `1 to 1000`.
#[doc(hidden)]
#[must_use]
pub fn in_words<T: Display>(range: &RangeInclusive<T>) -> String {
    format!("{} to {}", range.start(), range.end())
}
