//! What of a template runs on a laptop: its queues, functions, mappings and alarms, or why one of them cannot. Pure.
//!
//! The values are those that `subject` reads of any template. Here nothing may be unknown, and nothing may be refused by AWS.

mod alarms;
mod allowed;
mod mappings;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use redrive_local::{AlarmConfig, FunctionConfig, MappingConfig, QueueConfig, StackConfig};
use redrive_sqs::QueueArn;

use self::allowed::{Allowed, Properties};
use crate::subject::template::{self, Source};
use crate::subject::{Function, Subject};
use crate::template::{Gaps, Node, Resolver, Resource, Surroundings, TemplateError, parse};

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

/// Properties that are attributes of the same name.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SetQueueAttributes.html>
const ATTRIBUTES: [&str; 9] = [
    "VisibilityTimeout",
    "MessageRetentionPeriod",
    "DelaySeconds",
    "MaximumMessageSize",
    "ReceiveMessageWaitTimeSeconds",
    "FifoQueue",
    "ContentBasedDeduplication",
    "DeduplicationScope",
    "FifoThroughputLimit",
];

/// What else a queue may have. None of it changes what becomes of a message.
/// <https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-sqs-queue.html>
const OTHERS: [&str; 7] = [
    "QueueName",
    "RedrivePolicy",
    "RedriveAllowPolicy",
    "KmsMasterKeyId",
    "KmsDataKeyReusePeriodSeconds",
    "SqsManagedSseEnabled",
    "Tags",
];

/// What makes a function another one than a process per invocation.
const IMPOSSIBLE: [&str; 2] = ["CapacityProviderConfig", "DurableConfig"];

/// What a function would miss here.
const MISSED: [&str; 2] = ["FileSystemConfigs", "Layers"];

/// <https://docs.aws.amazon.com/serverless-application-model/latest/developerguide/sam-resource-function.html>
const FUNCTION: [(&str, Allowed); 7] = [
    ("Environment.Variables", Allowed::Texts),
    ("Timeout", Allowed::Whole(1, 900)),
    ("ReservedConcurrentExecutions", Allowed::Whole(0, u32::MAX)),
    ("MemorySize", Allowed::Whole(128, 10_240)),
    ("LoggingConfig.LogGroup", Allowed::Text),
    ("Handler", Allowed::Text),
    ("Runtime", Allowed::Text),
];

/// Reads what can be run: queues, functions with an SQS event, and alarms on single metrics. Given values go before the
/// defaults of the template's parameters.
///
/// # Errors
/// The first thing that cannot be worked out, that AWS would refuse or that cannot be kept here, with its line.
pub(crate) fn read(source: &str, given: &[(String, String)], surroundings: &Surroundings) -> Result<Stack> {
    let document = parse(source)?;
    let resolver = Resolver::new(&document, given, surroundings, Gaps::Refused)?;
    let known = template::of(&resolver, &Source::new(Path::new(""), source, given))?;
    let mut notes = Vec::new();
    let queues = queues(&resolver)?;
    let resources = runnable(&resolver, &["AWS::Serverless::Function", "AWS::Lambda::Function"])?;
    let mappings = mappings::read(&resolver, &resources, &known, &queues, &mut notes)?;
    let (functions, builds) = functions(&resources, &known, &mappings, &mut notes)?;
    let alarms = alarms::read(&resolver, &known, &mut notes)?;
    for (id, kind) in resolver.kinds()?.into_iter().filter(|(_, kind)| !UNMISSED.contains(kind)) {
        notes.push(format!("{id} is of type {kind}"));
    }
    let (outputs, unknown) = resolver.outputs()?;
    notes.extend(unknown.into_iter().map(|key| format!("output {key}")));
    let (parameters, resources) = (resolver.parameters(), resolver.deployed()?);
    let said = StackConfig { parameters, outputs, resources, ..StackConfig::default() };
    Ok(Stack { queues, functions, builds, mappings, alarms, said, notes })
}

impl Stack {
    /// The queues that feed functions, each once.
    pub(crate) fn sources(&self) -> Vec<&str> {
        let fed = |name: &str| self.mappings.iter().any(|mapping| mapping.queue == name);
        self.queues.iter().map(|queue| queue.name.as_str()).filter(|name| fed(name)).collect()
    }
}

/// The resources of some kinds, of which everything is known.
fn runnable(resolver: &Resolver<'_>, kinds: &[&str]) -> Result<Vec<Resource>> {
    let (resources, doubtful) = resolver.resources(kinds);
    let unknown = |resource: &Resource| {
        let metadata = resource.metadata.as_ref().and_then(Node::first_unknown);
        resource.properties.first_unknown().or(metadata).cloned()
    };
    match doubtful.into_iter().map(|it| it.why).chain(resources.iter().filter_map(unknown)).next() {
        Some(why) => Err(why),
        None => Ok(resources),
    }
}

fn queues(resolver: &Resolver<'_>) -> Result<Vec<QueueConfig>> {
    let resources = runnable(resolver, &["AWS::SQS::Queue"])?;
    let mut queues = Vec::with_capacity(resources.len());
    for resource in &resources {
        let properties = Properties::of(resource);
        properties.only(&[&ATTRIBUTES[..], &OTHERS].concat(), "an SQS queue")?;
        properties.check(&ATTRIBUTES.map(|name| (name, Allowed::Text)))?;
        let mut attributes = BTreeMap::new();
        for name in ATTRIBUTES {
            attributes.extend(properties.text(name).map(|value| (name.to_owned(), value.to_owned())));
        }
        for name in ["RedrivePolicy", "RedriveAllowPolicy"] {
            if let Some(policy) = properties.node.get(name) {
                attributes.insert(name.to_owned(), policy.to_json().to_string());
            }
        }
        queues.push(QueueConfig { name: resource.name.clone(), attributes });
    }
    for properties in resources.iter().map(Properties::of) {
        let Some(policy) = properties.part("RedrivePolicy") else { continue };
        policy
            .check(&[("deadLetterTargetArn", Allowed::Text), ("maxReceiveCount", Allowed::Whole(1, 1000))])?;
        let arn = policy.required("deadLetterTargetArn")?;
        policy.required("maxReceiveCount")?;
        if find(&queues, arn).is_none() {
            return Err(policy.error(format!("the dead-letter queue {arn} is not in this template")));
        }
    }
    queues.sort_by_key(|queue| queue.attributes.contains_key("RedrivePolicy"));
    Ok(queues)
}

/// The queue with an ARN, wherever that is.
fn find<'a>(queues: &'a [QueueConfig], arn: &str) -> Option<&'a QueueConfig> {
    let arn = QueueArn::parse(arn)?;
    queues.iter().find(|queue| queue.name == arn.name)
}

/// The functions that a queue invokes, and how they are made.
fn functions(
    resources: &[Resource],
    known: &Subject,
    mappings: &[MappingConfig],
    notes: &mut Vec<String>,
) -> Result<(Vec<FunctionConfig>, Vec<Build>)> {
    let (mut functions, mut builds) = (Vec::new(), Vec::new());
    for resource in resources {
        let is_fed = mappings.iter().any(|mapping| mapping.function == resource.name);
        match known.function(&resource.name).filter(|_| is_fed) {
            Some(known) => {
                functions.push(function(resource, known, notes)?);
                builds.push(build(resource));
            }
            None => notes.push(format!("no queue feeds function {}", resource.id)),
        }
    }
    let is_here = |mapping: &&MappingConfig| functions.iter().any(|it| it.name == mapping.function);
    if let Some(mapping) = mappings.iter().find(|mapping| !is_here(mapping)) {
        let message = format!("the function {} is not in this template", mapping.function);
        return Err(TemplateError { line: 1, message });
    }
    Ok((functions, builds))
}

fn function(resource: &Resource, known: &Function, notes: &mut Vec<String>) -> Result<FunctionConfig> {
    let properties = Properties::of(resource);
    if let Some((name, part)) = IMPOSSIBLE.iter().find_map(|name| Some((name, properties.part(name)?))) {
        return Err(part.error(format!("functions with a {name} cannot run here")));
    }
    let missed = MISSED.iter().filter(|name| properties.part(name).is_some());
    notes.extend(missed.map(|name| format!("{name} of function {}", resource.id)));
    properties.check(&FUNCTION)?;
    let variables = known.environment.clone().unwrap_or_default();
    Ok(FunctionConfig {
        name: resource.name.clone(),
        command: PathBuf::new(),
        environment: variables.into_iter().filter_map(|(name, value)| Some((name, value?))).collect(),
        timeout: known.timeout.unwrap_or(Duration::from_secs(3)),
        reserved_concurrency: known.reserved_concurrency.there().map(|reserved| *reserved as usize),
        memory_mb: properties.text("MemorySize").and_then(|text| text.parse().ok()).unwrap_or(128),
        show_output: false,
        log_group: properties.part("LoggingConfig").and_then(|part| part.text("LogGroup")).map(str::to_owned),
    })
}

fn build(resource: &Resource) -> Build {
    let text = |name: &str| resource.properties.get(name).and_then(Node::as_text).map(str::to_owned);
    let metadata = |path: &[&str]| {
        let node = path.iter().try_fold(resource.metadata.as_ref()?, |node, name| node.get(name));
        node.and_then(Node::as_text).map(str::to_owned)
    };
    Build {
        function: resource.id.clone(),
        name: resource.name.clone(),
        code: resource.code().map(str::to_owned),
        method: metadata(&["BuildMethod"]),
        binary: metadata(&["BuildProperties", "Binary"]),
        handler: text("Handler"),
        runtime: text("Runtime"),
    }
}

#[cfg(test)]
mod tests;
