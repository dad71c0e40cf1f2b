//! What Kubernetes manifests would deploy: workers, and what scales them. Their queues, roles and alarms are elsewhere. Pure.

mod containers;

use std::collections::HashSet;
use std::time::Duration;

use redrive_sqs::cut_to;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::template::Source;
use super::worker::QUEUE_URL;
use super::{Platform, Scaler, Subject, Worker};
use crate::{Absent, Node, TemplateError, Value, parse_stream, scalar};
use containers::{Maps, Read, container};

/// What runs pods that poll. All have their pods in the same place.
const WORKLOADS: [&str; 4] = ["Deployment", "StatefulSet", "DaemonSet", "Rollout"];
/// KEDA's own default.
const COUNTS_IN_FLIGHT: bool = true;
/// More than the manifests of a large cluster have. Each may have several findings.
const MOST_RESOURCES: usize = 5_000;
/// As long as a name may be.
/// <https://kubernetes.io/docs/concepts/overview/working-with-objects/names/>
const LONGEST_NAME: usize = 253;

/// Whether a text is manifests, as YAML or JSON.
pub fn is_kubernetes(text: &str) -> bool {
    if text.trim_start().starts_with('{') {
        return serde_json::from_str::<Signs>(text).is_ok();
    }
    let has = |key: &str| text.lines().any(|line| line.trim_start_matches(['"', '\'']).starts_with(key));
    let is_key = |key: &str| ["", "\"", "'"].iter().any(|quote| has(&format!("{key}{quote}:")));
    is_key("apiVersion") && is_key("kind")
}

/// What all of its JSON has.
#[derive(Deserialize)]
struct Signs {
    #[serde(rename = "apiVersion")]
    _api_version: IgnoredAny,
    #[serde(rename = "kind")]
    _kind: IgnoredAny,
}

/// Whether a text is the template of a chart, which is not a manifest before Helm has filled it in. Manifests may hold
/// templates of others, such as those of Prometheus.
pub fn is_chart(text: &str) -> bool {
    let calls = text.split("{{").skip(1).filter_map(|rest| rest.split("}}").next());
    let mut calls = calls.map(|call| call.trim_start_matches(['-', ' ']));
    calls.any(|call| {
        [".Values", ".Release.", ".Chart."].iter().any(|it| call.contains(it)) || call.starts_with("include ")
    })
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
    let (mut workers, mut absent) = (Vec::new(), Vec::new());
    let known: HashSet<&str> = resources.iter().map(|(name, _)| name.as_str()).collect();
    for (name, resource) in &resources {
        let doubt = if WORKLOADS.iter().any(|kind| is(resource, kind)) {
            let (found, doubt) = workers_of(name, resource, &maps, &mut not_seen)?;
            workers.extend(found);
            doubt
        } else {
            let owners = list_at(resource, &["metadata", "ownerReferences"]);
            let is_owned =
                owners.iter().any(|it| text_at(it, &["name"]).is_some_and(|it| known.contains(it)));
            let kind = text_at(resource, &["kind"]).unwrap_or_default();
            let has_worker = kind != "ConfigMap" && !is_owned && has_worker(resource);
            has_worker.then(|| {
                format!(
                    "{name}: workers of the kind {} are not checked, only those of {}",
                    cut_to(kind, LONGEST_NAME),
                    WORKLOADS.join(", ")
                )
            })
        };
        if let Some(doubt) = doubt {
            not_seen.push(doubt);
            absent.push(Absent { id: name.clone(), parameters: Vec::new(), values: None, is_doubtful: true });
        }
    }
    let names: HashSet<&str> = workers.iter().filter_map(|worker| worker.id.split('.').next()).collect();
    let scaled = resources.iter().filter(|(_, resource)| is(resource, "ScaledObject"));
    let scalers = scaled.flat_map(|(name, resource)| scalers(name, resource, &names)).collect();
    Ok(Subject {
        name: source.path.display().to_string(),
        workers,
        scalers,
        hides_alarms: true,
        absent,
        not_seen,
        ..Subject::default()
    })
}

/// Whether a container in it, wherever that is, has a queue to poll.
fn has_worker(node: &Node) -> bool {
    let is_queue = |variable: &Node| text_at(variable, &["name"]) == Some(QUEUE_URL);
    list_at(node, &["env"]).iter().any(is_queue)
        || node.entries().iter().any(|(_, value)| has_worker(value))
        || node.as_list().unwrap_or_default().iter().any(has_worker)
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

/// Its workers, and why it may have more.
fn workers_of(
    name: &str,
    workload: &Node,
    maps: &Maps,
    not_seen: &mut Vec<String>,
) -> Result<(Vec<Worker>, Option<String>), TemplateError> {
    let Some(pod) = at(workload, &["spec", "template", "spec"]) else { return Ok((Vec::new(), None)) };
    let grace_period = match at(pod, &["terminationGracePeriodSeconds"]).map(|it| &it.value) {
        None | Some(Value::Null) => Some(Platform::GRACE_PERIOD),
        Some(Value::Text(seconds)) => scalar::number(seconds).map(Duration::from_secs),
        Some(_) => None,
    };
    let namespace = text_at(workload, &["metadata", "namespace"]);
    let (mut containers, mut doubt) = (Vec::new(), None);
    for node in list_at(pod, &["containers"]) {
        match container(node, maps, namespace)? {
            Read::Worker(worker) => containers.push(worker),
            Read::Doubtful => {
                let why = "a ConfigMap or Secret that is not in this file may set REDRIVE_QUEUE_URL";
                doubt = Some(format!("whether {name} is a worker: {why}"));
            }
            Read::Other => {}
        }
    }
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
    Ok((workers, doubt))
}

/// Those of a worker: by its name, or by the variable that has its queue.
/// <https://keda.sh/docs/latest/reference/scaledobject-spec/>
fn scalers(name: &str, scaled: &Node, workers: &HashSet<&str>) -> Vec<Scaler> {
    let target = text_at(scaled, &["spec", "scaleTargetRef", "name"]).unwrap_or_default();
    let is_worker = workers.contains(target);
    let of_queue = list_at(scaled, &["spec", "triggers"]).iter().filter(|trigger| {
        let variable = text_at(trigger, &["metadata", "queueURLFromEnv"]);
        text_at(trigger, &["type"]) == Some("aws-sqs-queue") && (is_worker || variable == Some(QUEUE_URL))
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
