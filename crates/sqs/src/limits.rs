//! Limits on numbers: those of SQS, and those of Lambda for a queue's mapping.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::time::Duration;

use crate::MAX_BYTES;

/// Longest time for which a message can be hidden, counted from its receive.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-visibility-timeout.html>
#[doc(hidden)]
pub const LONGEST_VISIBILITY: Duration = Duration::from_secs(43_200);

/// Longest delay of a message after it was sent.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessage.html>
#[doc(hidden)]
pub const LONGEST_DELAY: Duration = Duration::from_secs(900);

/// Longest wait of a receive for messages.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_ReceiveMessage.html>
#[doc(hidden)]
pub const LONGEST_POLL: Duration = Duration::from_secs(20);

/// Lambda's longest timeout.
/// <https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html>
#[doc(hidden)]
pub const LONGEST_INVOCATION: Duration = Duration::from_secs(900);

/// Allowed values of a mapping's `BatchSize`.
/// <https://docs.aws.amazon.com/lambda/latest/api/API_CreateEventSourceMapping.html>
#[doc(hidden)]
pub const BATCH_SIZE: RangeInclusive<u32> = 1..=10_000;

/// Allowed values of a mapping's `MaximumBatchingWindowInSeconds`.
/// <https://docs.aws.amazon.com/lambda/latest/api/API_CreateEventSourceMapping.html>
#[doc(hidden)]
pub const BATCHING_WINDOW: RangeInclusive<u64> = 0..=300;

/// Allowed values of a mapping's `ScalingConfig.MaximumConcurrency`.
/// <https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html#events-sqs-max-concurrency>
#[doc(hidden)]
pub const MAXIMUM_CONCURRENCY: RangeInclusive<u32> = 2..=1_000;

/// Allowed values of a queue's `VisibilityTimeout`, in seconds. The default is 30.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SetQueueAttributes.html>
pub const VISIBILITY_TIMEOUT: RangeInclusive<u64> = 0..=LONGEST_VISIBILITY.as_secs();

/// Allowed values of a queue's `MessageRetentionPeriod`, in seconds. The default is 4 days.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SetQueueAttributes.html>
pub const MESSAGE_RETENTION_PERIOD: RangeInclusive<u64> = 60..=1_209_600;

/// Allowed values of a redrive policy's `maxReceiveCount`.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-dead-letter-queues.html>
pub const MAX_RECEIVE_COUNT: RangeInclusive<u32> = 1..=1_000;

/// Numeric attributes of a queue with their limits and defaults.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SetQueueAttributes.html>
pub const QUEUE_NUMBERS: [(&str, RangeInclusive<u64>, u64); 6] = [
    ("DelaySeconds", 0..=LONGEST_DELAY.as_secs(), 0),
    ("KmsDataKeyReusePeriodSeconds", 60..=86_400, 300),
    ("MaximumMessageSize", 1_024..=MAX_BYTES as u64, MAX_BYTES as u64),
    ("MessageRetentionPeriod", MESSAGE_RETENTION_PERIOD, 345_600),
    ("ReceiveMessageWaitTimeSeconds", 0..=LONGEST_POLL.as_secs(), 0),
    ("VisibilityTimeout", VISIBILITY_TIMEOUT, 30),
];

/// Writes a range as `1 to 1000`.
#[doc(hidden)]
#[must_use]
pub fn in_words<T: Display>(range: &RangeInclusive<T>) -> String {
    format!("{} to {}", range.start(), range.end())
}
