//! What of a template runs on a laptop: its queues, functions, mappings and alarms, or why one of them cannot. Pure.
//!
//! The values are those that `subject` reads of any template. Of what runs here nothing may be unknown, but for the
//! functions' environment, and nothing may be refused by AWS. The rest of a template may be as it is.

mod queues;
mod mappings;
mod functions;
mod notes;
mod alarms;
mod allowed;

use std::collections::BTreeSet;
use std::path::Path;

use redrive_iac::subject::Process;
use redrive_iac::subject::template::{self as subject, Source};
use redrive_iac::{self as template, Gaps, Output, Resolver, Resource, Surroundings, TemplateError};

use self::notes::Notes;
use crate::{
    AlarmConfig, FunctionConfig, MappingConfig, QueueConfig, StackConfig, StackOutput, StackResource,
};

type Result<T> = std::result::Result<T, TemplateError>;

/// The part of a template that runs on a laptop.
#[derive(Debug)]
pub(crate) struct Stack {
    /// Dead-letter queues before the queues that name them.
    pub(crate) queues: Vec<QueueConfig>,
    /// Their commands are still empty: see [`Build`].
    pub(crate) functions: Vec<FunctionConfig>,
    /// How each function's executable is made, in the same order.
    pub(crate) builds: Vec<Build>,
    pub(crate) mappings: Vec<MappingConfig>,
    /// Those that a plain statistic decides; the others are named in the notes.
    pub(crate) alarms: Vec<AlarmConfig>,
    /// What CloudFormation says of it, but for its name and the template's text.
    pub(crate) said: StackConfig,
    /// What the template asks for that has no effect here.
    pub(crate) notes: Vec<String>,
    /// What may be otherwise on AWS.
    pub(crate) warnings: Vec<String>,
}

/// How a function's executable is made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Build {
    /// The function's logical id.
    pub(crate) function: String,
    /// What AWS calls it.
    pub(crate) name: String,
    /// `CodeUri` or `Code`, relative to the template's directory; none if it is not a path.
    pub(crate) code: Option<String>,
    /// `Metadata.BuildMethod`.
    pub(crate) method: Option<String>,
    /// The Cargo target, if the template names one (`Metadata.BuildProperties.Binary`).
    pub(crate) binary: Option<String>,
    pub(crate) handler: Option<String>,
    pub(crate) runtime: Option<String>,
    /// Whether redrive's Lambda layer stands before its runtime.
    pub(crate) is_behind_layer: bool,
    /// Whether it is a container image.
    pub(crate) is_image: bool,
}

/// What runs here or is named otherwise, and what could not be missed here: it gives rights, keeps logs, or shows and tells
/// what happens.
const UNMISSED: [&str; 20] = [
    "AWS::CloudWatch::Alarm",
    "AWS::CloudWatch::CompositeAlarm",
    "AWS::CloudWatch::Dashboard",
    "AWS::IAM::ManagedPolicy",
    "AWS::IAM::Policy",
    "AWS::IAM::Role",
    "AWS::IAM::RolePolicy",
    "AWS::KMS::Alias",
    "AWS::KMS::Key",
    "AWS::Lambda::Alias",
    "AWS::Lambda::EventSourceMapping",
    "AWS::Lambda::Function",
    "AWS::Lambda::Permission",
    "AWS::Lambda::Version",
    "AWS::Logs::LogGroup",
    "AWS::SNS::Topic",
    "AWS::SNS::TopicPolicy",
    "AWS::SQS::Queue",
    "AWS::SQS::QueuePolicy",
    "AWS::Serverless::Function",
];

/// What follows if a function remembers what it has handled.
const NO_RECORDS: &str = ", which has no stand-in here: messages that need its records fail";

/// Reads what can be run: queues, functions with an SQS event, and alarms on single metrics. Given values go before the
/// defaults of the template's parameters.
///
/// # Errors
/// The first thing that cannot be worked out, that AWS would refuse or that cannot be kept here, with its line.
pub(crate) fn read(source: &str, given: &[(String, String)], surroundings: &Surroundings) -> Result<Stack> {
    let (document, remarks) = template::read(source)?;
    let resolver = Resolver::new(&document, given, surroundings, Gaps::Settable)?;
    let known = subject::of(&resolver, &Source::new(Path::new(""), source, given))?;
    let mut notes = Notes::default();
    let queues = queues::read(&resolver)?;
    let (resources, doubtful) = resolver.resources(&functions::KINDS);
    for it in doubtful {
        let why = format!(": {}", it.why.message);
        notes.add(["function ", "functions "], &it.id, [&why, &why]);
    }
    let mappings = mappings::read(&resolver, &resources, &known, &queues, &mut notes)?;
    let filled = Resolver::new(&document, given, surroundings, Gaps::Filled)?;
    let fed = functions::read(&resources, &known, &mappings, &filled, &mut notes)?;
    let alarms = alarms::read(&resolver, &known, &mut notes)?;
    check_set(&resolver)?;
    let processes = known.functions.iter().map(|function| &function.process);
    let tables = processes.flat_map(Process::idempotency_tables).filter_map(|name| known.table(name));
    let tables: BTreeSet<String> = tables.map(|table| table.id.clone()).collect();
    let warnings = known.notes.into_iter().chain(remarks.iter().map(ToString::to_string)).chain(fed.made_up);
    for (id, kind) in resolver.kinds().into_iter().filter(|(_, kind)| !UNMISSED.contains(kind)) {
        let but = if tables.contains(id) { NO_RECORDS } else { "" };
        notes.add(["", ""], id, [&format!(" is of type {kind}{but}"), &format!(" are of type {kind}{but}")]);
    }
    let (outputs, unknown) = resolver.outputs();
    for key in unknown {
        notes.add(["output ", "outputs "], &key, ["", ""]);
    }
    let outputs =
        outputs.into_iter().map(|Output { key, value, description }| StackOutput { key, value, description });
    let resources = resolver.deployed().into_iter().map(|it| StackResource {
        logical_id: it.logical_id,
        physical_id: it.physical_id,
        kind: it.kind,
    });
    let said = StackConfig {
        parameters: resolver.parameters(),
        outputs: outputs.collect(),
        resources: resources.collect(),
        ..StackConfig::default()
    };
    let (functions, builds, warnings) = (fed.functions, fed.builds, warnings.collect());
    let notes = notes.lines();
    Ok(Stack { queues, functions, builds, mappings, alarms, said, notes, warnings })
}

impl Stack {
    /// The queues that feed functions, each once.
    pub(crate) fn sources(&self) -> Vec<&str> {
        let fed = |name: &str| self.mappings.iter().any(|mapping| mapping.queue == name);
        self.queues.iter().map(|queue| queue.name.as_str()).filter(|name| fed(name)).collect()
    }
}

/// The resources of some kinds, all of which are known to exist or not.
fn certain(resolver: &Resolver<'_>, kinds: &[&str]) -> Result<Vec<Resource>> {
    let (resources, doubtful) = resolver.resources(kinds);
    doubtful.into_iter().next().map_or(Ok(resources), |it| Err(it.why))
}

/// Refuses a value given for what nothing asks for.
fn check_set(resolver: &Resolver<'_>) -> Result<()> {
    let document = resolver.document();
    let asked = resolver.asked();
    let is_resource = |name: &str| document.get("Resources").is_some_and(|all| all.get(name).is_some());
    match resolver.set().find(|name| !asked.contains(*name) && !is_resource(name)) {
        Some(name) => {
            let known: Vec<&str> = asked.iter().map(String::as_str).collect();
            let known = if known.is_empty() { "a resource's name".to_owned() } else { known.join(", ") };
            Err(document.error(format!("--set {name}: this template does not need it, allowed: {known}")))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
