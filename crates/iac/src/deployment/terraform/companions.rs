//! Resources that add to another one: policies and attachments.

use super::attributes::{Attributes, list, map, text, unknown};
use super::policies;
use super::resources::Resource;
use crate::deployment::function_name;
use crate::{Node, Value};

/// Adds to other resources what a resource says of them.
pub(super) fn add(resources: &mut Vec<Resource>, attributes: &Attributes<'_>) {
    match attributes.instance.kind.as_str() {
        "aws_sqs_queue" => {
            if let Some(policy) = policies::permissions(attributes, "policy") {
                let queue = text(attributes.names.arn(attributes.instance));
                let properties = vec![("Queues".to_owned(), queue), ("PolicyDocument".to_owned(), policy)];
                let id = attributes.instance.address.clone();
                resources.push(Resource { id, kind: "AWS::SQS::QueuePolicy", properties });
            }
        }
        "aws_sqs_queue_redrive_policy" => {
            let policy = policies::redrive_policy(attributes, "redrive_policy");
            of_queue(resources, attributes, "RedrivePolicy", policy);
        }
        "aws_sqs_queue_redrive_allow_policy" => {
            let policy = policies::allow_policy(attributes, "redrive_allow_policy");
            of_queue(resources, attributes, "RedriveAllowPolicy", policy);
        }
        "aws_iam_role_policy_attachment" => attach(resources, attributes, attributes.get("role")),
        "aws_iam_policy_attachment" => {
            let roles = attributes.get("roles").unwrap_or_else(|| list(Vec::new()));
            let roles = roles.as_list().map_or_else(|| vec![roles.clone()], <[Node]>::to_vec);
            roles.into_iter().for_each(|role| attach(resources, attributes, Some(role)));
        }
        "aws_lambda_function_event_invoke_config" => {
            let destination = attributes
                .get("destination_config.on_failure.destination")
                .map(|it| ("DestinationConfig", map([("OnFailure", map([("Destination", it)]))])));
            // The provider has these values for limits that are not set.
            let limits = [
                ("maximum_retry_attempts", "MaximumRetryAttempts", &["2"][..]),
                ("maximum_event_age_in_seconds", "MaximumEventAgeInSeconds", &["0", "21600"]),
            ];
            let limits = limits.into_iter().filter_map(|(attribute, property, unset)| {
                let limit = attributes.get(attribute)?;
                (!limit.as_text().is_some_and(|it| unset.contains(&it))).then_some((property, limit))
            });
            let config: Vec<_> = destination.into_iter().chain(limits).collect();
            let function = attributes.get("function_name");
            if let Some(function) = function.as_ref().and_then(Node::as_text).map(function_name) {
                let config = map(config);
                of(resources, "FunctionName", function)
                    .for_each(|it| it.set("EventInvokeConfig", config.clone()));
            }
        }
        _ => {}
    }
}

/// Sets the policy of a queue, or makes it unknown on all queues without one if the queue is unknown.
fn of_queue(resources: &mut [Resource], attributes: &Attributes<'_>, name: &str, policy: Option<Node>) {
    let (Some(url), Some(policy)) = (attributes.get("queue_url"), policy) else { return };
    match url.as_text().map(|url| url.rsplit(['/', ':']).next().unwrap_or(url)) {
        Some(queue) => of(resources, "QueueName", queue).for_each(|it| it.set(name, policy.clone())),
        None => {
            let queues = resources.iter_mut().filter(|it| it.kind == "AWS::SQS::Queue");
            queues.filter(|it| !it.has(name)).for_each(|it| it.set(name, unknown()));
        }
    }
}

fn attach(resources: &mut Vec<Resource>, attributes: &Attributes<'_>, role: Option<Node>) {
    let Some(role) = role else { return };
    let policy = attributes.get("policy_arn").unwrap_or_else(unknown);
    let Some(role) = role.as_text().map(|role| role.rsplit('/').next().unwrap_or(role)) else {
        // It may be any role.
        let properties = vec![("RoleName".to_owned(), role), ("PolicyDocument".to_owned(), unknown())];
        let id = attributes.instance.address.clone();
        resources.push(Resource { id, kind: "AWS::IAM::RolePolicy", properties });
        return;
    };
    let roles = resources.iter_mut().filter(|it| it.kind == "AWS::IAM::Role");
    for it in roles.filter(|it| it.text("RoleName") == Some(role)) {
        match it.properties.iter_mut().find(|(name, _)| name == "ManagedPolicyArns") {
            Some((_, Node { value: Value::List(arns), .. })) => arns.push(policy.clone()),
            Some(_) => {}
            None => it.set("ManagedPolicyArns", list(vec![policy.clone()])),
        }
    }
}

/// Returns the queue or function of a name.
fn of<'r>(
    resources: &'r mut [Resource],
    property: &str,
    name: &str,
) -> impl Iterator<Item = &'r mut Resource> {
    let is_it = move |it: &Resource| {
        matches!(it.kind, "AWS::SQS::Queue" | "AWS::Lambda::Function") && it.text(property) == Some(name)
    };
    resources.iter_mut().filter(move |it| is_it(it))
}

impl Resource {
    pub(super) fn text(&self, property: &str) -> Option<&str> {
        self.properties.iter().find(|(name, _)| name == property).and_then(|(_, node)| node.as_text())
    }

    fn has(&self, property: &str) -> bool {
        self.properties.iter().any(|(name, _)| name == property)
    }

    fn set(&mut self, property: &str, node: Node) {
        self.properties.retain(|(name, _)| name != property);
        self.properties.push((property.to_owned(), node));
    }
}
