//! Reads the functions that queues feed, with their environment and the instructions to build them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use redrive_iac::deployment::{Deployment, Function};
use redrive_iac::{Node, Resolver, Resource, scalar};
use redrive_sqs::LONGEST_INVOCATION;

use super::allowed::{Allowed, Properties};
use super::notes::Notes;
use super::{Build, Result};
use crate::{FunctionConfig, MappingConfig};

pub(super) const KINDS: [&str; 2] = ["AWS::Serverless::Function", "AWS::Lambda::Function"];

/// Properties of functions that do not run as a process per invocation.
const IMPOSSIBLE: [&str; 2] = ["CapacityProviderConfig", "DurableConfig"];

/// Properties whose effect a function would miss here.
const MISSED: [&str; 2] = ["FileSystemConfigs", "Layers"];

/// <https://docs.aws.amazon.com/serverless-application-model/latest/developerguide/sam-resource-function.html>
const FUNCTION: [(&str, Allowed); 4] = [
    ("Environment.Variables", Allowed::Texts),
    ("Timeout", Allowed::Whole(1, LONGEST_INVOCATION.as_secs())),
    ("ReservedConcurrentExecutions", Allowed::Whole(0, u32::MAX as u64)),
    ("MemorySize", Allowed::Whole(128, 10_240)),
];

/// The functions that queues invoke, the instructions to build them, and the values that were invented for them.
#[derive(Debug, Default)]
pub(super) struct FedFunctions {
    pub(super) functions: Vec<FunctionConfig>,
    pub(super) builds: Vec<Build>,
    pub(super) made_up: Option<String>,
}

/// Reads the functions. Unknown variables have the values that `filled` invents.
pub(super) fn read(
    resources: &[Resource],
    known: &Deployment,
    mappings: &[MappingConfig],
    filled: &Resolver<'_>,
    notes: &mut Notes,
) -> Result<FedFunctions> {
    let mut fed = FedFunctions::default();
    let (made_up_resources, _) = filled.resources(&KINDS);
    let mut made_up = InventedValues {
        filled,
        resources: made_up_resources,
        variables: Vec::new(),
        names: BTreeSet::new(),
    };
    for resource in resources {
        let is_fed = mappings.iter().any(|mapping| mapping.function == resource.name);
        match known.function(&resource.name).filter(|_| is_fed) {
            Some(known) => {
                fed.functions.push(function(resource, known, &mut made_up, notes)?);
                fed.builds.push(build(resource, known));
            }
            None => {
                notes.add(["no queue feeds function ", "no queue feeds functions "], &resource.id, ["", ""])
            }
        }
    }
    fed.made_up = made_up.said();
    Ok(fed)
}

/// Invents values for variables that only AWS knows.
#[derive(Debug)]
struct InventedValues<'a> {
    filled: &'a Resolver<'a>,
    /// The functions with all invented values.
    resources: Vec<Resource>,
    variables: Vec<String>,
    /// Names of the invented values, as `--set` takes them.
    names: BTreeSet<String>,
}

impl InventedValues<'_> {
    /// Returns the known value of a variable, or else an invented one.
    fn variable(&mut self, function: &str, name: &str, known: Option<String>) -> Option<String> {
        let variable =
            |properties: &'_ Node| properties.get("Environment")?.get("Variables")?.get(name).cloned();
        let resource = self.resources.iter().find(|resource| resource.id == function)?;
        let filled = || Some(variable(&resource.properties)?.as_text()?.to_owned());
        let document = self.filled.document();
        let own = || variable(document.get("Resources")?.get(function)?.get("Properties")?);
        let global = || variable(document.get("Globals")?.get("Function")?);
        let written = own().or_else(global);
        let mut names = written.map(|written| self.filled.made_up_in(&written)).unwrap_or_default();
        if known.is_some() && names.is_empty() {
            return known;
        }
        let value = known.or_else(filled)?;
        self.names.append(&mut names);
        self.variables.push(format!("{name} of {function}"));
        Some(value)
    }

    fn said(self) -> Option<String> {
        let give: Vec<String> = self.names.iter().map(|name| format!("--set {name}=VALUE")).collect();
        let give = if give.is_empty() { String::new() } else { format!("; pass {}", give.join(" ")) };
        (!self.variables.is_empty()).then(|| format!("made up: {}{give}", self.variables.join(", ")))
    }
}

fn function(
    resource: &Resource,
    known: &Function,
    made_up: &mut InventedValues<'_>,
    notes: &mut Notes,
) -> Result<FunctionConfig> {
    let properties = Properties::of(resource);
    if let Some((name, part)) = IMPOSSIBLE.iter().find_map(|name| Some((name, properties.node.get(name)?))) {
        return Err(part.error(format!("{}: functions with a {name} cannot run here", resource.id)));
    }
    let is_layered = known.process.is_behind_layer();
    let is_missed = |name: &&&str| properties.node.get(name).is_some() && !(is_layered && **name == "Layers");
    for name in MISSED.iter().filter(is_missed) {
        let of = [&*format!("{name} of function "), &*format!("{name} of functions ")];
        notes.add(of, &resource.id, ["", ""]);
    }
    properties.check(&FUNCTION)?;
    let mut environment = BTreeMap::new();
    for (name, value) in known.process.environment.clone().unwrap_or_default() {
        match made_up.variable(&resource.id, &name, value) {
            Some(value) => drop(environment.insert(name, value)),
            None => {
                let (variable, why) = (format!("{name} of {}", resource.id), why_unknown(resource, &name));
                notes.add(["variable ", "variables "], &variable, [&why, &why]);
            }
        }
    }
    Ok(FunctionConfig {
        name: resource.name.clone(),
        environment,
        timeout: known.timeout.unwrap_or(Duration::from_secs(3)),
        reserved_concurrency: known.reserved_concurrency.there().map(|reserved| *reserved as usize),
        memory_mb: properties.text("MemorySize").and_then(scalar::number).unwrap_or(128),
        log_group: text_at(&resource.properties, &["LoggingConfig", "LogGroup"]),
        ..FunctionConfig::default()
    })
}

fn why_unknown(function: &Resource, variable: &str) -> String {
    let variables = function.properties.get("Environment").and_then(|part| part.get("Variables"));
    let why = variables.and_then(|all| all.get(variable)).and_then(Node::unknown);
    why.map(|why| format!(": {}", why.message)).unwrap_or_default()
}

fn text_at(node: &Node, path: &[&str]) -> Option<String> {
    path.iter().try_fold(node, |node, name| node.get(name))?.as_text().map(str::to_owned)
}

fn build(resource: &Resource, known: &Function) -> Build {
    let text = |name: &str| text_at(&resource.properties, &[name]);
    let metadata = |path: &[&str]| text_at(resource.metadata.as_ref()?, path);
    Build {
        function: resource.id.clone(),
        name: resource.name.clone(),
        code: resource.code().map(str::to_owned),
        method: metadata(&["BuildMethod"]),
        binary: metadata(&["BuildProperties", "Binary"]),
        handler: text("Handler"),
        runtime: text("Runtime"),
        is_behind_layer: known.process.is_behind_layer(),
        is_image: text("PackageType").as_deref() == Some("Image") || metadata(&["Dockerfile"]).is_some(),
    }
}
