//! Permissions of a function's role, from everything in the template that adds to it.

use std::collections::BTreeMap;

use super::super::{Seen, Statement};
use super::look::{Look, Notes};
use crate::{Node, Resolver, Resource};

/// Statements, or `None` if a part of them is unknown.
type KnownStatements = Option<Vec<Statement>>;

/// The template's roles and policies.
pub(super) struct Roles<'a> {
    resolver: &'a Resolver<'a>,
    notes: &'a Notes,
    /// Roles, by their names.
    roles: BTreeMap<String, KnownStatements>,
    /// Managed policies of the template, by their names.
    managed: BTreeMap<String, KnownStatements>,
    /// True if something adds to roles whose names are unknown: those that SAM makes.
    adds_to_others: bool,
    /// True if there are SAM connectors, which add to roles and to the policies of queues.
    pub(super) has_connectors: bool,
}

const POLICIES: [&str; 2] = ["AWS::IAM::Policy", "AWS::IAM::RolePolicy"];

impl<'a> Roles<'a> {
    pub(super) fn read(resolver: &'a Resolver<'a>, notes: &'a Notes) -> Self {
        let mut roles = Self {
            resolver,
            notes,
            roles: BTreeMap::new(),
            managed: BTreeMap::new(),
            adds_to_others: false,
            has_connectors: resolver.document().entries_at("Resources").iter().any(|(_, resource)| {
                let is_one = resource.text_at("Type") == Some("AWS::Serverless::Connector");
                is_one || resource.get("Connectors").is_some()
            }),
        };
        let managed = notes.resources(resolver, &["AWS::IAM::ManagedPolicy"]);
        for policy in &managed {
            let document = statements_of_document(Look::at(policy, notes));
            roles.managed.insert(policy.name.clone(), document);
        }
        for role in &notes.resources(resolver, &["AWS::IAM::Role"]) {
            let known = roles.role(role);
            roles.roles.insert(role.name.clone(), known);
        }
        for policy in managed.iter().chain(&notes.resources(resolver, &POLICIES)) {
            roles.add(policy);
        }
        roles
    }

    /// Returns the permissions of a function.
    pub(super) fn of(&self, function: &Resource) -> KnownStatements {
        let look = Look::at(function, self.notes);
        if self.has_connectors {
            self.unknown(look, "SAM connectors add to them");
            return None;
        }
        match look.text("Role") {
            Seen::There(arn) => self.at(&arn, look),
            Seen::Unknown => None,
            Seen::Absent if self.adds_to_others => {
                self.unknown(look, "policies name unknown roles");
                None
            }
            Seen::Absent => self.generated(look),
        }
    }

    /// Returns the permissions of a task's containers on ECS. Without a role it has none on Fargate, and the instance's on EC2.
    /// <https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-iam-roles.html>
    pub(super) fn of_task(&self, look: Look<'_>) -> KnownStatements {
        match look.text("TaskRoleArn") {
            Seen::There(arn) => self.at(&arn, look),
            Seen::Unknown => None,
            Seen::Absent => {
                let kinds = look.texts("RequiresCompatibilities");
                kinds.iter().flatten().any(|kind| kind == "FARGATE").then(Vec::new)
            }
        }
    }

    fn at(&self, arn: &str, look: Look<'_>) -> KnownStatements {
        let name = arn.rsplit('/').next().unwrap_or(arn);
        self.roles.get(name).cloned().unwrap_or_else(|| {
            self.unknown(look, "its role is not in this template");
            None
        })
    }

    fn unknown(&self, of: Look<'_>, why: &str) {
        self.notes.add(of.id, format!("the permissions of {}", of.id), why);
    }

    /// Returns the permissions of the role that SAM makes.
    /// <https://docs.aws.amazon.com/serverless-application-model/latest/developerguide/sam-resource-function.html>
    fn generated(&self, look: Look<'_>) -> KnownStatements {
        let mut known = managed_policy_of_aws("AWSLambdaSQSQueueExecutionRole");
        let Seen::There(policies) = look.part("Policies") else {
            return if look.part("Policies").is_absent() { known } else { None };
        };
        for policy in policies.items() {
            let policy = Look { node: policy, ..look };
            join(&mut known, self.sam_policy(policy));
        }
        known
    }

    /// Reads a managed policy's name or ARN, a document, or a policy template of SAM with its parameters.
    fn sam_policy(&self, look: Look<'_>) -> KnownStatements {
        match (look.node.as_text(), look.node.entries()) {
            (Some(name), _) => self.managed_policy(look, name),
            (None, entries) if entries.iter().any(|(key, _)| key == "Statement") => statements_of(look),
            (None, [(template, parameters)]) => {
                policy_of_sam(template, Look { node: parameters, ..look }, self.resolver)
            }
            (None, _) => None,
        }
    }

    fn managed_policy(&self, look: Look<'_>, name: &str) -> KnownStatements {
        let name = name.rsplit('/').next().unwrap_or(name);
        let known = self.managed.get(name).cloned().unwrap_or_else(|| managed_policy_of_aws(name));
        if known.is_none() {
            let what = format!("the permissions of {}", look.id);
            self.notes.add(look.id, what, format!("what the policy {name} allows"));
        }
        known
    }

    fn role(&self, role: &Resource) -> KnownStatements {
        let look = Look::at(role, self.notes);
        let mut known = Some(Vec::new());
        match look.part("Policies") {
            Seen::There(policies) => {
                for policy in policies.items() {
                    join(&mut known, statements_of_document(Look { node: policy, ..look }));
                }
            }
            Seen::Absent => {}
            Seen::Unknown => known = None,
        }
        for name in look.texts("ManagedPolicyArns") {
            join(&mut known, name.and_then(|name| self.managed_policy(look, &name)));
        }
        known
    }

    /// Adds a policy to the roles that it names.
    fn add(&mut self, policy: &Resource) {
        let look = Look::at(policy, self.notes);
        let document = match self.managed.get(&policy.name) {
            Some(document) => document.clone(),
            None => statements_of_document(look),
        };
        for name in look.texts("Roles").into_iter().chain(look.texts("RoleName")) {
            let Some(name) = name else {
                // It may be any role.
                self.roles.values_mut().for_each(|role| *role = None);
                self.adds_to_others = true;
                continue;
            };
            match self.roles.get_mut(&name) {
                Some(role) => join(role, document.clone()),
                None => self.adds_to_others = true,
            }
        }
    }
}

/// Adds statements. The sum is unknown unless both parts are known.
fn join(known: &mut KnownStatements, more: KnownStatements) {
    *known = known.take().zip(more).map(|(mut known, more)| {
        known.extend(more);
        known
    });
}

/// Returns a list's items, or `None` if one of them is not a text.
fn texts(node: &Node) -> Option<Vec<String>> {
    let items = node.as_list().unwrap_or(std::slice::from_ref(node));
    items.iter().map(|item| item.as_text().map(str::to_owned)).collect()
}

/// AWS's managed policies that functions with a queue often have, with the actions that matter.
/// <https://docs.aws.amazon.com/aws-managed-policy/latest/reference/policy-list.html>
const CONCERNED: [(&str, &[&str]); 10] = [
    (
        "AWSLambdaSQSQueueExecutionRole",
        &["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"],
    ),
    ("AmazonSQSFullAccess", &["sqs:*"]),
    ("AmazonSQSReadOnlyAccess", &["sqs:GetQueueAttributes", "sqs:GetQueueUrl", "sqs:ListQueues"]),
    ("CloudWatchFullAccess", &["cloudwatch:*"]),
    ("CloudWatchFullAccessV2", &["cloudwatch:*"]),
    ("CloudWatchAgentServerPolicy", &["cloudwatch:PutMetricData"]),
    ("AmazonDynamoDBFullAccess", &["dynamodb:*"]),
    ("AmazonDynamoDBReadOnlyAccess", &["dynamodb:GetItem"]),
    ("PowerUserAccess", &["*"]),
    ("AdministratorAccess", &["*"]),
];

/// AWS's managed policies that allow nothing that matters.
const UNCONCERNED: [&str; 11] = [
    "AWSLambdaBasicExecutionRole",
    "AWSLambdaVPCAccessExecutionRole",
    "AWSLambdaENIManagementAccess",
    "AWSLambdaKinesisExecutionRole",
    "AWSLambdaDynamoDBExecutionRole",
    "AWSLambdaInvocation-DynamoDB",
    "AWSLambdaRole",
    "AWSXRayDaemonWriteAccess",
    "AWSXrayWriteOnlyAccess",
    "CloudWatchLambdaInsightsExecutionRolePolicy",
    "AmazonS3ReadOnlyAccess",
];

/// Returns the statements of one of AWS's managed policies, or `None` if it is not known here.
fn managed_policy_of_aws(name: &str) -> KnownStatements {
    if UNCONCERNED.contains(&name) {
        return Some(Vec::new());
    }
    let (_, actions) = CONCERNED.iter().find(|(known, _)| *known == name)?;
    Some(vec![Statement {
        allows: true,
        actions: actions.iter().map(|action| (*action).to_owned()).collect(),
        resources: vec!["*".to_owned()],
        ..Statement::default()
    }])
}

/// Returns the statements of a SAM policy template. Most allow nothing that matters.
/// <https://docs.aws.amazon.com/serverless-application-model/latest/developerguide/serverless-policy-template-list.html>
fn policy_of_sam(template: &str, parameters: Look<'_>, resolver: &Resolver<'_>) -> KnownStatements {
    let actions: &[&str] = match template {
        "SQSPollerPolicy" => &[
            "sqs:ChangeMessageVisibility",
            "sqs:ChangeMessageVisibilityBatch",
            "sqs:DeleteMessage",
            "sqs:DeleteMessageBatch",
            "sqs:GetQueueAttributes",
            "sqs:ReceiveMessage",
        ],
        "SQSSendMessagePolicy" => &["sqs:SendMessage*"],
        "CloudWatchPutMetricPolicy" => &["cloudwatch:PutMetricData"],
        "DynamoDBCrudPolicy" => &["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"],
        "DynamoDBReadPolicy" => &["dynamodb:GetItem"],
        "DynamoDBWritePolicy" => &["dynamodb:PutItem", "dynamodb:UpdateItem"],
        "KMSDecryptPolicy" => &["kms:Decrypt"],
        "KMSEncryptPolicy" => &["kms:Encrypt", "kms:GenerateDataKey*", "kms:ReEncrypt*"],
        other if other.ends_with("Policy") || other.contains("PolicyV") => return Some(Vec::new()),
        _ => return None,
    };
    let resource = match (parameters.text("QueueName"), parameters.node.text_at("TableName")) {
        (Seen::There(queue), _) => resolver.queue_arn(&queue),
        (_, Some(table)) => resolver.table_arn(table),
        (_, None) => "*".to_owned(),
    };
    Some(vec![Statement {
        allows: true,
        actions: actions.iter().map(|action| (*action).to_owned()).collect(),
        resources: vec![resource],
        ..Statement::default()
    }])
}

/// The statements of a resource's `PolicyDocument`.
/// <https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_grammar.html>
fn statements_of_document(look: Look<'_>) -> KnownStatements {
    look.part("PolicyDocument").map_or(Vec::new(), statements_of)
}

/// The statements of a policy document.
fn statements_of(look: Look<'_>) -> KnownStatements {
    let Seen::There(statements) = look.part("Statement") else { return None };
    statements.items().iter().map(statement).collect()
}

/// Reads a statement. Returns `None` for a denial with unknown parts. In a statement that allows, unknown parts become `*`.
fn statement(node: &Node) -> Option<Statement> {
    let allows = match node.text_at("Effect") {
        Some("Allow") => true,
        Some("Deny") => false,
        Some(_) | None => return None,
    };
    let listed = |name: &str| node.get(name).and_then(texts);
    let (actions, resources) = match (listed("Action"), listed("Resource"), allows) {
        (Some(actions), Some(resources), _) => (actions, resources),
        (actions, resources, true) => {
            let all = || vec!["*".to_owned()];
            (actions.unwrap_or_else(all), resources.unwrap_or_else(all))
        }
        (_, _, false) => return None,
    };
    Some(Statement { allows, actions, resources, conditions: conditions(node) })
}

/// Returns condition keys with their values, whatever the operator.
fn conditions(node: &Node) -> BTreeMap<String, Vec<String>> {
    let operators = node.entries_at("Condition");
    let keys = operators.iter().flat_map(|(_, keys)| keys.entries());
    keys.map(|(key, values)| (key.clone(), texts(values).unwrap_or_default())).collect()
}
