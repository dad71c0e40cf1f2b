//! What other resources have to do with queues: those whose letters end there, and those that may watch them.

use std::collections::HashMap;

use super::super::{Arn, Queue};
use super::notes::Notes;
use crate::{Node, Resolver, Resource};

/// What has a dead-letter queue without being a queue.
const WITH_LETTERS: [&str; 8] = [
    "AWS::Events::Rule",
    "AWS::Lambda::EventInvokeConfig",
    "AWS::Lambda::EventSourceMapping",
    "AWS::Lambda::Function",
    "AWS::Pipes::Pipe",
    "AWS::SNS::Subscription",
    "AWS::Scheduler::Schedule",
    "AWS::Serverless::Function",
];

pub(super) fn read(resolver: &Resolver<'_>, queues: &mut [Queue], notes: &Notes) {
    let (resources, _) = resolver.resources(&WITH_LETTERS);
    let mut letters = Vec::new();
    resources.iter().for_each(|resource| targets(&resource.properties, &mut letters));
    let mut by_name: HashMap<&str, Vec<&Letters>> = HashMap::new();
    for it in &letters {
        if let Some(Arn { rest, .. }) = Arn::of_queue_url(&it.arn).or_else(|| Arn::parse(&it.arn)) {
            by_name.entry(rest).or_default().push(it);
        }
    }
    let custom = custom(resolver);
    let is_dead = |arn: &str, queues: &[Queue]| queues.iter().any(|it| it.dead_letter_target() == Some(arn));
    for at in 0..queues.len() {
        let queue = &queues[at];
        let named = by_name.get(queue.name()).into_iter().flatten().filter(|it| queue.may_be_at(&it.arn));
        let takes_other_letters = named.clone().next().is_some();
        let takes_undelivered = named.clone().any(|it| it.are_of_a_subscription);
        let watcher = custom.iter().find(|resource| names(&resource.properties, queue));
        let watcher = watcher.filter(|_| takes_undelivered || is_dead(&queue.arn, queues));
        if let Some(Resource { id, .. }) = watcher {
            notes.add(id, format!("whether {id} watches {}, which it names", queue.id), "");
        }
        let may_be_watched_elsewhere = watcher.is_some();
        queues[at] =
            Queue { takes_other_letters, takes_undelivered, may_be_watched_elsewhere, ..queue.clone() };
    }
}

/// What CloudFormation itself does not know.
fn custom(resolver: &Resolver<'_>) -> Vec<Resource> {
    let resources = resolver.document().entries_at("Resources");
    let kinds = resources.iter().filter_map(|(_, resource)| resource.get("Type")?.as_text());
    let is_custom =
        |kind: &&str| !kind.starts_with("AWS::") || *kind == "AWS::CloudFormation::CustomResource";
    resolver.resources(&kinds.filter(is_custom).collect::<Vec<_>>()).0
}

/// Where letters end.
struct Letters {
    arn: String,
    /// Of SNS, which alone has a redrive policy here.
    are_of_a_subscription: bool,
}

/// The ARNs in a `RedrivePolicy`, in a `DeadLetterConfig` and wherever else letters end.
fn targets(node: &Node, found: &mut Vec<Letters>) {
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
        let are_of_a_subscription = key == "RedrivePolicy";
        let arn = target.as_ref().and_then(Node::as_text).map(str::to_owned);
        found.extend(arn.map(|arn| Letters { arn, are_of_a_subscription }));
        targets(value, found);
    }
    node.as_list().unwrap_or_default().iter().for_each(|item| targets(item, found));
}

/// Whether a queue is named anywhere by its name, its ARN or its URL.
fn names(node: &Node, queue: &Queue) -> bool {
    node.as_text().is_some_and(|text| text == queue.name() || queue.may_be_at(text))
        || node.entries().iter().any(|(_, value)| names(value, queue))
        || node.as_list().unwrap_or_default().iter().any(|item| names(item, queue))
}
