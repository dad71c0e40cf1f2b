//! Reads what a template would deploy. It refuses nothing: values that cannot be resolved are reported as not read.

mod alarms;
mod other_resources;
mod functions;
mod look;
mod manifest;
mod not_yet;
mod mappings;
mod network;
mod places;
mod queue_policy;
mod queues;
mod roles;
mod queue_arns;
mod tables;
mod unread;
mod workers;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

pub use functions::ASYNCHRONOUS_LIMITS;
use look::Notes;
pub use not_yet::not_yet;
pub use queue_policy::{Sender, open_actions, policy_allows_others};
pub use queues::PROPERTIES as QUEUE_PROPERTIES;
use roles::Roles;
pub use unread::{HOLDERS, RECEIVERS};

use redrive_sqs::dns_suffix;

use super::{
    Deployment, Function, IDEMPOTENCY_TABLE, Index, Mapping, MayHold, Queue, Seen, kubernetes, not_an_arn,
    terraform,
};
use crate::{
    Absent, Gaps, Node, Property, REGION, Resolver, Surroundings, TemplateError, Varying, partition_of,
};

/// A template and what is known besides it.
pub struct Source<'a> {
    pub path: &'a Path,
    pub text: &'a str,
    /// Values of its parameters, before their defaults.
    pub parameters: &'a [(String, String)],
    /// Region of its deployment, if that is given.
    pub region: Option<&'a str>,
    /// Its stack, if it is deployed.
    pub deployed: Option<DeployedStack<'a>>,
    /// Reads a file beside it: a Cargo manifest.
    pub file: &'a dyn Fn(&Path) -> Option<String>,
}

impl<'a> Source<'a> {
    /// A template alone, not deployed.
    pub fn new(path: &'a Path, text: &'a str, parameters: &'a [(String, String)]) -> Self {
        Self { path, text, parameters, region: None, deployed: None, file: &|_| None }
    }
}

/// The stack of a deployed template.
pub struct DeployedStack<'a> {
    pub account: &'a str,
    pub stack: &'a str,
    /// Start of queue URLs, if that is not AWS's.
    pub endpoint: Option<&'a str>,
    /// Names of the resources, by their logical ids.
    pub names: BTreeMap<String, String>,
}

/// Reads a whole template, what Terraform prints of a plan, or manifests of Kubernetes.
///
/// # Errors
/// It is not a template, a parameter is not declared or not allowed, or given ones break one of its rules.
pub fn read(source: &Source<'_>) -> Result<Deployment, TemplateError> {
    if terraform::is_terraform(source.text) {
        return terraform::read(source);
    }
    if let Some(what) = not_yet(source.path, source.text) {
        return Err(TemplateError { line: 1, message: what.to_owned() });
    }
    if kubernetes::is_kubernetes(source.text) {
        return kubernetes::read(source);
    }
    let (document, remarks) = crate::read(source.text)?;
    let deployed = source.deployed.as_ref();
    let endpoint = deployed.and_then(|it| it.endpoint).map(str::to_owned);
    let region = source.region.unwrap_or(REGION);
    let surroundings = Surroundings {
        region: source.region.map(str::to_owned),
        account: deployed.map(|it| it.account.to_owned()),
        stack: deployed.map(|it| it.stack.to_owned()),
        endpoint: endpoint
            .unwrap_or_else(|| format!("https://sqs.{region}.{}", dns_suffix(partition_of(region)))),
        names: deployed.map(|it| it.names.clone()).unwrap_or_default(),
        ..Surroundings::default()
    };
    let resolver = Resolver::new(&document, source.parameters, &surroundings, Gaps::Kept)?;
    let mut deployment = of(&resolver, source)?;
    // The values of a deployed stack are fixed.
    if deployed.is_none() {
        deployment.absent = absent(&resolver, source);
        deployment.varying = varying(&resolver, source.parameters);
    }
    // A remark may be about a queue, such as the first of two keys.
    if source.text.contains("SQS") {
        deployment.notes.extend(remarks.iter().map(ToString::to_string));
    }
    Ok(deployment)
}

/// Reads what a template would deploy in the region and account of its resolver.
///
/// # Errors
/// It has no resources.
pub fn of(resolver: &Resolver<'_>, source: &Source<'_>) -> Result<Deployment, TemplateError> {
    let document = resolver.document();
    if document.get("Resources").is_none() {
        return Err(document.error("no Resources: this is not a CloudFormation template"));
    }
    let about_others = Notes::of(resolver, MayHold::Consumer);
    let about_queues = Notes::of(resolver, MayHold::Consumer);
    let about_alarms = Notes::of(resolver, MayHold::Other);
    let about_functions = Notes::of(resolver, MayHold::Consumer);
    let mut queues = queues::read(resolver, &about_queues);
    let about_permissions = Notes::of(resolver, MayHold::Other);
    let roles = Roles::read(resolver, &about_permissions);
    let (mut functions, resources) = functions::read(resolver, source, &roles, &about_functions);
    let about_mappings = Notes::of(resolver, MayHold::Consumer);
    let (mut mappings, unknown_sources) = mappings::read(resolver, &resources, &about_mappings);
    queue_arns::unify(&mut queues, &mut functions, &mut mappings);
    let about_workers = Notes::of(resolver, MayHold::Consumer);
    let workers = workers::read(resolver, &queues, &roles, &about_workers);
    let about_tables = Notes::of(resolver, MayHold::Other);
    let tables = tables::read(resolver, &about_tables);
    other_resources::add_letters_and_watchers(resolver, &mut queues, &about_alarms);
    other_resources::add_senders(resolver, &mut queues);
    let mut hides_alarms =
        unread::read(resolver, &mut queues, (&functions, &mappings), &roles, &about_others);
    // Parts that may hold alarms may hold policies too, and connectors create these.
    if hides_alarms || roles.has_connectors {
        let without = queues.iter_mut().filter(|queue| queue.policy.is_absent());
        without.for_each(|queue| queue.policy = Seen::Unknown);
    }
    network::read(resolver, (&functions, &resources), &mappings, &about_permissions);
    let (alarms, all) = alarms::read(resolver, &about_alarms);
    hides_alarms |= !all;
    let has_letters = |queue: &Queue| !queue.redrive_policy.is_absent() || queue.takes_other_letters;
    if hides_alarms && queues.iter().any(has_letters) {
        let what = "whether an alarm watches each dead-letter queue: some alarms may be defined elsewhere";
        about_alarms.add("", what, "");
    }
    let ids = resolver.queue_ids();
    let is_here = |arn: &str| queues.iter().any(|queue| queue.arn == arn);
    let outside = |id: &str, what: String, arn: &str| {
        let why = not_an_arn(arn, &ids).unwrap_or_else(|| format!("{arn} is not in this template"));
        about_mappings.add(id, what, why);
    };
    for queue in &queues {
        if let Some(arn) = queue.dead_letter_target().filter(|arn| !is_here(arn)) {
            outside(&queue.id, format!("the dead-letter queue of {}", queue.id), arn);
        }
    }
    for mapping in &mappings {
        if let Some(arn) = mapping.queue_arn.as_deref().filter(|arn| !is_here(arn)) {
            outside(&mapping.id, format!("the queue of {}", mapping.id), arn);
        }
        let is_function = |name: &&str| functions.iter().any(|function| function.name == **name);
        if let Some(name) = mapping.function.as_deref().filter(|name| !is_function(name)) {
            let why = format!("{name} is not in this template");
            about_mappings.add(&mapping.id, format!("the function of {}", mapping.id), why);
        }
    }
    let has_queues =
        !(queues.is_empty() && mappings.is_empty() && unknown_sources.is_empty() && workers.is_empty());
    let mut notes = about_others.into_notes();
    notes.extend(about_queues.into_notes());
    let about_functions = about_functions.into_notes().into_iter().chain(about_permissions.into_notes());
    notes
        .extend(about_functions.filter(|note| {
            note.id.is_empty() || concerns_a_queue(&note.id, &functions, &mappings, document)
        }));
    notes.extend(about_workers.into_notes());
    let fed = functions.iter().filter(|it| is_fed(&it.name, &mappings));
    let consumers = fed.map(|it| (&it.id, &it.process)).chain(workers.iter().map(|it| (&it.id, &it.process)));
    notes.extend(tables::notes(&tables, consumers, about_tables));
    notes.extend(about_mappings.into_notes());
    if has_queues {
        let concerns = |id: &str| {
            let alarm = alarms.iter().find(|alarm| alarm.id == id);
            alarm.is_none_or(|alarm| alarms::may_concern(alarm, &queues, &functions, &mappings))
        };
        notes.extend(about_alarms.into_notes().into_iter().filter(|note| concerns(&note.id)));
    }
    Ok(Deployment {
        name: source.path.display().to_string(),
        is_plan: false,
        queues,
        functions,
        mappings,
        workers,
        scalers: Vec::new(),
        tables,
        alarms: Some(alarms),
        hides_alarms,
        drift: Vec::new(),
        absent: Vec::new(),
        varying: Vec::new(),
        not_seen: look::lines(&notes),
        notes: resolver.unmet_rules.iter().cloned().chain(queues::unknown_properties(resolver)).collect(),
        index: Index::default(),
    })
}

/// Returns resources that concern queues, but do not exist with these parameters.
fn absent(resolver: &Resolver<'_>, source: &Source<'_>) -> Vec<Absent> {
    let has_records = source.text.contains(IDEMPOTENCY_TABLE);
    let resources = resolver.document().entries_at("Resources");
    let kind = |resource: &'_ Node| resource.text_at("Type").map(str::to_owned);
    let has_queues =
        resources.iter().any(|(_, it)| kind(it).is_some_and(|kind| kind.starts_with("AWS::SQS::")));
    resolver.absent(source.parameters, |resource| {
        let properties = resource.get("Properties");
        match kind(resource).as_deref() {
            Some("AWS::SQS::Queue") => true,
            Some("AWS::Lambda::EventSourceMapping") => {
                properties.is_none_or(|it| it.get("StartingPosition").or_else(|| it.get("Queues")).is_none())
            }
            Some("AWS::Serverless::Function") => has_queue_event(resource),
            Some(kind) if tables::KINDS.contains(&kind) => has_records,
            Some("AWS::CloudWatch::Alarm") => {
                has_queues && properties.is_some_and(alarms::may_concern_a_queue)
            }
            _ => unread::matters(resolver, resource),
        }
    })
}

/// Properties of a queue and of a function, besides its mappings, that are checked.
const OF_QUEUES: [&str; 6] = [
    "FifoQueue",
    "MaximumMessageSize",
    "MessageRetentionPeriod",
    "RedriveAllowPolicy",
    "RedrivePolicy",
    "VisibilityTimeout",
];
const OF_FUNCTIONS: [&str; 2] = ["ReservedConcurrentExecutions", "Timeout"];
/// Properties of mappings to ignore. `Enabled` may be a switch for replays, as the authors want it.
const NOT_OF_MAPPINGS: [&str; 3] = ["Enabled", "KmsKeyArn", "Tags"];

/// Returns properties that concern queues, but have other values with other parameters.
fn varying(resolver: &Resolver<'_>, given: &[(String, String)]) -> Vec<Varying> {
    let resources = resolver.document().entries_at("Resources");
    let kind = |resource: &'_ Node| resource.text_at("Type").map(str::to_owned);
    let is_mapping = |resource: &Node| {
        let of_stream = resource.get("Properties").and_then(|it| it.get("StartingPosition"));
        kind(resource).as_deref() == Some("AWS::Lambda::EventSourceMapping") && of_stream.is_none()
    };
    let has_mappings = resources.iter().any(|(_, it)| is_mapping(it));
    let existing: BTreeSet<&str> = resolver.kinds().into_iter().map(|(id, _)| id).collect();
    let mut found: Vec<Property<'_>> = Vec::new();
    for (id, resource) in resources.iter().filter(|(id, _)| existing.contains(id.as_str())) {
        let properties = resource.entries_at("Properties");
        let all = properties.iter().map(|(name, value)| (id.as_str(), name.as_str(), value));
        let of_functions = |it: &Property<'_>| OF_FUNCTIONS.contains(&it.1);
        match kind(resource).as_deref() {
            Some("AWS::SQS::Queue") => found.extend(all.filter(|it| OF_QUEUES.contains(&it.1))),
            Some(_) if is_mapping(resource) => {
                found.extend(all.filter(|it| !NOT_OF_MAPPINGS.contains(&it.1)));
            }
            Some("AWS::Lambda::Function") if has_mappings => found.extend(all.filter(of_functions)),
            Some("AWS::Serverless::Function") if has_mappings || has_queue_event(resource) => {
                found.extend(all.filter(of_functions));
                for event in queue_events(resource) {
                    let properties = event.entries_at("Properties");
                    let all = properties.iter().map(|(name, value)| (id.as_str(), name.as_str(), value));
                    found.extend(all.filter(|it| !NOT_OF_MAPPINGS.contains(&it.1)));
                }
            }
            _ => {}
        }
    }
    let globals = resolver.document().get("Globals").and_then(|it| it.get("Function"));
    if resources.iter().any(|(_, it)| has_queue_event(it)) {
        let all = globals.map(Node::entries).unwrap_or_default().iter();
        let all = all.map(|(name, value)| ("Globals", name.as_str(), value));
        found.extend(all.filter(|it| OF_FUNCTIONS.contains(&it.1)));
    }
    resolver.varying(given, &found)
}

/// Returns true if SAM makes a mapping of a queue for a function.
fn has_queue_event(function: &Node) -> bool {
    queue_events(function).next().is_some()
}

fn queue_events(function: &Node) -> impl Iterator<Item = &Node> {
    let events = function.get("Properties").and_then(|it| it.get("Events")).map(Node::entries);
    let events = events.unwrap_or_default().iter().map(|(_, event)| event);
    events.filter(|event| event.text_at("Type") == Some("SQS"))
}

fn is_fed(function: &str, mappings: &[Mapping]) -> bool {
    mappings.iter().any(|mapping| mapping.function.as_deref() == Some(function))
}

/// Returns true if a function, a role or a policy belongs to a function that a queue feeds.
fn concerns_a_queue(id: &str, functions: &[Function], mappings: &[Mapping], document: &Node) -> bool {
    let is_fed = |function: &&Function| is_fed(&function.name, mappings);
    let raw = document.get("Resources").and_then(|resources| resources.get(id));
    let kind = raw.and_then(|raw| raw.get("Type")).and_then(Node::as_text).unwrap_or_default();
    match functions.iter().find(|function| function.id == id) {
        Some(function) => is_fed(&function),
        // It may not exist.
        None if functions::KINDS.contains(&kind) => raw.is_some_and(has_queue_event),
        None => functions.iter().filter(is_fed).any(|function| function.process.statements.is_none()),
    }
}

#[cfg(test)]
mod tests;
