//! Reads what Terraform would deploy, or has deployed: `terraform show -json` of a plan or a state, as a template. Pure.
//!
//! `plan` reads the JSON, `resources` turns Terraform's resources into a template's with addresses as logical ids, and
//! `deployment/template` reads those. `references` follows values that a plan does not show to
//! their resources.

mod attributes;
mod companions;
mod names;
mod plan;
mod policies;
mod references;
mod resources;

use std::collections::HashMap;

use super::template::{self, Source};
use super::{Deployment, MayHold, NotRead};
use crate::{Gaps, Node, Resolver, Surroundings, TemplateError, Value};
use attributes::Attributes;
use names::Names;
use plan::{JsonKind, Plan};
use references::References;
use resources::Resource;

/// Most resources. More would take minutes to check, and no plan has as many.
const MOST_RESOURCES: usize = 20_000;

/// Returns true if a text is JSON of Terraform's, and not a template.
pub fn is_terraform(text: &str) -> bool {
    plan::json_kind(text).is_some()
}

/// Returns true if a text is the output of `terraform show -json`.
pub fn is_shown(text: &str) -> bool {
    plan::json_kind(text) == Some(JsonKind::Shown)
}

/// Reads a plan or a state.
///
/// # Errors
/// It is another of Terraform's files, it is larger than any plan, or parameters are given, which it does not have.
pub fn read(source: &Source<'_>) -> Result<Deployment, TemplateError> {
    if plan::json_kind(source.text) == Some(JsonKind::Other) {
        return Err(error("neither planned_values nor values: pass the output of terraform show -json"));
    }
    if let Some((name, _)) = source.parameters.first() {
        return Err(error(format!(
            "no parameter {name}: the variables of a Terraform plan have their values"
        )));
    }
    let plan = Plan::parse(source.text).map_err(|why| error(format!("Terraform's JSON: {why}")))?;
    let names = Names::new(&plan, source.region);
    let references = References::new(&plan);
    let surroundings = Surroundings {
        region: Some(names.region.clone()),
        account: Some(names.account.clone()),
        endpoint: names.endpoint.clone(),
        ..Surroundings::default()
    };
    let (document, notes) = document(&references, &names)?;
    let resolver = Resolver::new(&document, &[], &surroundings, Gaps::Kept)?;
    let mut deployment = template::of(&resolver, source)?;
    let lacks = plan.lacks.map(|why| format!("the resources that this plan leaves out: {why}"));
    let lacks = lacks.into_iter().chain(notes).map(|it| NotRead::new(MayHold::Consumer, it));
    let others = deployment.not_seen.into_iter().map(|it| it.worded(resources::in_words_of_terraform));
    deployment.not_seen = lacks.chain(others).collect();
    // The address is the place, instead of a line.
    deployment.is_plan = true;
    deployment.queues.iter_mut().for_each(|queue| queue.line = None);
    deployment.functions.iter_mut().for_each(|function| function.line = None);
    deployment.mappings.iter_mut().for_each(|mapping| mapping.line = None);
    deployment.workers.iter_mut().for_each(|worker| worker.line = None);
    deployment.tables.iter_mut().for_each(|table| table.line = None);
    deployment.alarms.iter_mut().flatten().for_each(|alarm| alarm.line = None);
    Ok(deployment)
}

/// Returns an equivalent template, and notes on what it leaves out.
fn document(references: &References<'_>, names: &Names) -> Result<(Node, Vec<String>), TemplateError> {
    let of = |instance| Attributes::of(instance, references, names);
    let managed = || references.plan.instances.iter().filter(|instance| !instance.is_data);
    let mut resources: Vec<Resource> = managed()
        .filter_map(|it| resources::resource(&of(it)).or_else(|| resources::not_read(&of(it))))
        .take(MOST_RESOURCES + 1)
        .collect();
    if resources.len() > MOST_RESOURCES {
        return Err(error(format!(
            "more than {MOST_RESOURCES} resources of queues, functions, roles and alarms"
        )));
    }
    let notes = without_namesakes(&mut resources);
    managed().for_each(|instance| companions::add(&mut resources, &of(instance)));
    let resources = resources.into_iter().map(|Resource { id, kind, properties }| {
        let properties = Node { line: 1, value: Value::Map(properties) };
        (id, attributes::map([("Type", attributes::text(kind)), ("Properties", properties)]))
    });
    let resources = Node { line: 1, value: Value::Map(resources.collect()) };
    Ok((attributes::map([("Resources", resources)]), notes))
}

/// Leaves out queues and functions that have the name of an earlier one, and returns notes on them. They are in another region or
/// account, which their names do not tell.
fn without_namesakes(resources: &mut Vec<Resource>) -> Vec<String> {
    let mut first: HashMap<(&'static str, String), String> = HashMap::new();
    let mut notes = Vec::new();
    resources.retain(|resource| {
        let name = ["QueueName", "FunctionName"].iter().find_map(|name| resource.text(name));
        let is_named = matches!(resource.kind, "AWS::SQS::Queue" | "AWS::Lambda::Function");
        let Some(name) = name.filter(|_| is_named) else { return true };
        match first.get(&(resource.kind, name.to_owned())) {
            Some(other) => {
                let why = format!("{other} has its name, in another region or account");
                notes.push(format!("{}: {why}", resource.id));
                false
            }
            None => {
                first.insert((resource.kind, name.to_owned()), resource.id.clone());
                true
            }
        }
    });
    notes
}

fn error(message: impl Into<String>) -> TemplateError {
    TemplateError { line: 1, message: message.into() }
}

#[cfg(test)]
mod tests;
