//! `AWS::Serverless::Function` and `AWS::Lambda::Function`.

use std::collections::BTreeMap;
use std::time::Duration;

use super::super::{Function, Process};
use super::look::{Look, Notes};
use super::manifest::Manifests;
use super::mappings::MADE_BY_SAM;
use super::roles::Roles;
use super::{Source, manifest};
use crate::deployment::function_name;
use crate::{Node, Resolver, Resource};

pub(super) const KINDS: [&str; 2] = ["AWS::Serverless::Function", "AWS::Lambda::Function"];

/// Reads the functions. Returns them with their resources.
pub(super) fn read(
    resolver: &Resolver<'_>,
    source: &Source<'_>,
    roles: &Roles<'_>,
    notes: &Notes,
) -> (Vec<Function>, Vec<Resource>) {
    let resources = notes.resources(resolver, &KINDS);
    let manifests = Manifests::beside(source);
    let (permissions, _) = resolver.resources(&["AWS::Lambda::Permission"]);
    let (invokes, _) = resolver.resources(&["AWS::Lambda::EventInvokeConfig"]);
    let mut destinations = Vec::new();
    for resource in resources.iter().chain(&invokes) {
        let own = resource.properties.get("EventInvokeConfig").unwrap_or(&resource.properties);
        let config = own.get("DestinationConfig").map(Node::entries).unwrap_or_default();
        for (name, destination) in config {
            let arn = destination.text_at("Destination");
            destinations.extend(arn.filter(|arn| arn.contains(":function:")).map(function_name));
            if destination.text_at("Type") == Some("SQS") && destination.get("Destination").is_none() {
                let what = format!("the queue that SAM makes for {name} of {}", resource.id);
                notes.add("", what, MADE_BY_SAM);
            }
        }
    }
    let read = |resource: &Resource| {
        let mut function = function(resource, roles, &manifests, notes);
        function.invoked_asynchronously |=
            invoked_by_a_service(resource, &permissions) || destinations.contains(&function.name.as_str());
        for invoke in &invokes {
            let name = invoke.properties.text_at("FunctionName").map(function_name);
            if name == Some(function.name.as_str()) {
                function.asynchronous_dead_letters.extend(target(&invoke.properties, &FAILED));
                function.asynchronous_limits.extend(limits(&invoke.properties));
            }
        }
        function
    };
    let functions = resources.iter().map(read).collect();
    if manifests.are_too_many() {
        notes.add(
            "",
            "whether all functions run redrive",
            "there are too many Cargo manifests beside the template",
        );
    }
    (functions, resources)
}

fn function(resource: &Resource, roles: &Roles<'_>, manifests: &Manifests<'_>, notes: &Notes) -> Function {
    let look = Look::at(resource, notes);
    Function {
        name: resource.name.clone(),
        runtime: look.text("Runtime").there().cloned(),
        timeout: look.seconds("Timeout").or(Duration::from_secs(3)),
        memory: look.number("MemorySize").or(128),
        reserved_concurrency: look.number("ReservedConcurrentExecutions"),
        has_layers: look.part("Layers").map_or(false, |layers| Some(!layers.items().is_empty())),
        entry_point: look.part("ImageConfig").and_then(|it| it.part("EntryPoint")).there().map(entry_point),
        has_capacity_provider: look.part("CapacityProviderConfig").there().is_some(),
        process: Process {
            environment: environment(look),
            statements: roles.of(resource),
            ..Process::default()
        },
        asynchronous_dead_letters: asynchronous_dead_letters(look),
        asynchronous_limits: look.node.get("EventInvokeConfig").map(limits).unwrap_or_default(),
        invoked_asynchronously: invoked_asynchronously(resource),
        depends_on_redrive: manifest::is_redrive(resource, manifests),
        panics: manifest::read(resource, manifests),
        line: Some(resource.line),
        id: resource.id.clone(),
    }
}

fn entry_point(words: &Look<'_>) -> String {
    let words: Vec<&str> = words.items().iter().filter_map(Node::as_text).collect();
    words.join(" ")
}

fn environment(look: Look<'_>) -> Option<BTreeMap<String, Option<String>>> {
    let variables = look.part("Environment").and_then(|environment| environment.part("Variables"));
    variables.map_or(BTreeMap::new(), |variables| {
        // Only redrive's own variables are worth a note.
        let value = |(name, node): &(String, Node)| match node.as_text() {
            None if name.starts_with("REDRIVE_") => variables.text(name).there().cloned(),
            text => text.map(str::to_owned),
        };
        let entries = variables.node.entries().iter();
        Some(entries.map(|entry| (entry.0.clone(), value(entry))).collect())
    })
}

/// Returns true if one of SAM's events invokes it asynchronously. Lambda polls these others, or their callers wait for the answer.
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
    let events = function.properties.entries_at("Events");
    events.iter().any(|(_, event)| event.text_at("Type").is_none_or(|kind| !OTHERS.contains(&kind)))
}

/// Returns true if a service that does not wait for the answer may invoke it.
/// <https://docs.aws.amazon.com/lambda/latest/dg/lambda-services.html>
fn invoked_by_a_service(function: &Resource, permissions: &[Resource]) -> bool {
    const SERVICES: [&str; 8] = ["codecommit", "config", "events", "iot", "logs", "s3", "ses", "sns"];
    permissions.iter().any(|permission| {
        let text = |name: &str| permission.properties.text_at(name);
        let service = text("Principal").and_then(|principal| principal.split('.').next());
        service.is_some_and(|service| SERVICES.contains(&service))
            && text("FunctionName").is_none_or(|name| function_name(name) == function.name)
    })
}

/// Properties that limit the retries of asynchronous invocations.
/// <https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-configuring.html>
pub const ASYNCHRONOUS_LIMITS: [&str; 2] = ["MaximumRetryAttempts", "MaximumEventAgeInSeconds"];

fn limits(config: &Node) -> Vec<&'static str> {
    ASYNCHRONOUS_LIMITS.into_iter().filter(|name| config.get(name).is_some()).collect()
}

/// Path of the destination of failed asynchronous invocations in an `EventInvokeConfig`.
const FAILED: [&str; 3] = ["DestinationConfig", "OnFailure", "Destination"];

/// Reads SAM's `DeadLetterQueue` and `EventInvokeConfig`, and CloudFormation's `DeadLetterConfig`.
fn asynchronous_dead_letters(look: Look<'_>) -> Vec<String> {
    let own = [["DeadLetterQueue", "TargetArn"], ["DeadLetterConfig", "TargetArn"]];
    let own = own.iter().filter_map(|path| target(look.node, path));
    own.chain(look.node.get("EventInvokeConfig").and_then(|config| target(config, &FAILED))).collect()
}

fn target(node: &Node, path: &[&str]) -> Option<String> {
    let node = path.iter().try_fold(node, |node, name| node.get(name))?;
    node.as_text().filter(|arn| arn.starts_with("arn:")).map(str::to_owned)
}
