//! `AWS::Serverless::Function` and `AWS::Lambda::Function`.

use std::collections::BTreeMap;
use std::time::Duration;

use super::super::{Function, Process, Seen};
use super::look::Look;
use super::notes::Notes;
use super::roles::Roles;
use super::{Source, manifest};
use crate::subject::function_name;
use crate::template::{Node, Resolver, Resource};

pub(super) const KINDS: [&str; 2] = ["AWS::Serverless::Function", "AWS::Lambda::Function"];

/// The functions, and the resources that they are.
pub(super) fn read(
    resolver: &Resolver<'_>,
    source: &Source<'_>,
    roles: &Roles<'_>,
    notes: &Notes,
) -> (Vec<Function>, Vec<Resource>) {
    let resources = notes.resources(resolver, &KINDS);
    let (permissions, _) = resolver.resources(&["AWS::Lambda::Permission"]);
    let read = |resource: &Resource| {
        let mut function = function(resource, roles, source, notes);
        function.invoked_asynchronously |= invoked_by_a_service(resource, &permissions);
        function
    };
    let functions = resources.iter().map(read).collect();
    (functions, resources)
}

fn function(resource: &Resource, roles: &Roles<'_>, source: &Source<'_>, notes: &Notes) -> Function {
    let look = Look::at(resource, notes);
    Function {
        name: resource.name.clone(),
        runtime: look.text("Runtime").there().cloned(),
        timeout: look.seconds("Timeout").or(Duration::from_secs(3)),
        reserved_concurrency: look.number("ReservedConcurrentExecutions"),
        has_capacity_provider: !look.part("CapacityProviderConfig").is_absent(),
        process: Process {
            environment: environment(look),
            statements: roles.of(resource),
            ..Process::default()
        },
        asynchronous_dead_letters: asynchronous_dead_letters(look),
        invoked_asynchronously: invoked_asynchronously(resource),
        depends_on_redrive: manifest::is_redrive(resource, source),
        panics: manifest::read(resource, source),
        line: Some(resource.line),
        id: resource.id.clone(),
    }
}

fn environment(look: Look<'_>) -> Option<BTreeMap<String, Option<String>>> {
    let variables = match look.part("Environment") {
        Seen::There(environment) => environment.part("Variables"),
        Seen::Absent => Seen::Absent,
        Seen::Unknown => Seen::Unknown,
    };
    let variables = match variables {
        Seen::There(variables) => variables,
        Seen::Absent => return Some(BTreeMap::new()),
        Seen::Unknown => return None,
    };
    let entries = variables.node.entries().iter();
    // Only what redrive reads is worth a note.
    let value = |(name, node): &(String, Node)| match node.as_text() {
        None if name.starts_with("REDRIVE_") => variables.text(name).there().cloned(),
        text => text.map(str::to_owned),
    };
    Some(entries.map(|entry| (entry.0.clone(), value(entry))).collect())
}

/// By one of SAM's events, of which these are pulled, or wait for the answer.
/// <https://docs.aws.amazon.com/serverless-application-model/latest/developerguide/sam-property-function-eventsource.html>
fn invoked_asynchronously(function: &Resource) -> bool {
    const OTHERS: [&str; 12] = [
        "Alexa",
        "AlexaSkill",
        "Api",
        "Cognito",
        "DocumentDB",
        "DynamoDB",
        "HttpApi",
        "Kinesis",
        "MQ",
        "MSK",
        "SQS",
        "SelfManagedKafka",
    ];
    let events = function.properties.get("Events").map(Node::entries).unwrap_or_default();
    events.iter().any(|(_, event)| {
        event.get("Type").and_then(Node::as_text).is_none_or(|kind| !OTHERS.contains(&kind))
    })
}

/// By a service that does not wait for the answer, as far as it is allowed to.
/// <https://docs.aws.amazon.com/lambda/latest/dg/lambda-services.html>
fn invoked_by_a_service(function: &Resource, permissions: &[Resource]) -> bool {
    const SERVICES: [&str; 8] = ["codecommit", "config", "events", "iot", "logs", "s3", "ses", "sns"];
    permissions.iter().any(|permission| {
        let text = |name: &str| permission.properties.get(name).and_then(Node::as_text);
        let service = text("Principal").and_then(|principal| principal.split('.').next());
        service.is_some_and(|service| SERVICES.contains(&service))
            && text("FunctionName").is_none_or(|name| function_name(name) == function.name)
    })
}

/// SAM says `DeadLetterQueue` and `EventInvokeConfig`, CloudFormation `DeadLetterConfig`.
fn asynchronous_dead_letters(look: Look<'_>) -> Vec<String> {
    let at = |path: &[&str]| {
        let node = path.iter().try_fold(look.node, |node, name| node.get(name));
        node.and_then(Node::as_text).filter(|arn| arn.contains(":sqs:")).map(str::to_owned)
    };
    let paths: [&[&str]; 3] = [
        &["DeadLetterQueue", "TargetArn"],
        &["DeadLetterConfig", "TargetArn"],
        &["EventInvokeConfig", "DestinationConfig", "OnFailure", "Destination"],
    ];
    paths.into_iter().filter_map(at).collect()
}
