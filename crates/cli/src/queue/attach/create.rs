//! Creates a dead-letter queue.

use std::collections::HashMap;
use std::time::Duration;

use anyhow::anyhow;
use aws_sdk_sqs::types::QueueAttributeName;
use redrive_sqs::RedriveAllowPolicy;

use crate::aws::{Aws, DescribeError};
use crate::find::Queue;

/// Retention period: 14 days, the maximum of SQS.
const RETENTION: &str = "1209600";

/// Attempts to use a queue that was just created, and the pause between them: SQS needs at least a second.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_CreateQueue.html>
pub(super) const TRIES: usize = 10;
pub(super) const PAUSE: Duration = Duration::from_secs(1);

/// Creates the queue with the type and the key of its source, and for that source alone.
pub(super) async fn create(aws: &Aws, source: &Queue, name: &str) -> anyhow::Result<Queue> {
    let mut attributes = HashMap::from([
        (QueueAttributeName::MessageRetentionPeriod, RETENTION.to_owned()),
        (
            QueueAttributeName::RedriveAllowPolicy,
            RedriveAllowPolicy::ByQueue(vec![source.arn.clone()]).to_json(),
        ),
    ]);
    for shared in [QueueAttributeName::FifoQueue, QueueAttributeName::KmsMasterKeyId] {
        if let Some(value) = source.text(&shared) {
            attributes.insert(shared, value.to_owned());
        }
    }
    let made = aws.sqs().create_queue().queue_name(name).set_attributes(Some(attributes)).send().await;
    made.describe_error(&format!("create the queue {name}"), "sqs:CreateQueue")?;
    for _ in 0..TRIES {
        if let Some(queue) = Queue::find_if_exists(aws, name).await? {
            return Ok(queue);
        }
        tokio::time::sleep(PAUSE).await;
    }
    Err(anyhow!("the queue {name} was created, but SQS does not know it yet: try again in a minute"))
}
