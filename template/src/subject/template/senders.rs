//! What sends to queues on behalf of a service: targets of rules, subscriptions of topics, notifications of buckets.

use super::super::Queue;
use super::Sender;
use crate::{Node, Resolver, Resource};

const KINDS: [&str; 4] =
    ["AWS::Events::Rule", "AWS::S3::Bucket", "AWS::SNS::Subscription", "AWS::SNS::Topic"];

/// Tells each queue what sends to it, messages and letters.
pub(super) fn read(resolver: &Resolver<'_>, queues: &mut [Queue]) {
    let topics = resolver.resources(&["AWS::SNS::Topic"]).0.into_iter();
    let unnamed = topics.filter(|topic| topic.properties.get("TopicName").is_none());
    let unnamed: Vec<String> = unnamed.filter_map(|topic| resolver.arn_of(&topic.id)).collect();
    for kind in KINDS {
        for resource in &resolver.resources(&[kind]).0 {
            for (queue, sender) in sent(resolver, kind, resource, &unnamed) {
                let queues = queues.iter_mut().filter(|it| it.may_be_at(&queue));
                queues.for_each(|it| it.senders.push(sender.clone()));
            }
        }
    }
}

/// The ARNs of the queues that it sends to, each with what sends there.
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
