//! Reads the part of a template that runs on a laptop: queues, functions, mappings and alarms, or the reason why one cannot
//! run. Pure.
//!
//! `subject` reads the values of any template. All values of the resources that run here must be known, except the functions'
//! environment, and AWS must accept them. The rest of a template does not matter.

mod queues;
mod mappings;
mod functions;
mod notes;
mod alarms;
mod allowed;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use redrive_iac::deployment::Process;
use redrive_iac::deployment::template::{self as subject, Source};
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
    /// The functions. Their commands are still empty: see [`Build`].
    pub(crate) functions: Vec<FunctionConfig>,
    /// Instructions to build each function's executable, in the same order.
    pub(crate) builds: Vec<Build>,
    pub(crate) mappings: Vec<MappingConfig>,
    /// The alarms on a plain statistic. The notes name the others.
    pub(crate) alarms: Vec<AlarmConfig>,
    /// The stack as CloudFormation describes it, without its name and the template's text.
    pub(crate) said: StackConfig,
    /// Notes on parts of the template that have no effect here.
    pub(crate) notes: Vec<String>,
    /// Warnings about differences from AWS.
    pub(crate) warnings: Vec<String>,
}

/// Instructions to build a function's executable.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Build {
    /// The function's logical id.
    pub(crate) function: String,
    /// The function's name on AWS.
    pub(crate) name: String,
    /// `CodeUri` or `Code`, relative to the template's directory. None if it is not a path.
    pub(crate) code: Option<String>,
    /// `Metadata.BuildMethod`.
    pub(crate) method: Option<String>,
    /// The Cargo target, if the template names one (`Metadata.BuildProperties.Binary`).
    pub(crate) binary: Option<String>,
    pub(crate) handler: Option<String>,
    pub(crate) runtime: Option<String>,
    /// True if redrive's Lambda layer wraps its runtime.
    pub(crate) is_behind_layer: bool,
    /// True if the function is a container image.
    pub(crate) is_image: bool,
}

/// Resource types that need no note: they run here, are reported in another way, or make no difference here because they
/// grant rights, keep logs, or show and report what happens.
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

/// Note on a function that remembers the messages that it handled.
const NO_RECORDS: &str = ", which has no stand-in here: messages that need its records fail";

/// Reads the resources that can run: queues, functions with an SQS event, and alarms on single metrics. Given values override
/// the defaults of the template's parameters.
///
/// # Errors
/// Returns the first problem with its line: a value that cannot be resolved, that AWS would refuse, or that cannot be
/// reproduced here.
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
    /// Returns the queues that feed functions, each once. Without functions, those that are not dead-letter queues.
    pub(crate) fn sources(&self) -> Vec<&str> {
        let dead: Vec<_> = self.dead_letter_queues().into_values().collect();
        let are_all_dead = self.queues.iter().all(|queue| dead.contains(&queue.name));
        let is_source = |name: &str| match self.mappings.as_slice() {
            [] => are_all_dead || !dead.iter().any(|dead| dead == name),
            mappings => mappings.iter().any(|mapping| mapping.queue == name),
        };
        self.queues.iter().map(|queue| queue.name.as_str()).filter(|name| is_source(name)).collect()
    }

    /// Returns the name of each queue's dead-letter queue, by the queue's name.
    pub(crate) fn dead_letter_queues(&self) -> BTreeMap<&str, String> {
        let target = |policy: &String| {
            let policy: serde_json::Value = serde_json::from_str(policy).ok()?;
            Some(policy["deadLetterTargetArn"].as_str()?.rsplit(':').next()?.to_owned())
        };
        let queues = self.queues.iter();
        queues
            .filter_map(|queue| Some((queue.name.as_str(), target(queue.attributes.get("RedrivePolicy")?)?)))
            .collect()
    }
}

/// Returns the resources of some types. Their conditions must be known.
fn certain(resolver: &Resolver<'_>, kinds: &[&str]) -> Result<Vec<Resource>> {
    let (resources, doubtful) = resolver.resources(kinds);
    doubtful.into_iter().next().map_or(Ok(resources), |it| Err(it.why))
}

/// Refuses a value of `--set` that nothing uses.
fn check_set(resolver: &Resolver<'_>) -> Result<()> {
    let document = resolver.document();
    let asked = resolver.requested();
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
