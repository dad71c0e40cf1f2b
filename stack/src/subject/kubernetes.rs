//! What Kubernetes manifests would deploy: workers, and what scales them. Their queues, roles and alarms are elsewhere. Pure.

mod containers;

use std::time::Duration;

use super::template::Source;
use super::{Platform, Scaler, Subject, Worker};
use crate::template::{Node, TemplateError, Value, parse, scalar};
use containers::{Maps, container};

/// What runs pods that poll.
const WORKLOADS: [&str; 2] = ["Deployment", "StatefulSet"];
/// KEDA's own default.
const COUNTS_IN_FLIGHT: bool = true;

/// Whether a text is manifests, as YAML.
pub fn is_kubernetes(text: &str) -> bool {
    let has = |key: &str| text.lines().any(|line| line.starts_with(key));
    has("apiVersion:") && has("kind:")
}

/// The resources of a file with their names, those of lists too.
///
/// # Errors
/// A document is no YAML.
pub fn resources(text: &str) -> Result<Vec<(String, Node)>, TemplateError> {
    let mut found = Vec::new();
    for document in documents(text) {
        let document = parse(&document)?;
        match (text_at(&document, &["kind"]), document.get("items").and_then(Node::as_list)) {
            (Some("List"), Some(items)) => found.extend(items.iter().cloned()),
            _ => found.push(document),
        }
    }
    let name = |it: &Node| text_at(it, &["metadata", "name"]).unwrap_or_default().to_owned();
    Ok(found.into_iter().map(|resource| (name(&resource), resource)).collect())
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
        workers.extend(workers_of(name, resource, &maps, &mut not_seen));
    }
    let scaled = resources.iter().filter(|(_, resource)| is(resource, "ScaledObject"));
    let scalers = scaled.flat_map(|(name, resource)| scalers(name, resource, &workers)).collect();
    Ok(Subject {
        name: source.path.display().to_string(),
        workers,
        scalers,
        hides_alarms: true,
        not_seen,
        ..Subject::default()
    })
}

/// The documents of a stream, each on the lines where it is, without those that hold comments only.
fn documents(text: &str) -> Vec<String> {
    let mut documents = vec![String::new()];
    for (at, line) in text.lines().enumerate() {
        if line == "---" || line.starts_with("--- ") {
            documents.push("\n".repeat(at));
        }
        let rest = line.strip_prefix("---").filter(|rest| rest.is_empty() || rest.starts_with(' '));
        let document = documents.last_mut().expect("there is one from the start");
        document.push_str(rest.unwrap_or(line));
        document.push('\n');
    }
    let says_something = |line: &str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    documents.retain(|document| document.lines().any(says_something));
    documents
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

fn workers_of(name: &str, workload: &Node, maps: &Maps, not_seen: &mut Vec<String>) -> Vec<Worker> {
    let Some(pod) = at(workload, &["spec", "template", "spec"]) else { return Vec::new() };
    let grace_period = match at(pod, &["terminationGracePeriodSeconds"]).map(|it| &it.value) {
        None | Some(Value::Null) => Some(Platform::GRACE_PERIOD),
        Some(Value::Text(seconds)) => scalar::number(seconds).map(Duration::from_secs),
        Some(_) => None,
    };
    let containers: Vec<_> =
        list_at(pod, &["containers"]).iter().filter_map(|node| container(node, maps)).collect();
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
    workers
}

/// Those of a worker: by its name, or by the variable that has its queue.
/// <https://keda.sh/docs/latest/reference/scaledobject-spec/>
fn scalers(name: &str, scaled: &Node, workers: &[Worker]) -> Vec<Scaler> {
    let target = text_at(scaled, &["spec", "scaleTargetRef", "name"]).unwrap_or_default();
    let is_worker = workers.iter().any(|worker| worker.id.split('.').next() == Some(target));
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
