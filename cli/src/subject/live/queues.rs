//! Queues by their attributes: those that are given, those that feed the functions, and where their letters end.

use std::time::Duration;

use aws_sdk_sqs::types::QueueAttributeName;
use serde_json::Value;

use super::super::{Mapping, Queue, RedriveAllowPolicy, RedrivePolicy, Seen};
use super::Unseen;
use crate::aws::Aws;
use crate::find;

/// Each queue once. A dead-letter queue is not followed to where its own letters would end.
pub(super) async fn read(
    aws: &Aws,
    given: Vec<String>,
    mappings: &[Mapping],
    unseen: &mut Unseen,
) -> Vec<Queue> {
    let mut queues: Vec<Queue> = Vec::new();
    let fed_by = mappings.iter().filter_map(|mapping| mapping.queue_arn.clone());
    for queue in given.into_iter().chain(fed_by) {
        add(aws, &queue, &mut queues, unseen).await;
    }
    let targets: Vec<String> = queues
        .iter()
        .filter_map(|queue| queue.redrive_policy.there()?.dead_letter_target_arn.clone())
        .collect();
    for target in targets {
        add(aws, &target, &mut queues, unseen).await;
    }
    queues
}

async fn add(aws: &Aws, given: &str, queues: &mut Vec<Queue>, unseen: &mut Unseen) {
    if queues.iter().any(|queue| queue.arn == given || queue.url == given) {
        return;
    }
    let found = find::Queue::find(aws, given).await;
    if let Some(queue) = unseen.or_note(&format!("the queue {given}"), found).as_ref().map(queue)
        && queues.iter().all(|known| known.arn != queue.arn)
    {
        queues.push(queue);
    }
}

/// SQS leaves out what nobody has set but for what has a default.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_GetQueueAttributes.html>
fn queue(found: &find::Queue) -> Queue {
    let json = |name: &QueueAttributeName| {
        found.text(name).filter(|text| !text.is_empty()).map(serde_json::from_str::<Value>)
    };
    let seconds = |name: &QueueAttributeName| Some(Duration::from_secs(found.text(name)?.parse().ok()?));
    Queue {
        arn: found.arn.clone(),
        url: found.url.clone(),
        visibility_timeout: seconds(&QueueAttributeName::VisibilityTimeout),
        retention: seconds(&QueueAttributeName::MessageRetentionPeriod),
        redrive_policy: seen(json(&QueueAttributeName::RedrivePolicy), |policy| Some(redrive_policy(policy))),
        redrive_allow_policy: seen(json(&QueueAttributeName::RedriveAllowPolicy), redrive_allow_policy),
        kms_key: found
            .text(&QueueAttributeName::KmsMasterKeyId)
            .filter(|key| !key.is_empty())
            .map(str::to_owned)
            .into(),
        policy_allows_others: false,
        line: None,
        id: found.name().to_owned(),
    }
}

fn seen<T>(json: Option<serde_json::Result<Value>>, read: impl Fn(&Value) -> Option<T>) -> Seen<T> {
    match json {
        None => Seen::Absent,
        Some(json) => json.ok().as_ref().and_then(read).map_or(Seen::Unknown, Seen::There),
    }
}

fn redrive_policy(policy: &Value) -> RedrivePolicy {
    let count = &policy["maxReceiveCount"];
    let count = count.as_u64().or_else(|| count.as_str()?.parse().ok());
    RedrivePolicy {
        dead_letter_target_arn: policy["deadLetterTargetArn"].as_str().map(str::to_owned),
        max_receive_count: count.and_then(|count| u32::try_from(count).ok()),
    }
}

fn redrive_allow_policy(policy: &Value) -> Option<RedriveAllowPolicy> {
    match policy["redrivePermission"].as_str() {
        Some("denyAll") => Some(RedriveAllowPolicy::DenyAll),
        Some("byQueue") => {
            let arns = policy["sourceQueueArns"].as_array()?.iter();
            Some(RedriveAllowPolicy::ByQueue(
                arns.map(|arn| arn.as_str().map(str::to_owned)).collect::<Option<_>>()?,
            ))
        }
        Some(_) | None => Some(RedriveAllowPolicy::AllowAll),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn counts_are_numbers_or_texts_and_a_policy_that_is_none_is_unknown() {
        for count in [json!(3), json!("3")] {
            let policy = redrive_policy(&json!({"maxReceiveCount": count, "deadLetterTargetArn": "arn"}));
            assert_eq!(policy.max_receive_count, Some(3));
        }
        let parse = |text: &str| seen(Some(serde_json::from_str(text)), redrive_allow_policy);
        assert_eq!(parse("{"), Seen::Unknown);
        assert_eq!(parse(r#"{"redrivePermission": "denyAll"}"#), Seen::There(RedriveAllowPolicy::DenyAll));
        assert_eq!(parse("{}"), Seen::There(RedriveAllowPolicy::AllowAll));
        let by_queue = r#"{"redrivePermission": "byQueue", "sourceQueueArns": ["a", "b"]}"#;
        let expected = RedriveAllowPolicy::ByQueue(vec!["a".to_owned(), "b".to_owned()]);
        assert_eq!(parse(by_queue), Seen::There(expected));
        assert_eq!(seen(None, redrive_allow_policy), Seen::Absent);
    }
}
