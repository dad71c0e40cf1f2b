//! What SQS takes of the numbers of a queue.

use std::ops::RangeInclusive;

/// What `VisibilityTimeout` of a queue may be, in seconds; 30 by default.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SetQueueAttributes.html>
pub const VISIBILITY_TIMEOUT: RangeInclusive<u64> = 0..=43_200;

/// What `MessageRetentionPeriod` of a queue may be, in seconds; 4 days by default.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SetQueueAttributes.html>
pub const MESSAGE_RETENTION_PERIOD: RangeInclusive<u64> = 60..=1_209_600;

/// What `maxReceiveCount` of a redrive policy may be.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-dead-letter-queues.html>
pub const MAX_RECEIVE_COUNT: RangeInclusive<u32> = 1..=1_000;
