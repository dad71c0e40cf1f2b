//! The containers of a pod: what they are told, and what asks for their health.

use std::collections::BTreeMap;

use super::super::worker::QUEUE_URL;
use super::super::{Probe, Process};
use super::{at, is, list_at, text_at};
use crate::template::{Node, scalar};

const PROBES: [&str; 3] = ["startupProbe", "livenessProbe", "readinessProbe"];

/// The ConfigMaps of the same file, by their names.
pub(super) struct Maps(BTreeMap<String, BTreeMap<String, String>>);

/// A container that polls a queue.
pub(super) struct Container {
    pub(super) name: String,
    pub(super) process: Process,
    pub(super) probes: Vec<Probe>,
    /// What is set, but not to what.
    pub(super) unknown: Vec<String>,
    pub(super) line: usize,
}

impl Maps {
    pub(super) fn of(resources: &[(String, Node)]) -> Self {
        let maps = resources.iter().filter(|(_, resource)| is(resource, "ConfigMap"));
        let data = |resource: &Node| {
            let entries = resource.get("data").map(Node::entries).unwrap_or_default();
            entries
                .iter()
                .filter_map(|(key, value)| Some((key.clone(), value.as_text()?.to_owned())))
                .collect()
        };
        Self(maps.map(|(name, resource)| (name.clone(), data(resource))).collect())
    }
}

/// None for a container that polls no queue.
pub(super) fn container(node: &Node, maps: &Maps) -> Option<Container> {
    let (mut environment, mut has_more_variables) = (BTreeMap::new(), false);
    for from in list_at(node, &["envFrom"]) {
        let prefix = text_at(from, &["prefix"]).unwrap_or_default();
        match text_at(from, &["configMapRef", "name"]).and_then(|name| maps.0.get(name)) {
            Some(map) => environment
                .extend(map.iter().map(|(key, value)| (format!("{prefix}{key}"), Some(value.clone())))),
            None => has_more_variables = true,
        }
    }
    // A variable of its own takes the place of one with this name from elsewhere.
    for variable in list_at(node, &["env"]) {
        let name = text_at(variable, &["name"]).unwrap_or_default();
        environment.insert(name.to_owned(), value(variable, maps));
    }
    if !environment.contains_key(QUEUE_URL) {
        return None;
    }
    let is_unknown =
        |(name, value): &(&String, &Option<String>)| name.starts_with("REDRIVE_") && value.is_none();
    let mut unknown: Vec<_> = environment.iter().filter(is_unknown).map(|(name, _)| name.clone()).collect();
    if has_more_variables {
        unknown.push("envFrom".to_owned());
    }
    Some(Container {
        name: text_at(node, &["name"]).unwrap_or_default().to_owned(),
        process: Process { environment: Some(environment), has_more_variables, statements: None },
        probes: PROBES.into_iter().filter_map(|kind| probe(node, kind)).collect(),
        unknown,
        line: node.line,
    })
}

/// <https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/#environment-variables>
fn value(variable: &Node, maps: &Maps) -> Option<String> {
    if let Some(from) = variable.get("valueFrom") {
        let key = |part: &str| text_at(from, &["configMapKeyRef", part]);
        return maps.0.get(key("name")?)?.get(key("key")?).cloned();
    }
    let value = text_at(variable, &["value"]).unwrap_or_default();
    // It stands for another variable.
    (!value.contains("$(")).then(|| value.to_owned())
}

/// None for one that does not ask over HTTP.
fn probe(container: &Node, kind: &'static str) -> Option<Probe> {
    let get = at(container, &[kind, "httpGet"])?;
    let port = text_at(get, &["port"]).unwrap_or_default();
    let is_named = |it: &&Node| text_at(it, &["name"]) == Some(port);
    let named = || text_at(list_at(container, &["ports"]).iter().find(is_named)?, &["containerPort"]);
    let path = text_at(get, &["path"]).unwrap_or("/");
    Some(Probe {
        kind,
        path: path.to_owned(),
        port: scalar::number(port).or_else(|| scalar::number(named()?)),
    })
}
