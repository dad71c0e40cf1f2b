//! Resources that are recognized but not read, and unknown ones. They may hold queues and functions, or receive from a queue.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::super::arn::is_of_a_queue;
use super::super::worker::is_variable;
use super::super::{Function, Mapping, Process, Queue, Statement};
use super::alarms::references;
use super::look::{EXPANDED, Look, Notes};
use super::places::Places;
use super::roles::Roles;
use super::workers;
use crate::{Node, Resolver, Resource, TRANSFORM};

const NESTED: &str = "the resources of another stack are not in this template";
const PROVIDER: &str = "of the providers for AWS only hashicorp/aws is read";
const POLLERS: &str = "only event source mappings and containers with REDRIVE_QUEUE_URL are checked";
const INTEGRATIONS: &str = "the integrations of API Gateway are not checked";
const MANIFESTS: &str = "check its manifests";
const UNKNOWN: &str = "its type is not known here";

/// Prefixes of types that hold other resources, and why these are not read.
pub const HOLDERS: [(&str, &str); 9] = [
    ("AWS::CloudFormation::Stack", NESTED),
    ("AWS::Serverless::Application", NESTED),
    ("AWS::ServiceCatalog::CloudFormationProvisionedProduct", NESTED),
    ("aws_cloudcontrolapi_resource", "resources of the Cloud Control API are not read"),
    ("aws_serverlessapplicationrepository_cloudformation_stack", NESTED),
    ("aws_servicecatalog_provisioned_product", NESTED),
    ("awscc_lambda_", PROVIDER),
    ("awscc_sqs_", PROVIDER),
    ("helm_release", MANIFESTS),
];

/// Prefixes of types that may receive from a queue, and why these are not read.
pub const RECEIVERS: [(&str, &str); 22] = [
    ("AWS::ApiGateway", INTEGRATIONS),
    ("AWS::AppRunner::Service", POLLERS),
    ("AWS::AutoScaling::LaunchConfiguration", POLLERS),
    ("AWS::Batch::JobDefinition", POLLERS),
    ("AWS::EC2::Instance", POLLERS),
    ("AWS::EC2::LaunchTemplate", POLLERS),
    ("AWS::EC2::SpotFleet", POLLERS),
    ("AWS::ECS::TaskDefinition", POLLERS),
    ("AWS::ElasticBeanstalk::", "Elastic Beanstalk's workers are not checked"),
    ("AWS::Glue::Crawler", POLLERS),
    ("AWS::Lightsail::", POLLERS),
    ("AWS::OSIS::Pipeline", POLLERS),
    ("AWS::Pipes::Pipe", "EventBridge Pipes are not checked"),
    ("AWS::Serverless::Api", INTEGRATIONS),
    ("AWS::Serverless::HttpApi", INTEGRATIONS),
    ("AWS::Serverless::StateMachine", "state machines are not checked"),
    ("AWS::StepFunctions::StateMachine", "state machines are not checked"),
    ("aws_ecs_task_definition", "task definitions are read from templates only"),
    ("awscc_", PROVIDER),
    ("kubectl_", MANIFESTS),
    ("kubernetes_", MANIFESTS),
    ("AWS::CloudFormation::CustomResource", UNKNOWN),
];

/// Notes resources that can hold a queue, a function or a mapping, and adds other receivers to queues. Returns true if it found
/// anything that may hold alarms.
pub(super) fn read(
    resolver: &Resolver<'_>,
    queues: &mut [Queue],
    (functions, mappings): (&[Function], &[Mapping]),
    roles: &Roles<'_>,
    notes: &Notes,
) -> bool {
    let hides = holders(resolver, notes);
    receivers(resolver, queues, roles, notes);
    functions_that_poll(queues, (functions, mappings), notes);
    hides
}

fn holders(resolver: &Resolver<'_>, notes: &Notes) -> bool {
    let mut hides = false;
    let mut hide = |id: &str, what: String, why: &str| {
        hides = true;
        notes.add(id, what, why);
    };
    for name in resolver.macros() {
        hide("", format!("what the macro {name} adds or changes"), EXPANDED);
    }
    if resolver.includes() {
        hide("", "what AWS::Include adds to the template".to_owned(), EXPANDED);
    }
    for (id, kind) in resolver.possible_kinds() {
        let expanded = id.starts_with("Fn::").then_some(EXPANDED);
        let Some(why) = why_not_opened(kind).or(expanded) else { continue };
        // The entry is the transform alone.
        if id == TRANSFORM {
            hide(id, format!("what {id} adds to the resources"), why);
        } else {
            hide(id, id.to_owned(), why);
        }
    }
    hides
}

/// Returns why a resource of this type is not read, if it holds other resources.
fn why_not_opened(kind: &str) -> Option<&'static str> {
    let known = HOLDERS.iter().find(|(start, _)| kind.starts_with(start)).map(|(_, why)| *why);
    // Types of the registry that are not AWS's own.
    let is_of_others =
        kind.contains("::") && !["AWS::", "Custom::", "Alexa::"].iter().any(|it| kind.starts_with(it));
    let other = || if kind.ends_with("::MODULE") { EXPANDED } else { UNKNOWN };
    known.or_else(|| is_of_others.then(other))
}

/// Returns why a resource of this type is not read, if it may receive from a queue.
fn why_not_read(kind: &str) -> Option<&'static str> {
    if why_not_opened(kind).is_some() {
        return None;
    }
    let known = RECEIVERS.iter().find(|(start, _)| kind.starts_with(start)).map(|(_, why)| *why);
    known.or_else(|| (!kind.starts_with("AWS::")).then_some(UNKNOWN))
}

/// Returns true if a resource that may not exist, as it is written, holds others or may receive from a queue that it names.
pub(super) fn matters(resolver: &Resolver<'_>, resource: &Node) -> bool {
    let kind = resource.text_at("Type").unwrap_or_default();
    let may_receive = |it: &&Node| why_not_read(kind).is_some() && !cannot_receive(kind, it);
    let Some(properties) = resource.get("Properties").filter(may_receive) else {
        return why_not_opened(kind).is_some();
    };
    let is_queue = |id: &String| {
        let named = resolver.document().get("Resources").and_then(|it| it.get(id));
        is_of_a_queue(id)
            || is_variable(id)
            || named.is_some_and(|it| it.text_at("Type") == Some("AWS::SQS::Queue"))
    };
    let mut named = HashSet::new();
    references(properties, &mut named);
    named.iter().any(is_queue)
}

fn receivers(resolver: &Resolver<'_>, queues: &mut [Queue], roles: &Roles<'_>, notes: &Notes) {
    let places = Places::of(queues);
    let dead = queues.iter().filter_map(|queue| queue.dead_letter_target().map(str::to_owned));
    let dead: HashSet<String> = dead.collect();
    let may_be_watched = |queue: &Queue| queue.takes_other_letters || dead.contains(&queue.arn);
    let kinds: HashMap<&str, &str> = resolver.possible_kinds().into_iter().collect();
    let (resources, doubtful) = resolver.resources_where(|kind| why_not_read(kind).is_some());
    let written = resolver.document().get("Resources");
    for it in &doubtful {
        let resource = written.and_then(|written| written.get(&it.id));
        if resource.is_some_and(|resource| matters(resolver, resource)) {
            notes.add(&it.id, &it.id, &it.why.message);
        }
    }
    for resource in &resources {
        let kind = kinds.get(resource.id.as_str()).copied().unwrap_or_default();
        let Some(why) = why_not_read(kind) else { continue };
        let mut found = NamedQueues::default();
        let others = others_in(resource, kind);
        others.iter().for_each(|it| found.add_all(it, &places));
        // Variables from elsewhere may name the queues that its role allows.
        let has_more = |it: &Node| it.get("Secrets").or_else(|| it.get("EnvironmentFiles")).is_some();
        let containers = resource.properties.items_at("ContainerDefinitions");
        if others.len() == containers.len() && others.iter().any(has_more) {
            let role = roles.of_task(Look::at(resource, notes));
            found.queues.extend(may_receive(role.as_deref()).flat_map(|arn| places.at(arn)));
        }
        let Resource { id, properties, .. } = resource;
        for at in &found.queues {
            match receives(kind, resource, &queues[*at], roles, notes) {
                Some(true) => {
                    notes.add(id, format!("{id} (receives from {})", queues[*at].id), why);
                    queues[*at].other_receiver.get_or_insert_with(|| id.clone());
                }
                // A custom resource that names a dead-letter queue may watch it: the checks of alarms report that.
                None if why != UNKNOWN || !may_be_watched(&queues[*at]) => {
                    notes.add(id, format!("{id} (names {})", queues[*at].id), why);
                }
                None | Some(false) => {}
            }
        }
        let own = match kind {
            "AWS::Pipes::Pipe" => source(properties).is_none(),
            kind if kind.starts_with("AWS::ElasticBeanstalk::") => has_text(properties, "worker"),
            // Terraform does not tell all references.
            _ => why != UNKNOWN && properties.items_at("References").iter().any(|it| it.unknown().is_some()),
        };
        if found.queues.is_empty() && (found.is_elsewhere && !cannot_receive(kind, properties) || own) {
            notes.add(id, id, why);
        }
    }
}

/// Adds functions that may receive from a queue without a mapping. Several may share a role.
fn functions_that_poll(
    queues: &mut [Queue],
    (functions, mappings): (&[Function], &[Mapping]),
    notes: &Notes,
) {
    let places = Places::of(queues);
    let fed: HashSet<_> = mappings.iter().filter_map(|mapping| mapping.queue_arn.as_deref()).collect();
    for Function { id, process, .. } in functions {
        for at in may_receive(process.statements.as_deref()).flat_map(|arn| places.at(arn)) {
            let queue = &mut queues[at];
            if !fed.contains(queue.arn.as_str()) {
                notes.add(id, format!("{id} (receives from {})", queue.id), POLLERS);
                queue.other_receiver.get_or_insert_with(|| id.clone());
            }
        }
    }
}

/// Returns the resources of statements that explicitly allow receiving, not just every action.
fn may_receive(statements: Option<&[Statement]>) -> impl Iterator<Item = &str> {
    let receives = |action: &String| action.to_ascii_lowercase().starts_with("sqs:receive");
    let statements = statements.unwrap_or_default().iter();
    let allowed = statements.filter(move |it| it.allows && it.actions.iter().any(receives));
    allowed.flat_map(|it| &it.resources).map(String::as_str)
}

/// Returns the parts of a resource that are not read: of a task definition, the containers that are not workers.
fn others_in(resource: &Resource, kind: &str) -> Vec<Node> {
    if kind != "AWS::ECS::TaskDefinition" {
        return vec![resource.properties.clone()];
    }
    let containers = resource.properties.items_at("ContainerDefinitions").iter();
    containers.filter(|container| !workers::polls(container)).cloned().collect()
}

/// Returns true if it cannot receive from a queue, whichever it names.
fn cannot_receive(kind: &str, properties: &Node) -> bool {
    match kind {
        "AWS::Pipes::Pipe" => source(properties).is_some_and(|source| !source.contains(":sqs:")),
        kind if kind.ends_with("::StateMachine") => {
            // The definition is in another file.
            let elsewhere = ["DefinitionUri", "DefinitionS3Location"];
            elsewhere.iter().all(|it| properties.get(it).is_none()) && !has_text(properties, "receivemessage")
        }
        kind if is_api(kind) => !has_text(properties, "receivemessage"),
        _ => false,
    }
}

fn is_api(kind: &str) -> bool {
    RECEIVERS.iter().any(|(start, why)| *why == INTEGRATIONS && kind.starts_with(start))
}

/// Returns true if it receives from a queue that it names, or `None` if that is unknown.
fn receives(
    kind: &str,
    resource: &Resource,
    queue: &Queue,
    roles: &Roles<'_>,
    notes: &Notes,
) -> Option<bool> {
    let properties = &resource.properties;
    match kind {
        "AWS::Pipes::Pipe" => source(properties).map(|source| queue.may_be_at(source)),
        kind if kind.ends_with("::StateMachine") => {
            let is_known = cannot_receive(kind, properties) && properties.first_unknown().is_none();
            Some(has_text(properties, "receivemessage")).filter(|receives| *receives || is_known)
        }
        kind if is_api(kind) => Some(has_text(properties, "receivemessage")),
        kind if kind.starts_with("AWS::ElasticBeanstalk::") => {
            has_text(properties, "workerqueueurl").then_some(true)
        }
        "AWS::ECS::TaskDefinition" => {
            // The queue's own policy may allow it too, as that of Copilot does.
            let by_policy = queue.policy.there().is_some_and(|it| has_text(it, "sqs:receivemessage"));
            let statements = roles.of_task(Look::at(resource, notes));
            let process = Process { statements, ..Process::default() };
            if by_policy { Some(true) } else { process.may("sqs:ReceiveMessage", &queue.arn) }
        }
        _ => None,
    }
}

/// Returns the source of a pipe, or `None` if it is unknown.
fn source(pipe: &Node) -> Option<&str> {
    ["Source", "source"].iter().find_map(|name| pipe.text_at(name))
}

/// Returns true if any text in it, in lower case, contains another one.
fn has_text(node: &Node, wanted: &str) -> bool {
    node.as_text().is_some_and(|text| text.to_ascii_lowercase().contains(wanted))
        || node.entries().iter().any(|(_, value)| has_text(value, wanted))
        || node.as_list().unwrap_or_default().iter().any(|item| has_text(item, wanted))
}

/// Queues that a resource names.
#[derive(Default)]
struct NamedQueues {
    queues: BTreeSet<usize>,
    /// True if it names a queue that is not in the template.
    is_elsewhere: bool,
}

impl NamedQueues {
    fn add_all(&mut self, node: &Node, places: &Places) {
        if let Some(text) = node.as_text() {
            let is_part = |letter: char| letter.is_ascii_alphanumeric() || "-_.:/".contains(letter);
            let parts = text.split(|letter| !is_part(letter)).filter(|part| *part != text);
            parts.chain([text]).for_each(|part| self.add(part, places));
        }
        let named = |name: &str, or: &str| node.get(name).or_else(|| node.get(or));
        let name = named("Name", "name").and_then(Node::as_text);
        let value = named("Value", "value").and_then(Node::as_text);
        self.is_elsewhere |= name.is_some_and(is_variable) && value.is_none();
        node.entries().iter().for_each(|(key, value)| {
            self.is_elsewhere |= key == workers::QUEUE_URL || is_variable(key) && value.as_text().is_none();
            self.add_all(value, places);
        });
        node.as_list().unwrap_or_default().iter().for_each(|it| self.add_all(it, places));
    }

    /// Adds a queue by its name, its ARN or its URL.
    fn add(&mut self, text: &str, places: &Places) {
        let before = self.queues.len();
        self.queues.extend(places.named(text).chain(places.at(text)));
        let is_queue = is_of_a_queue(text) || text == workers::QUEUE_URL;
        self.is_elsewhere |= is_queue && self.queues.len() == before;
    }
}
