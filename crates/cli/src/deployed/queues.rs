//! Reads queues by their attributes: the given ones, those that feed the functions, and their dead-letter queues.

use std::collections::HashSet;
use std::time::Duration;

use aws_sdk_sqs::types::QueueAttributeName;
use futures_util::{StreamExt, stream};
use redrive_iac::deployment::{
    Arn, Mapping, PartialRedrivePolicy, Queue, Seen, open_actions, policy_allows_others,
};
use redrive_iac::parse;
use redrive_sqs::{InvalidPolicy, RedriveAllowPolicy, RedrivePolicy, queue_name};

use super::unseen::{Most, Unseen};
use crate::aws::{Aws, DescribeError};
use crate::find;

/// Part of SQS's list that is read. Each queue takes another call.
pub(crate) const MOST: Most = Most { pages: 10, on_a_page: 1_000 };

/// Number of queues that are read at the same time.
const AT_ONCE: usize = 16;

/// Reads each queue once. Does not follow a dead-letter queue to its own dead-letter queue.
pub(super) async fn read(
    aws: &Aws,
    given: Vec<String>,
    mappings: &[Mapping],
    unseen: &mut Unseen,
) -> Vec<Queue> {
    let (mut queues, mut requested) = (Vec::new(), HashSet::new());
    add(aws, given, &mut queues, &mut requested, unseen).await;
    let fed_by = mappings.iter().filter_map(|mapping| mapping.queue_arn.clone()).collect();
    add(aws, fed_by, &mut queues, &mut requested, unseen).await;
    let targets: Vec<String> =
        queues.iter().filter_map(|queue| queue.dead_letter_target().map(str::to_owned)).collect();
    add(aws, targets, &mut queues, &mut requested, unseen).await;
    queues
}

/// Lists the URLs of all queues of the account, and whether there are more.
pub(crate) async fn list(aws: &Aws) -> anyhow::Result<(Vec<String>, bool)> {
    let mut pages = aws.sqs().list_queues().max_results(MOST.on_a_page).into_paginator().send();
    let read = MOST.read(async || pages.next().await).await;
    let (pages, is_cut) = read.describe_error("list the queues", "sqs:ListQueues")?;
    Ok((pages.into_iter().flat_map(|page| page.queue_urls.unwrap_or_default()).collect(), is_cut))
}

/// Reads the queues that were not requested yet.
async fn add(
    aws: &Aws,
    given: Vec<String>,
    queues: &mut Vec<Queue>,
    requested: &mut HashSet<String>,
    unseen: &mut Unseen,
) {
    let new: Vec<String> =
        given.into_iter().filter(|given| requested.insert(address(given, aws.region()))).collect();
    let read = stream::iter(&new).map(|given| async move {
        let mut unseen = Unseen::default();
        let found = unseen.or_note(&format!("the queue {given}"), find::Queue::find(aws, given).await);
        (found, (queue_name(given).to_owned(), unseen))
    });
    let read: Vec<_> = read.buffered(AT_ONCE).collect().await;
    let (found, notes): (Vec<_>, Vec<_>) = read.into_iter().unzip();
    unseen.fold(notes);
    let mut known: HashSet<String> = queues.iter().map(|queue| queue.arn.clone()).collect();
    queues.extend(found.iter().flatten().map(queue).filter(|queue| known.insert(queue.arn.clone())));
}

/// Returns the same text for the URL and the ARN of a queue in this region.
fn address(given: &str, region: &str) -> String {
    match (Arn::of_queue_url(given), Arn::parse(given)) {
        (Some(arn), _) => format!("{}/{}", arn.account, arn.rest),
        (None, Some(arn)) if arn.region == region => format!("{}/{}", arn.account, arn.rest),
        (None, _) => given.to_owned(),
    }
}

/// Converts a queue. SQS leaves out attributes that are not set and have no default.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_GetQueueAttributes.html>
fn queue(found: &find::Queue) -> Queue {
    let seconds = |name: &QueueAttributeName| Some(Duration::from_secs(found.text(name)?.parse().ok()?));
    let policy = seen(found.text(&QueueAttributeName::Policy), parse);
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
        other_receiver: None,
        senders: Vec::new(),
        may_be_watched_elsewhere: false,
        // A malformed policy counts as one that may allow everything.
        policy_allows_others: !policy.is_absent() && policy.there().is_none_or(policy_allows_others),
        open_actions: policy.there().map(open_actions).unwrap_or_default(),
        policy,
        line: None,
        id: found.name().to_owned(),
    }
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
