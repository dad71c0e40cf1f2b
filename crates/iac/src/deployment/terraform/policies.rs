//! Policies: documents as JSON, which a plan does not show if they name resources that do not exist yet.

use serde_json::Value as Json;

use super::attributes::{Attributes, document, list, map, text, unknown};
use super::references::{Ends, Target};
use crate::{Node, Value};

/// Reads a redrive policy. One that is known only after apply still refers to its queue.
pub(super) fn redrive_policy(attributes: &Attributes<'_>, name: &str) -> Option<Node> {
    let Some(ends) = attributes.ends(name) else { return attributes.get(name).map(document) };
    let queues = queues(&ends, attributes);
    let target = if let [arn] = queues.as_slice() { text(arn) } else { unknown() };
    let count = receive_count(&ends).map_or_else(unknown, |count| text(count.to_string()));
    Some(map([("deadLetterTargetArn", target), ("maxReceiveCount", count)]))
}

/// Reads a redrive allow policy. One that names queues is `byQueue`.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SetQueueAttributes.html>
pub(super) fn allow_policy(attributes: &Attributes<'_>, name: &str) -> Option<Node> {
    let Some(ends) = attributes.ends(name) else { return attributes.get(name).map(document) };
    let queues = queues(&ends, attributes);
    if queues.is_empty() || ends.is_partial {
        return Some(unknown());
    }
    let queues = list(queues.into_iter().map(text).collect());
    Some(map([("redrivePermission", text("byQueue")), ("sourceQueueArns", queues)]))
}

fn queues(ends: &Ends<'_>, attributes: &Attributes<'_>) -> Vec<String> {
    let queues = ends.targets.iter().filter(|target| target.instance.kind == "aws_sqs_queue");
    let mut arns: Vec<String> = queues
        .filter_map(|target| attributes.names.text(&Target { attribute: Some("arn"), ..*target }, "arn"))
        .collect();
    arns.sort();
    arns.dedup();
    arns
}

/// Returns the only number that a redrive policy can have, if a variable gives it.
fn receive_count(ends: &Ends<'_>) -> Option<u64> {
    let count = |constant: &&Json| constant.get("maxReceiveCount").unwrap_or(constant).as_u64();
    let mut counts = ends.constants.iter().filter_map(count);
    counts.next().filter(|_| counts.next().is_none())
}

/// Reads a policy document, also from the data source that writes it.
pub(super) fn permissions(attributes: &Attributes<'_>, name: &str) -> Option<Node> {
    let Some(ends) = attributes.ends(name) else { return attributes.get(name).map(document) };
    let [Target { instance, .. }] = ends.targets.as_slice() else { return Some(unknown()) };
    if instance.kind != "aws_iam_policy_document" || ends.is_partial {
        return Some(unknown());
    }
    let source = Attributes::of(instance, attributes.references, attributes.names);
    if let Some(known) = instance.text("json") {
        return Some(document(text(known)));
    }
    let is_merged =
        |it: &&str| source.get(it).is_some_and(|it| it.as_list().is_none_or(|items| !items.is_empty()));
    if ["source_policy_documents", "override_policy_documents"].iter().any(is_merged) {
        return Some(unknown());
    }
    Some(map([("Statement", statements(&source))]))
}

/// <https://registry.terraform.io/providers/hashicorp/aws/latest/docs/data-sources/iam_policy_document>
fn statements(source: &Attributes<'_>) -> Node {
    let count = source.instance.values.get("statement").and_then(Json::as_array).map_or(0, Vec::len);
    let known = source.blocks("statement", |get| {
        let mut entries = vec![("Effect", get("effect").unwrap_or_else(|| text("Allow")))];
        entries.extend(get("actions").map(|actions| ("Action", actions)));
        entries.extend(get("resources").map(|resources| ("Resource", resources)));
        entries.extend(get("principals").map(|principals| ("Principal", principals_of(&principals))));
        let conditions = get("condition").and_then(|it| it.as_list().map(<[Node]>::to_vec));
        let condition = |it: &Node| {
            let part = |name| it.text_at(name).unwrap_or_default().to_owned();
            let values = it.get("values").cloned().unwrap_or_else(unknown);
            (part("test"), map([(part("variable").as_str(), values)]))
        };
        let conditions: Vec<(String, Node)> = conditions.iter().flatten().map(condition).collect();
        if !conditions.is_empty() {
            entries.push(("Condition", map(conditions.iter().map(|(test, it)| (test.as_str(), it.clone())))));
        }
        map(entries)
    });
    let statement = |(at, node): (usize, Node)| with_resources(source, at, node);
    list(known.into_iter().take(count).enumerate().map(statement).collect())
}

/// Adds the ARNs of resources that do not exist yet.
fn with_resources(source: &Attributes<'_>, at: usize, mut statement: Node) -> Node {
    let Some(ends) = source.ends_in_block("statement", at, "resources") else { return statement };
    let Value::Map(entries) = &mut statement.value else { return statement };
    for (_, resources) in entries.iter_mut().filter(|(name, _)| name == "Resource") {
        if resources.first_unknown().is_none() || ends.is_partial {
            continue;
        }
        let known = resources.as_list().unwrap_or_default().iter().filter(|it| it.unknown().is_none());
        let targets: Option<Vec<Node>> =
            ends.targets.iter().map(|target| Some(text(source.names.text(target, "arn")?))).collect();
        if let Some(targets) = targets {
            *resources = list(known.cloned().chain(targets).collect());
        }
    }
    statement
}

fn principals_of(principals: &Node) -> Node {
    let principal = |it: &Node| {
        let identifiers = it.get("identifiers").cloned().unwrap_or_else(unknown);
        Some((it.get("type")?.as_text()?.to_owned(), identifiers))
    };
    let all: Option<Vec<(String, Node)>> =
        principals.as_list().unwrap_or_default().iter().map(principal).collect();
    all.map_or_else(unknown, |all| map(all.iter().map(|(kind, it)| (kind.as_str(), it.clone()))))
}

/// Returns a role's name from its name, ARN or id.
pub(super) fn role_name(attributes: &Attributes<'_>, name: &str) -> Option<Node> {
    attributes.get(name).map(|node| match node.as_text() {
        Some(role) => text(role.rsplit('/').next().unwrap_or(role)),
        None => node,
    })
}
