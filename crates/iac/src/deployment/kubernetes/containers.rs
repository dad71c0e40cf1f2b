//! The containers of a pod: their environment and their probes.

use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};

use redrive_sqs::cut_to;

use super::super::arn::is_of_a_queue;
use super::super::worker::{QUEUE_URL, is_variable};
use super::super::{Probe, Process};
use super::{LONGEST_NAME, at, is, list_at, text_at, words};
use crate::{Node, TemplateError, scalar};

const PROBES: [&str; 3] = ["startupProbe", "livenessProbe", "readinessProbe"];

/// Bytes that containers may copy from the ConfigMaps of a file: each of them could copy all.
const MOST_COPIED: usize = 32 * 1_024 * 1_024;
/// Bytes of a variable without its text.
const VARIABLE: usize = 64;

/// A ConfigMap with its namespace, if it names one.
type Map = (Option<String>, BTreeMap<String, String>);

/// The ConfigMaps of the same file.
pub(super) struct Maps {
    by_name: HashMap<String, Vec<Map>>,
    copied: Cell<usize>,
}

/// A container that polls a queue.
pub(super) struct Container {
    pub(super) name: String,
    pub(super) process: Process,
    pub(super) probes: Vec<Probe>,
    /// Variables with unknown values.
    pub(super) unknown: Vec<String>,
    pub(super) line: usize,
}

impl Maps {
    pub(super) fn of(resources: &[(String, Node)]) -> Self {
        let maps = resources.iter().filter(|(_, resource)| is(resource, "ConfigMap"));
        let data = |resource: &Node| {
            let entries = resource.entries_at("data");
            entries
                .iter()
                .filter_map(|(key, value)| Some((key.clone(), value.as_text()?.to_owned())))
                .collect()
        };
        let mut by_name: HashMap<_, Vec<_>> = HashMap::new();
        for (name, resource) in maps {
            let namespace = text_at(resource, &["metadata", "namespace"]).map(str::to_owned);
            by_name.entry(name.clone()).or_default().push((namespace, data(resource)));
        }
        Self { by_name, copied: Cell::new(0) }
    }

    /// Returns the ConfigMap that a pod of a namespace gets. `kubectl` puts one without a namespace into the namespace of its flag.
    /// The last of several wins.
    fn named(&self, name: &str, namespace: Option<&str>) -> Option<&BTreeMap<String, String>> {
        let maps = self.by_name.get(name)?;
        let same = |it: &&Map| it.0.as_deref() == namespace;
        let perhaps = |it: &&Map| it.0.is_none() || namespace.is_none();
        let found = maps.iter().rev().find(same).or_else(|| {
            let mut perhaps = maps.iter().filter(perhaps);
            perhaps.next().filter(|_| perhaps.next().is_none())
        });
        found.map(|(_, data)| data)
    }

    /// Copies a variable, within bounds.
    fn copy(&self, of: &Node, prefix: &str, (key, value): (&str, &str)) -> Result<Variable, TemplateError> {
        let size = VARIABLE + prefix.len() + key.len() + value.len();
        self.copied.set(self.copied.get() + size);
        match self.copied.get() > MOST_COPIED {
            true => Err(of.error("too large once its ConfigMaps are in its containers")),
            false => Ok((format!("{prefix}{key}"), Some(value.to_owned()))),
        }
    }
}

/// A name and a value, which is `None` if it is unknown.
type Variable = (String, Option<String>);

/// The kinds of containers.
pub(super) enum ContainerKind {
    Worker(Container),
    /// It has a setting of redrive, and its queue may be named outside this file.
    Doubtful,
    /// It has a queue, but not in redrive's variable.
    OfQueue,
    Other,
}

/// Reads a container of a pod in a namespace.
///
/// # Errors
/// The file is too large with its ConfigMaps in its containers.
pub(super) fn container(
    node: &Node,
    maps: &Maps,
    namespace: Option<&str>,
) -> Result<ContainerKind, TemplateError> {
    let (mut environment, mut has_more_variables) = (BTreeMap::new(), false);
    for from in list_at(node, &["envFrom"]) {
        let prefix = text_at(from, &["prefix"]).unwrap_or_default();
        let Some(map) = text_at(from, &["configMapRef", "name"]).and_then(|name| maps.named(name, namespace))
        else {
            has_more_variables = true;
            continue;
        };
        for (key, value) in map {
            environment.extend([maps.copy(from, prefix, (key, value))?]);
        }
    }
    // The container's own variable replaces one with the same name from elsewhere.
    for variable in list_at(node, &["env"]) {
        let name = text_at(variable, &["name"]).unwrap_or_default();
        environment.insert(name.to_owned(), value(variable, maps, namespace)?);
    }
    if !environment.contains_key(QUEUE_URL) {
        let is_redrive_variable = |name: &String| name.starts_with("REDRIVE_");
        let is_doubtful = has_more_variables && environment.keys().any(is_redrive_variable);
        let is_variable_of_queue = |(name, value): (&String, &Option<String>)| {
            value.as_deref().map_or(is_variable(name), is_of_a_queue)
        };
        let has_queue = environment.iter().any(is_variable_of_queue) || words(node).any(is_of_a_queue);
        return Ok(match (is_doubtful, has_queue) {
            (true, _) => ContainerKind::Doubtful,
            (false, true) => ContainerKind::OfQueue,
            (false, false) => ContainerKind::Other,
        });
    }
    let is_unknown =
        |(name, value): &(&String, &Option<String>)| name.starts_with("REDRIVE_") && value.is_none();
    let mut unknown: Vec<_> = environment.iter().filter(is_unknown).map(|(name, _)| name.clone()).collect();
    if has_more_variables {
        unknown.push("envFrom".to_owned());
    }
    Ok(ContainerKind::Worker(Container {
        name: cut_to(text_at(node, &["name"]).unwrap_or_default(), LONGEST_NAME).into_owned(),
        process: Process { environment: Some(environment), has_more_variables, statements: None },
        probes: PROBES.into_iter().filter_map(|kind| probe(node, kind)).collect(),
        unknown,
        line: node.line,
    }))
}

/// <https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/#environment-variables>
fn value(variable: &Node, maps: &Maps, namespace: Option<&str>) -> Result<Option<String>, TemplateError> {
    if let Some(from) = variable.get("valueFrom") {
        let key = |part: &str| text_at(from, &["configMapKeyRef", part]);
        let own = || maps.named(key("name")?, namespace)?.get_key_value(key("key")?);
        return own().map_or(Ok(None), |(key, value)| Ok(maps.copy(from, "", (key, value))?.1));
    }
    let value = text_at(variable, &["value"]).unwrap_or_default();
    // `$(` refers to another variable.
    Ok((!value.contains("$(")).then(|| value.to_owned()))
}

/// Returns a probe, or `None` if it does not use HTTP.
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
