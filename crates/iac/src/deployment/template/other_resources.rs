//! Other resources that concern queues: those that send messages or letters there, and those that may watch them.

use std::collections::HashSet;

use super::super::Queue;
use super::Sender;
use super::look::Notes;
use super::places::Places;
use crate::{Node, Resolver, Resource};

/// Types other than queues that have a dead-letter queue.
const WITH_LETTERS: [&str; 10] = [
    "AWS::Events::EventBus",
    "AWS::Events::Rule",
    "AWS::Lambda::EventInvokeConfig",
    "AWS::Lambda::EventSourceMapping",
    "AWS::Lambda::Function",
    "AWS::Pipes::Pipe",
    "AWS::SNS::Subscription",
    "AWS::Scheduler::Schedule",
    "AWS::Serverless::Function",
    "AWS::Serverless::StateMachine",
];

pub(super) fn add_letters_and_watchers(resolver: &Resolver<'_>, queues: &mut [Queue], notes: &Notes) {
    let (resources, _) = resolver.resources(&WITH_LETTERS);
    let mut letters = Vec::new();
    resources.iter().for_each(|resource| targets(&resource.properties, &mut letters));
    let places = Places::of(queues);
    letters.iter().flat_map(|arn| places.at(arn)).for_each(|at| queues[at].takes_other_letters = true);
    let dead: HashSet<String> =
        queues.iter().filter_map(|queue| queue.dead_letter_target().map(str::to_owned)).collect();
    let custom = custom_resources(resolver);
    for queue in queues.iter_mut().filter(|it| it.takes_other_letters || dead.contains(&it.arn)) {
        let watcher = custom.iter().find(|resource| names(&resource.properties, queue));
        if let Some(Resource { id, .. }) = watcher {
            notes.add(id, format!("whether {id} watches {}, which it names", queue.id), "");
            queue.may_be_watched_elsewhere = true;
        }
    }
}

/// Returns the custom resources.
fn custom_resources(resolver: &Resolver<'_>) -> Vec<Resource> {
    let is_custom = |kind: &str| !kind.starts_with("AWS::") || kind == "AWS::CloudFormation::CustomResource";
    resolver.resources_where(is_custom).0
}

/// Finds the ARNs of a `RedrivePolicy`, a `DeadLetterConfig` and other properties that name a queue for letters.
fn targets(node: &Node, found: &mut Vec<String>) {
    for (key, value) in node.entries() {
        let target = match key.as_str() {
            "RedrivePolicy" => {
                let policy = value.parse_json();
                policy.as_ref().unwrap_or(value).get("deadLetterTargetArn").cloned()
            }
            "DeadLetterConfig" | "DeadLetterQueue" => {
                value.get("Arn").or_else(|| value.get("TargetArn")).cloned()
            }
            "OnFailure" => value.get("Destination").cloned(),
            _ => None,
        };
        found.extend(target.as_ref().and_then(Node::as_text).map(str::to_owned));
        targets(value, found);
    }
    node.as_list().unwrap_or_default().iter().for_each(|item| targets(item, found));
}

/// Returns true if a node names a queue anywhere by its name, its ARN or its URL.
fn names(node: &Node, queue: &Queue) -> bool {
    node.as_text().is_some_and(|text| text == queue.name() || queue.may_be_at(text))
        || node.entries().iter().any(|(_, value)| names(value, queue))
        || node.as_list().unwrap_or_default().iter().any(|item| names(item, queue))
}

const KINDS: [&str; 4] =
    ["AWS::Events::Rule", "AWS::S3::Bucket", "AWS::SNS::Subscription", "AWS::SNS::Topic"];

/// Adds to each queue the senders of its messages and letters.
pub(super) fn add_senders(resolver: &Resolver<'_>, queues: &mut [Queue]) {
    let topics = resolver.resources(&["AWS::SNS::Topic"]).0.into_iter();
    let unnamed = topics.filter(|topic| topic.properties.get("TopicName").is_none());
    let unnamed: Vec<String> = unnamed.filter_map(|topic| resolver.arn_of(&topic.id)).collect();
    let places = Places::of(queues);
    for kind in KINDS {
        for resource in &resolver.resources(&[kind]).0 {
            for (queue, sender) in sent(resolver, kind, resource, &unnamed) {
                places.at(&queue).for_each(|at| queues[at].senders.push(sender.clone()));
            }
        }
    }
}

/// Returns the ARNs of the queues that a resource sends to, each with the sender.
fn sent(
    resolver: &Resolver<'_>,
    kind: &str,
    resource: &Resource,
    unnamed: &[String],
) -> Vec<(String, Sender)> {
    let Resource { id, properties, .. } = resource;
    let text = |name: &str| properties.text_at(name);
    let own = |name: &str| {
        let arn = resolver.arn_of(id)?;
        Some(Sender { id: id.clone(), arn, is_named_at_deployment: properties.get(name).is_none() })
    };
    match kind {
        "AWS::Events::Rule" => {
            // A role's permissions count instead of the policy.
            let targets = items(properties, "Targets").filter(|target| target.get("RoleArn").is_none());
            let queues = targets.flat_map(|target| {
                [target.get("Arn"), target.get("DeadLetterConfig").and_then(|it| it.get("Arn"))]
            });
            by(own("Name"), queues)
        }
        "AWS::S3::Bucket" => {
            let configuration = properties.get("NotificationConfiguration");
            let queues = configuration.into_iter().flat_map(|it| items(it, "QueueConfigurations"));
            by(own("BucketName"), queues.map(|it| it.get("Queue")))
        }
        "AWS::SNS::Topic" => {
            let subscribed = items(properties, "Subscription").filter(|it| is_of_queue(it));
            by(own("TopicName"), subscribed.map(|it| it.get("Endpoint")))
        }
        _ => {
            let topic = text("TopicArn").filter(|arn| arn.starts_with("arn:"));
            let sender = topic.map(|arn| Sender {
                id: id.clone(),
                arn: arn.to_owned(),
                is_named_at_deployment: unnamed.iter().any(|it| it == arn),
            });
            let endpoint = properties.get("Endpoint").filter(|_| is_of_queue(properties));
            let letters = properties.get("RedrivePolicy").and_then(|it| it.get("deadLetterTargetArn"));
            by(sender, [endpoint, letters])
        }
    }
}

fn items<'a>(node: &'a Node, name: &str) -> impl Iterator<Item = &'a Node> {
    node.items_at(name).iter()
}

fn is_of_queue(subscription: &Node) -> bool {
    subscription.text_at("Protocol") == Some("sqs")
}

fn by<'a>(
    sender: Option<Sender>,
    queues: impl IntoIterator<Item = Option<&'a Node>>,
) -> Vec<(String, Sender)> {
    let Some(sender) = sender else { return Vec::new() };
    let queues = queues.into_iter().flatten().filter_map(Node::as_text);
    queues.map(|queue| (queue.to_owned(), sender.clone())).collect()
}
