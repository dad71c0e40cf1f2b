//! Queues by their attributes: those that are given, those that feed the functions, and where their letters end.

use std::time::Duration;

use aws_sdk_sqs::types::QueueAttributeName;
use redrive_sqs::{InvalidPolicy, RedriveAllowPolicy, RedrivePolicy};

use super::super::{Mapping, PartialRedrivePolicy, Queue, Seen, policy_allows_others};
use super::Unseen;
use crate::aws::Aws;
use crate::find;
use redrive_stack::template::parse;

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
    let targets: Vec<String> =
        queues.iter().filter_map(|queue| queue.dead_letter_target().map(str::to_owned)).collect();
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
    let seconds = |name: &QueueAttributeName| Some(Duration::from_secs(found.text(name)?.parse().ok()?));
    Queue {
        arn: found.arn.clone(),
        url: found.url.clone(),
        visibility_timeout: seconds(&QueueAttributeName::VisibilityTimeout),
        retention: seconds(&QueueAttributeName::MessageRetentionPeriod),
        redrive_policy: seen(found.text(&QueueAttributeName::RedrivePolicy), redrive_policy),
        redrive_allow_policy: seen(
            found.text(&QueueAttributeName::RedriveAllowPolicy),
            RedriveAllowPolicy::parse,
        ),
        kms_key: found
            .text(&QueueAttributeName::KmsMasterKeyId)
            .filter(|key| !key.is_empty())
            .map(str::to_owned)
            .into(),
        maximum_message_size: found
            .text(&QueueAttributeName::MaximumMessageSize)
            .and_then(|size| size.parse().ok()),
        takes_other_letters: false,
        may_be_watched_elsewhere: false,
        policy_allows_others: found.text(&QueueAttributeName::Policy).is_some_and(policy_allows_others_in),
        line: None,
        id: found.name().to_owned(),
    }
}

/// What is no policy is taken to allow what it may.
fn policy_allows_others_in(text: &str) -> bool {
    !text.is_empty() && parse(text).map_or(true, |document| policy_allows_others(&document))
}

fn redrive_policy(text: &str) -> Result<PartialRedrivePolicy, InvalidPolicy> {
    let RedrivePolicy { dead_letter_target_arn, max_receive_count } = RedrivePolicy::parse(text)?;
    Ok(PartialRedrivePolicy {
        dead_letter_target_arn: Some(dead_letter_target_arn),
        max_receive_count: Some(max_receive_count),
    })
}

fn seen<T, E>(text: Option<&str>, parse: impl Fn(&str) -> Result<T, E>) -> Seen<T> {
    match text.filter(|text| !text.is_empty()) {
        None => Seen::Absent,
        Some(text) => parse(text).map_or(Seen::Unknown, Seen::There),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_that_is_none_is_unknown_and_no_text_none() {
        let parse = |text: &str| seen(Some(text), RedriveAllowPolicy::parse);
        assert_eq!(parse("{"), Seen::Unknown);
        assert_eq!(parse("{}"), Seen::There(RedriveAllowPolicy::AllowAll));
        assert_eq!(parse(""), Seen::Absent);
    }
}
