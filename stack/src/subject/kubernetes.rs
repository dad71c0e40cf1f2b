//! What Kubernetes manifests would deploy: workers, and what scales them. Their queues, roles and alarms are elsewhere. Pure.

mod containers;

use std::collections::HashSet;
use std::time::Duration;

use redrive_sqs::cut_to;

use super::template::Source;
use super::{Platform, Scaler, Subject, Worker};
use crate::template::{Node, TemplateError, Value, parse_stream, scalar};
use containers::{Maps, container};

/// What runs pods that poll.
const WORKLOADS: [&str; 2] = ["Deployment", "StatefulSet"];
/// KEDA's own default.
const COUNTS_IN_FLIGHT: bool = true;
/// More than the manifests of a large cluster have. Each may have several findings.
const MOST_RESOURCES: usize = 5_000;
/// As long as a name may be.
/// <https://kubernetes.io/docs/concepts/overview/working-with-objects/names/>
const LONGEST_NAME: usize = 253;

/// Whether a text is manifests, as YAML.
pub fn is_kubernetes(text: &str) -> bool {
    let has = |key: &str| text.lines().any(|line| line.starts_with(key));
    has("apiVersion:") && has("kind:")
}

/// The resources of a file with their names, those of lists too.
///
/// # Errors
/// A document is no YAML; there are more than any file has.
pub fn resources(text: &str) -> Result<Vec<(String, Node)>, TemplateError> {
    let mut found = Vec::new();
    for document in parse_stream(text)? {
        add_resources(document, &mut found)?;
    }
    Ok(found)
}

/// A resource, or those of a list: of any (`List`), or of one kind (`DeploymentList`), which need not say it.
fn add_resources(mut document: Node, found: &mut Vec<(String, Node)>) -> Result<(), TemplateError> {
    let of_list = text_at(&document, &["kind"]).and_then(|kind| kind.strip_suffix("List")).map(str::to_owned);
    let Value::Map(entries) = &mut document.value else { return Ok(()) };
    let items = entries.iter_mut().find_map(|(key, node)| match &mut node.value {
        Value::List(items) if key == "items" => Some(std::mem::take(items)),
        _ => None,
    });
    if let (Some(kind), Some(items)) = (of_list, items) {
        return items.into_iter().try_for_each(|mut item| {
            let line = item.line;
            if let Value::Map(entries) = &mut item.value
                && !entries.iter().any(|(key, _)| key == "kind")
            {
                entries.push(("kind".to_owned(), Node::text(line, kind.as_str())));
            }
            add_resources(item, found)
        });
    }
    if found.len() == MOST_RESOURCES {
        return Err(document.error(format!("more than {MOST_RESOURCES} Kubernetes resources")));
    }
    let name = cut_to(text_at(&document, &["metadata", "name"]).unwrap_or_default(), LONGEST_NAME);
    found.push((name.into_owned(), document));
    Ok(())
}

/// Reads manifests.
///
/// # Errors
/// A document is no YAML, or parameters are given, of which manifests have none.
pub fn read(source: &Source<'_>) -> Result<Subject, TemplateError> {
    if let Some((name, _)) = source.parameters.first() {
        let message = format!("no parameter {name}: Kubernetes manifests have none");
        return Err(TemplateError { line: 1, message });
    }
    let resources = resources(source.text)?;
    let (maps, mut not_seen) = (Maps::of(&resources), Vec::new());
    let mut workers = Vec::new();
    for (name, resource) in resources.iter().filter(|(_, it)| WORKLOADS.iter().any(|kind| is(it, kind))) {
        workers.extend(workers_of(name, resource, &maps, &mut not_seen)?);
    }
    let names: HashSet<&str> = workers.iter().filter_map(|worker| worker.id.split('.').next()).collect();
    let scaled = resources.iter().filter(|(_, resource)| is(resource, "ScaledObject"));
    let scalers = scaled.flat_map(|(name, resource)| scalers(name, resource, &names)).collect();
    Ok(Subject {
        name: source.path.display().to_string(),
        workers,
        scalers,
        hides_alarms: true,
        not_seen,
        ..Subject::default()
    })
}

fn is(resource: &Node, kind: &str) -> bool {
    text_at(resource, &["kind"]) == Some(kind)
}

fn at<'a>(node: &'a Node, path: &[&str]) -> Option<&'a Node> {
    path.iter().try_fold(node, |node, key| node.get(key))
}

fn text_at<'a>(node: &'a Node, path: &[&str]) -> Option<&'a str> {
    at(node, path)?.as_text()
}

fn list_at<'a>(node: &'a Node, path: &[&str]) -> &'a [Node] {
    at(node, path).and_then(Node::as_list).unwrap_or_default()
}

fn workers_of(
    name: &str,
    workload: &Node,
    maps: &Maps,
    not_seen: &mut Vec<String>,
) -> Result<Vec<Worker>, TemplateError> {
    let Some(pod) = at(workload, &["spec", "template", "spec"]) else { return Ok(Vec::new()) };
    let grace_period = match at(pod, &["terminationGracePeriodSeconds"]).map(|it| &it.value) {
        None | Some(Value::Null) => Some(Platform::GRACE_PERIOD),
        Some(Value::Text(seconds)) => scalar::number(seconds).map(Duration::from_secs),
        Some(_) => None,
    };
    let containers =
        list_at(pod, &["containers"]).iter().filter_map(|node| container(node, maps).transpose());
    let containers = containers.collect::<Result<Vec<_>, _>>()?;
    let is_alone = containers.len() < 2;
    let mut workers = Vec::new();
    for found in containers {
        let id = if is_alone { name.to_owned() } else { format!("{name}.{}", found.name) };
        not_seen.extend(
            found.unknown.iter().map(|what| format!("{what} of {id}: its value is not in this file")),
        );
        let worker = Worker {
            process: found.process,
            platform: Platform::Kubernetes,
            queue_arn: None,
            grace_period,
            probes: found.probes,
            line: Some(found.line),
            id,
        };
        let url = worker.queue_url().map(|url| format!(": {url} is not in this file"));
        not_seen.push(format!("the queue of {}{}", worker.id, url.unwrap_or_default()));
        not_seen.push(format!("the permissions of {}: its IAM role is not in this file", worker.id));
        workers.push(worker);
    }
    Ok(workers)
}

/// Those of a worker: by its name, or by the variable that has its queue.
/// <https://keda.sh/docs/latest/reference/scaledobject-spec/>
fn scalers(name: &str, scaled: &Node, workers: &HashSet<&str>) -> Vec<Scaler> {
    let target = text_at(scaled, &["spec", "scaleTargetRef", "name"]).unwrap_or_default();
    let is_worker = workers.contains(target);
    let of_queue = list_at(scaled, &["spec", "triggers"]).iter().filter(|trigger| {
        let variable = text_at(trigger, &["metadata", "queueURLFromEnv"]);
        text_at(trigger, &["type"]) == Some("aws-sqs-queue")
            && (is_worker || variable == Some(super::worker::QUEUE_URL))
    });
    let scaler = |trigger: &Node| Scaler {
        counts_in_flight: match text_at(trigger, &["metadata", "scaleOnInFlight"]) {
            None => Some(COUNTS_IN_FLIGHT),
            Some(flag) => scalar::flag(flag),
        },
        line: Some(trigger.line),
        id: name.to_owned(),
    };
    of_queue.map(scaler).collect()
}

#[cfg(test)]
mod tests;
