//! What a template would deploy. Nothing in it is refused here: what cannot be worked out is named as not seen.

mod actions;
mod alarms;
mod elsewhere;
mod functions;
mod look;
mod manifest;
mod mappings;
mod network;
mod queues;
mod roles;
mod same;

use std::collections::BTreeMap;
use std::path::Path;

use look::Notes;
pub use queues::policy_allows_others;

use super::Subject;
use super::arn::{ACCOUNT, REGION};
use crate::template::{Gaps, Node, Resolver, Surroundings, TemplateError, parse};

/// A template and what is known besides it.
pub struct Source<'a> {
    pub path: &'a Path,
    pub text: &'a str,
    /// Values of its parameters, before their defaults.
    pub parameters: &'a [(String, String)],
    /// Where it will be deployed, if somebody says.
    pub region: Option<&'a str>,
    /// What has become of it, if it is deployed.
    pub deployment: Option<Deployment<'a>>,
    /// Reads a file beside it: a Cargo manifest.
    pub file: &'a dyn Fn(&Path) -> Option<String>,
}

impl<'a> Source<'a> {
    /// A template alone, not deployed.
    pub fn new(path: &'a Path, text: &'a str, parameters: &'a [(String, String)]) -> Self {
        Self { path, text, parameters, region: None, deployment: None, file: &|_| None }
    }
}

/// What is known of a template once it is deployed.
pub struct Deployment<'a> {
    pub account: &'a str,
    pub stack: &'a str,
    /// What queue URLs begin with, if that is not as everywhere on AWS.
    pub endpoint: Option<&'a str>,
    /// What the resources are called, by their logical ids.
    pub names: BTreeMap<String, String>,
}

/// What resources may hide others from us.
const HIDING: [&str; 4] = [
    "AWS::CloudFormation::Stack",
    "AWS::CloudFormation::Macro",
    "AWS::Serverless::Application",
    "AWS::CloudFormation::ModuleDefaultVersion",
];

/// Reads a whole template.
///
/// # Errors
/// It is no template, or a parameter is not declared or not allowed, or a rule of its own does not hold.
pub fn read(source: &Source<'_>) -> Result<Subject, TemplateError> {
    let document = parse(source.text)?;
    let region = source.region.unwrap_or(REGION);
    let deployment = source.deployment.as_ref();
    let endpoint = deployment.and_then(|it| it.endpoint).map(str::to_owned);
    let surroundings = Surroundings {
        region: region.to_owned(),
        account: deployment.map_or(ACCOUNT, |it| it.account).to_owned(),
        stack: deployment.map_or("STACK", |it| it.stack).to_owned(),
        endpoint: endpoint.unwrap_or_else(|| format!("https://sqs.{region}.amazonaws.com")),
        names: deployment.map(|it| it.names.clone()).unwrap_or_default(),
    };
    of(&Resolver::new(&document, source.parameters, &surroundings, Gaps::Kept)?, source)
}

/// Reads what a template would deploy where its resolver says.
///
/// # Errors
/// It has no resources.
pub fn of(resolver: &Resolver<'_>, source: &Source<'_>) -> Result<Subject, TemplateError> {
    let document = resolver.document();
    if document.get("Resources").is_none() {
        return Err(document.error("no Resources: this is not a CloudFormation template"));
    }
    let notes = Notes::default();
    let mut hides_alarms = false;
    for (id, resource) in document.get("Resources").map(Node::entries).unwrap_or_default() {
        let kind = resource.get("Type").and_then(Node::as_text).unwrap_or_default();
        if HIDING.contains(&kind) || id.starts_with("Fn::") {
            hides_alarms = true;
            notes
                .add(format!("what {id} holds{}", if kind.is_empty() { "" } else { ", a stack of its own" }));
        }
    }
    let mut queues = queues::read(resolver, &notes);
    let (mut functions, resources) = functions::read(resolver, source, &notes);
    let mut mappings = mappings::read(resolver, &resources, &notes);
    same::call(&mut queues, &mut functions, &mut mappings);
    elsewhere::read(resolver, &mut queues, &notes);
    network::read(resolver, (&functions, &resources), &mappings, &notes);
    let (alarms, all) = alarms::read(resolver, &notes);
    hides_alarms |= !all;
    if hides_alarms {
        notes.add(
            "whether an alarm watches each dead-letter queue: some alarms may be defined elsewhere"
                .to_owned(),
        );
    }
    let is_here = |arn: &str| queues.iter().any(|queue| queue.arn == arn);
    for queue in &queues {
        let target = queue.redrive_policy.there().and_then(|policy| policy.dead_letter_target_arn.as_deref());
        if let Some(arn) = target.filter(|arn| !is_here(arn)) {
            notes.add(format!("the dead-letter queue of {}: {arn} is not in this template", queue.id));
        }
    }
    for mapping in &mappings {
        if let Some(arn) = mapping.queue_arn.as_deref().filter(|arn| !is_here(arn)) {
            notes.add(format!("the queue of {}: {arn} is not in this template", mapping.id));
        }
        let is_function = |name: &&str| functions.iter().any(|function| function.name == **name);
        if let Some(name) = mapping.function.as_deref().filter(|name| !is_function(name)) {
            notes.add(format!("the function of {}: {name} is not in this template", mapping.id));
        }
    }
    Ok(Subject {
        name: source.path.display().to_string(),
        queues,
        functions,
        mappings,
        alarms: Some(alarms),
        hides_alarms,
        drift: Vec::new(),
        not_seen: notes.into_lines(),
    })
}

#[cfg(test)]
mod tests;
