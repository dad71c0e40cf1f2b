//! The queues of a run, which are its own.

use aws_sdk_sqs::types::QueueAttributeName;

use super::plan::VISIBILITY;
use crate::aws::{Aws, DescribeError};
use crate::tell::tell;

/// Messages that are forgotten vanish after an hour.
const RETENTION: &str = "3600";

/// The URLs of the queues.
#[derive(Debug, Clone)]
pub(super) struct Queues {
    pub(super) standard: String,
    pub(super) fifo: String,
    pub(super) dead: [String; 2],
}

impl Queues {
    /// Creates a standard queue and a FIFO queue, each with a dead-letter queue.
    ///
    /// # Errors
    /// SQS refuses a queue. Those that it has created are deleted.
    pub(super) async fn create(aws: &Aws, prefix: &str, max_receive_count: u32) -> anyhow::Result<Self> {
        let mut created = Vec::new();
        for suffix in ["", ".fifo"] {
            let pair = pair(aws, prefix, suffix, max_receive_count, &mut created).await;
            if let Err(error) = pair {
                delete(aws, &created).await;
                return Err(error);
            }
        }
        let [standard_dead, standard, fifo_dead, fifo] = <[String; 4]>::try_from(created).expect("two pairs");
        Ok(Self { standard, fifo, dead: [standard_dead, fifo_dead] })
    }

    pub(super) async fn delete(&self, aws: &Aws) {
        let [standard_dead, fifo_dead] = self.dead.clone();
        delete(aws, &[self.standard.clone(), self.fifo.clone(), standard_dead, fifo_dead]).await;
    }

    /// Returns the number of messages in the queues that are not dead-letter queues.
    pub(super) async fn left(&self, aws: &Aws) -> anyhow::Result<u64> {
        let mut left = 0;
        for url in [&self.standard, &self.fifo] {
            let names = [
                QueueAttributeName::ApproximateNumberOfMessages,
                QueueAttributeName::ApproximateNumberOfMessagesNotVisible,
                QueueAttributeName::ApproximateNumberOfMessagesDelayed,
            ];
            let call =
                aws.sqs().get_queue_attributes().queue_url(url).set_attribute_names(Some(names.to_vec()));
            let read = call.send().await.describe_error("count the messages", "sqs:GetQueueAttributes")?;
            let counts = read.attributes.unwrap_or_default();
            left += counts.values().filter_map(|count| count.parse::<u64>().ok()).sum::<u64>();
        }
        Ok(left)
    }
}

async fn pair(
    aws: &Aws,
    prefix: &str,
    suffix: &str,
    max_receive_count: u32,
    created: &mut Vec<String>,
) -> anyhow::Result<()> {
    let is_fifo = (!suffix.is_empty()).then_some((QueueAttributeName::FifoQueue, "true".to_owned()));
    let always = [
        (QueueAttributeName::VisibilityTimeout, VISIBILITY.as_secs().to_string()),
        (QueueAttributeName::MessageRetentionPeriod, RETENTION.to_owned()),
    ];
    let create = |name: String, more: Option<(QueueAttributeName, String)>| {
        let attributes = always.iter().cloned().chain(is_fifo.clone()).chain(more).collect();
        aws.sqs().create_queue().queue_name(name).set_attributes(Some(attributes)).send()
    };
    let creating = format!("create queues with the prefix {prefix}");
    let dead = create(format!("{prefix}-dead{suffix}"), None).await;
    let dead = dead.describe_error(&creating, "sqs:CreateQueue")?.queue_url.unwrap_or_default();
    created.push(dead.clone());
    let arn = QueueAttributeName::QueueArn;
    let read = aws.sqs().get_queue_attributes().queue_url(&dead).attribute_names(arn.clone()).send().await;
    let read = read.describe_error("read the ARN of a queue", "sqs:GetQueueAttributes")?;
    let arn = read.attributes.and_then(|mut all| all.remove(&arn)).unwrap_or_default();
    let policy = serde_json::json!({ "deadLetterTargetArn": arn, "maxReceiveCount": max_receive_count });
    let policy = (QueueAttributeName::RedrivePolicy, policy.to_string());
    let source = create(format!("{prefix}{suffix}"), Some(policy)).await;
    created.push(source.describe_error(&creating, "sqs:CreateQueue")?.queue_url.unwrap_or_default());
    Ok(())
}

async fn delete(aws: &Aws, urls: &[String]) {
    for url in urls {
        let deleted = aws.sqs().delete_queue().queue_url(url).send().await;
        if let Err(error) = deleted.describe_error(&format!("delete {url}"), "sqs:DeleteQueue") {
            tell(format_args!("redrive: {error:#}: delete it yourself"));
        }
    }
}
