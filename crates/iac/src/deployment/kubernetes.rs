//! Reads Kubernetes manifests: workers, and their scalers. Queues, roles and alarms are defined elsewhere. Pure.

mod containers;

use std::collections::HashSet;
use std::time::Duration;

use redrive_sqs::cut_to;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::MayHold::{Consumer, Other};
use super::template::Source;
use super::worker::QUEUE_URL;
use super::{Deployment, NotRead, Platform, Scaler, Worker};
use crate::{Absent, Node, TemplateError, Value, parse_stream, scalar};
use containers::{ContainerKind, Maps, container};

/// Kinds that run pods that poll. All have their pods in the same place.
const WORKLOADS: [&str; 4] = ["Deployment", "StatefulSet", "DaemonSet", "Rollout"];
/// KEDA's own default.
const COUNTS_IN_FLIGHT: bool = true;
/// Most resources. The manifests of a large cluster have fewer. Each may have several findings.
const MOST_RESOURCES: usize = 5_000;
/// Longest name.
/// <https://kubernetes.io/docs/concepts/overview/working-with-objects/names/>
const LONGEST_NAME: usize = 253;

/// Returns true if a text contains manifests, as YAML or JSON.
pub fn is_kubernetes(text: &str) -> bool {
    if text.trim_start().starts_with('{') {
        return serde_json::from_str::<Signs>(text).is_ok();
    }
    let has = |key: &str| text.lines().any(|line| line.trim_start_matches(['"', '\'']).starts_with(key));
    let is_key = |key: &str| ["", "\"", "'"].iter().any(|quote| has(&format!("{key}{quote}:")));
    is_key("apiVersion") && is_key("kind")
}

/// Keys of every manifest in JSON.
#[derive(Deserialize)]
struct Signs {
    #[serde(rename = "apiVersion")]
    _api_version: IgnoredAny,
    #[serde(rename = "kind")]
    _kind: IgnoredAny,
}

/// Returns true for the template of a Helm chart, which is not a manifest until Helm has filled it in. Manifests may contain other
/// templates, such as those of Prometheus.
pub fn is_chart(text: &str) -> bool {
    let calls = text.split("{{").skip(1).filter_map(|rest| rest.split("}}").next());
    let mut calls = calls.map(|call| call.trim_start_matches(['-', ' ']));
    calls.any(|call| {
        [".Values", ".Release.", ".Chart."].iter().any(|it| call.contains(it)) || call.starts_with("include ")
    })
}

/// Reads the resources of a file with their names, including those in lists.
///
/// # Errors
/// A document is not YAML, or there are too many resources.
pub fn resources(text: &str) -> Result<Vec<(String, Node)>, TemplateError> {
    let mut found = Vec::new();
    for document in parse_stream(text)? {
        add_resources(document, &mut found)?;
    }
    Ok(found)
}

/// Adds a resource, or the items of a list: of any kind (`List`), or of one (`DeploymentList`), whose items need not name it.
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
/// A document is not YAML, or parameters are given, which manifests do not have.
pub fn read(source: &Source<'_>) -> Result<Deployment, TemplateError> {
    if let Some((name, _)) = source.parameters.first() {
        let message = format!("no parameter {name}: Kubernetes manifests have none");
        return Err(TemplateError { line: 1, message });
    }
    let resources = resources(source.text)?;
    let (maps, mut not_seen) = (Maps::of(&resources), Vec::new());
    let (mut workers, mut absent, mut jobs) = (Vec::new(), Vec::new(), HashSet::new());
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
            let namespace = text_at(resource, &["metadata", "namespace"]);
            let has_worker = kind != "ConfigMap" && !is_owned && has_worker(resource, &maps, namespace)?;
            jobs.extend(Some(name.as_str()).filter(|_| has_worker));
            let maker = text_at(resource, &["apiVersion"]).unwrap_or_default();
            if ["sqs.", "lambda.", "pipes."].iter().any(|it| maker.starts_with(it)) {
                let (kind, maker) = (cut_to(kind, LONGEST_NAME), cut_to(maker, LONGEST_NAME));
                not_seen.push(NotRead::new(Consumer, format!("{name}: {kind} of {maker} is not read")));
            }
            has_worker.then(|| {
                format!(
                    "{name}: workers of the kind {} are not checked, only those of {}",
                    cut_to(kind, LONGEST_NAME),
                    WORKLOADS.join(", ")
                )
            })
        };
        if let Some(doubt) = doubt {
            not_seen.push(NotRead::new(Consumer, doubt));
            absent.push(Absent { id: name.clone(), parameters: Vec::new(), values: None, is_doubtful: true });
        }
    }
    let names: HashSet<&str> = workers.iter().filter_map(|worker| worker.id.split('.').next()).collect();
    let urls: HashSet<&str> = workers.iter().filter_map(Worker::queue_url).collect();
    let scaled =
        resources.iter().filter(|(_, it)| ["ScaledObject", "ScaledJob"].iter().any(|kind| is(it, kind)));
    let scalers =
        scaled.flat_map(|(name, resource)| scalers(name, resource, (&names, &jobs), &urls)).collect();
    Ok(Deployment {
        name: source.path.display().to_string(),
        workers,
        scalers,
        hides_alarms: true,
        absent,
        not_seen,
        ..Deployment::default()
    })
}

/// Returns true if any container in it has a queue to poll.
fn has_worker(node: &Node, maps: &Maps, namespace: Option<&str>) -> Result<bool, TemplateError> {
    let is_container = ["env", "envFrom", "command", "args"].iter().any(|name| node.get(name).is_some());
    if is_container
        && (works_by_arguments(node) || !matches!(container(node, maps, namespace)?, ContainerKind::Other))
    {
        return Ok(true);
    }
    let parts = node.entries().iter().map(|(_, part)| part).chain(node.as_list().unwrap_or_default());
    for part in parts {
        if has_worker(part, maps, namespace)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the command line of a container.
fn words(container: &Node) -> impl Iterator<Item = &str> {
    ["command", "args"].into_iter().flat_map(|name| list_at(container, &[name])).filter_map(Node::as_text)
}

/// Returns true if a container runs `redrive work --queue NAME`.
fn works_by_arguments(container: &Node) -> bool {
    let words: Vec<&str> = words(container).collect();
    words.contains(&"work") && words.iter().any(|it| *it == "--queue" || it.starts_with("--queue="))
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

/// Returns a workload's workers, and why it may have more.
fn workers_of(
    name: &str,
    workload: &Node,
    maps: &Maps,
    not_seen: &mut Vec<NotRead>,
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
            ContainerKind::Worker(worker) => containers.push(worker),
            ContainerKind::Other | ContainerKind::OfQueue if works_by_arguments(node) => {
                doubt = Some(format!("{name}: a worker whose queue is in its arguments is not checked"));
            }
            ContainerKind::OfQueue => {
                doubt = Some(format!(
                    "{name} (names a queue): only containers with REDRIVE_QUEUE_URL are checked"
                ));
            }
            ContainerKind::Doubtful => {
                let why = "a ConfigMap or Secret that is not in this file may set REDRIVE_QUEUE_URL";
                doubt = Some(format!("whether {name} is a worker: {why}"));
            }
            ContainerKind::Other => {}
        }
    }
    let is_alone = containers.len() < 2;
    let mut workers = Vec::new();
    for found in containers {
        let id = if is_alone { name.to_owned() } else { format!("{name}.{}", found.name) };
        let unknown =
            found.unknown.iter().map(|what| format!("{what} of {id}: its value is not in this file"));
        not_seen.extend(unknown.map(|it| NotRead::new(Consumer, it)));
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
        let queue = format!("the queue of {}{}", worker.id, url.unwrap_or_default());
        let permissions = format!("the permissions of {}: its IAM role is not in this file", worker.id);
        not_seen.extend([NotRead::new(Consumer, queue), NotRead::new(Other, permissions)]);
        workers.push(worker);
    }
    Ok((workers, doubt))
}

/// Returns the scalers of workers, found by name, by their own pod, by queue, or by the variable that has the queue.
/// <https://keda.sh/docs/latest/reference/scaledobject-spec/>
fn scalers(
    name: &str,
    scaled: &Node,
    (workers, jobs): (&HashSet<&str>, &HashSet<&str>),
    urls: &HashSet<&str>,
) -> Vec<Scaler> {
    let target = text_at(scaled, &["spec", "scaleTargetRef", "name"]).unwrap_or_default();
    let is_worker = workers.contains(target) || jobs.contains(name);
    let of_queue = list_at(scaled, &["spec", "triggers"]).iter().filter(|trigger| {
        let variable = text_at(trigger, &["metadata", "queueURLFromEnv"]);
        let is_its = || text_at(trigger, &["metadata", "queueURL"]).is_some_and(|url| urls.contains(url));
        let is_of_worker = is_worker || variable == Some(QUEUE_URL) || is_its();
        text_at(trigger, &["type"]) == Some("aws-sqs-queue") && is_of_worker
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
