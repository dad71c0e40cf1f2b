//! What SQS takes of the numbers of a queue.

use std::ops::RangeInclusive;

use crate::MAX_BYTES;

/// What `VisibilityTimeout` of a queue may be, in seconds; 30 by default.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SetQueueAttributes.html>
pub const VISIBILITY_TIMEOUT: RangeInclusive<u64> = 0..=43_200;

/// What `MessageRetentionPeriod` of a queue may be, in seconds; 4 days by default.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SetQueueAttributes.html>
pub const MESSAGE_RETENTION_PERIOD: RangeInclusive<u64> = 60..=1_209_600;

/// What `maxReceiveCount` of a redrive policy may be.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-dead-letter-queues.html>
pub const MAX_RECEIVE_COUNT: RangeInclusive<u32> = 1..=1_000;

/// Numbers that a queue is set to, with their limits and defaults.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SetQueueAttributes.html>
pub const QUEUE_NUMBERS: [(&str, RangeInclusive<u64>, u64); 6] = [
    ("DelaySeconds", 0..=900, 0),
    ("KmsDataKeyReusePeriodSeconds", 60..=86_400, 300),
    ("MaximumMessageSize", 1_024..=MAX_BYTES as u64, MAX_BYTES as u64),
    ("MessageRetentionPeriod", MESSAGE_RETENTION_PERIOD, 345_600),
    ("ReceiveMessageWaitTimeSeconds", 0..=20, 0),
    ("VisibilityTimeout", VISIBILITY_TIMEOUT, 30),
];
