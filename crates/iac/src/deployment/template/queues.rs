//! `AWS::SQS::Queue`.
//! <https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-sqs-queue.html>

use std::collections::BTreeSet;
use std::time::Duration;

use redrive_sqs::{MAX_BYTES, RedriveAllowPolicy};

use super::super::{PartialRedrivePolicy, Queue, Seen};
use super::look::{Look, Notes};
use super::places::Places;
use super::queue_policy::{join, open_actions, policy_allows_others};
use crate::nearest::did_you_mean;
use crate::{Resolver, Resource};

/// All properties of a queue.
/// <https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-sqs-queue.html>
pub const PROPERTIES: [&str; 16] = [
    "QueueName",
    "VisibilityTimeout",
    "MessageRetentionPeriod",
    "DelaySeconds",
    "MaximumMessageSize",
    "ReceiveMessageWaitTimeSeconds",
    "FifoQueue",
    "ContentBasedDeduplication",
    "DeduplicationScope",
    "FifoThroughputLimit",
    "RedrivePolicy",
    "RedriveAllowPolicy",
    "KmsMasterKeyId",
    "KmsDataKeyReusePeriodSeconds",
    "SqsManagedSseEnabled",
    "Tags",
];

/// Returns an error for each unknown property, which CloudFormation refuses, with its line.
pub(super) fn unknown_properties(resolver: &Resolver<'_>) -> Vec<String> {
    let (resources, _) = resolver.resources(&["AWS::SQS::Queue"]);
    let of = |resource: &Resource| {
        let names = resource.properties.entries().iter();
        let unknown = names.filter(|(name, _)| !PROPERTIES.contains(&name.as_str()) && !name.contains("::"));
        let told = unknown.map(|(name, value)| {
            let meant = did_you_mean(name, PROPERTIES);
            value
                .error(format!("{}: unknown property {name} of an SQS queue{meant}", resource.id))
                .to_string()
        });
        told.collect::<Vec<_>>()
    };
    resources.iter().flat_map(of).collect()
}

pub(super) fn read(resolver: &Resolver<'_>, notes: &Notes) -> Vec<Queue> {
    let resources = notes.resources(resolver, &["AWS::SQS::Queue"]);
    let mut queues: Vec<Queue> = resources.iter().map(|resource| queue(resolver, resource, notes)).collect();
    let (policies, doubtful) = resolver.resources(&["AWS::SQS::QueuePolicy", "AWS::SQS::QueueInlinePolicy"]);
    notes.add_all(&doubtful);
    if !doubtful.is_empty() {
        queues.iter_mut().for_each(|queue| queue.policy = Seen::Unknown);
    }
    let places = Places::of(&queues);
    let (mut is_of_any, mut any_allows_others) = (false, false);
    for policy in &policies {
        let look = Look::at(policy, notes);
        let document = policy.properties.get("PolicyDocument");
        let allows_others = document.is_none_or(policy_allows_others);
        let open = document.map(open_actions).unwrap_or_default();
        let urls: Vec<_> = look.texts("Queues").into_iter().chain(look.texts("Queue")).collect();
        let its: BTreeSet<usize> = urls.iter().flatten().flat_map(|url| places.at(url)).collect();
        for at in its {
            let queue = &mut queues[at];
            queue.open_actions.extend(&open);
            queue.policy_allows_others |= allows_others;
            join(&mut queue.policy, document);
        }
        if urls.contains(&None) {
            (is_of_any, any_allows_others) = (true, any_allows_others | allows_others);
        }
    }
    for queue in queues.iter_mut().filter(|_| is_of_any) {
        queue.policy_allows_others |= any_allows_others;
        queue.policy = Seen::Unknown;
    }
    queues
}

fn queue(resolver: &Resolver<'_>, resource: &Resource, notes: &Notes) -> Queue {
    let look = Look::at(resource, notes);
    Queue {
        arn: resolver.queue_arn(&resource.name),
        url: resolver.queue_url_of(&resource.name),
        visibility_timeout: look.seconds("VisibilityTimeout").or(Duration::from_secs(30)),
        retention: look.seconds("MessageRetentionPeriod").or(Duration::from_secs(345_600)),
        redrive_policy: policy(look, "RedrivePolicy", redrive_policy),
        redrive_allow_policy: policy(look, "RedriveAllowPolicy", redrive_allow_policy),
        kms_key: look.text("KmsMasterKeyId"),
        maximum_message_size: look.number("MaximumMessageSize").or(MAX_BYTES as u32),
        takes_other_letters: false,
        other_receiver: None,
        senders: Vec::new(),
        policy: Seen::Absent,
        may_be_watched_elsewhere: false,
        policy_allows_others: false,
        open_actions: BTreeSet::new(),
        line: Some(resource.line),
        id: resource.id.clone(),
    }
}

/// Reads a policy, which is a map or its JSON as a text.
fn policy<T>(look: Look<'_>, name: &str, read: impl Fn(Look<'_>) -> Seen<T>) -> Seen<T> {
    look.part(name).and_then(|part| {
        if part.node.as_text().is_none() {
            return read(part);
        }
        match part.node.parse_json() {
            Some(node) => read(Look { node: &node, ..part }),
            None => {
                look.notes.add(look.id, format!("{name} of {} is not JSON", look.id), "");
                Seen::Unknown
            }
        }
    })
}

fn redrive_policy(look: Look<'_>) -> Seen<PartialRedrivePolicy> {
    Seen::There(PartialRedrivePolicy {
        dead_letter_target_arn: look.text("deadLetterTargetArn").there().cloned(),
        max_receive_count: look.number("maxReceiveCount").there().copied(),
    })
}

fn redrive_allow_policy(look: Look<'_>) -> Seen<RedriveAllowPolicy> {
    let permission = look.node.text_at("redrivePermission");
    let policy = match (permission, look.node.first_unknown()) {
        // Its other keys do not matter.
        (Some("denyAll"), _) => Ok(RedriveAllowPolicy::DenyAll),
        (_, Some(why)) => Err(why.message.clone()),
        (_, None) => {
            let text = look.node.to_json().to_string();
            RedriveAllowPolicy::parse(&text).map_err(|error| error.to_string())
        }
    };
    policy.map_or_else(
        |why| {
            look.note("RedriveAllowPolicy", &why);
            Seen::Unknown
        },
        Seen::There,
    )
}
