//! CloudFormation's functions worked out: what a template says once its parameters are known. Pure.

mod conditions;
mod functions;
mod names;
mod outputs;

use std::cell::Cell;

use super::document::{Node, TemplateError, Value};
use super::parameters::{self, Parameters};

/// What CloudFormation would know besides the template.
#[derive(Debug)]
pub(crate) struct Surroundings {
    pub(crate) region: String,
    pub(crate) account: String,
    pub(crate) stack: String,
    /// What queue URLs begin with, such as `http://127.0.0.1:9324`.
    pub(crate) endpoint: String,
}

/// A template with values for its parameters.
#[derive(Debug)]
pub(crate) struct Resolver<'a> {
    template: &'a Node,
    parameters: Parameters,
    surroundings: &'a Surroundings,
    depth: Cell<usize>,
}

/// A resource that exists, with its properties worked out.
#[derive(Debug)]
pub(crate) struct Resource {
    pub(crate) id: String,
    pub(crate) kind: String,
    /// What AWS would call it.
    pub(crate) name: String,
    pub(crate) properties: Node,
    pub(crate) metadata: Option<Node>,
    /// `IgnoreGlobals`.
    pub(crate) ignored_globals: Option<Node>,
}

type Result<T> = std::result::Result<T, TemplateError>;

/// No sensible template nests this deep; one that does refers to itself.
const MAXIMUM_DEPTH: usize = 100;

impl<'a> Resolver<'a> {
    /// Takes parameters given as names and values, and the defaults for the rest.
    ///
    /// # Errors
    /// A parameter that the template does not declare, lacks a value, or has one that is not allowed; a rule that does
    /// not hold.
    pub(crate) fn new(
        template: &'a Node,
        given: &[(String, String)],
        surroundings: &'a Surroundings,
    ) -> Result<Self> {
        let parameters = parameters::check(template, given)?;
        let resolver = Self { template, parameters, surroundings, depth: Cell::new(0) };
        resolver.check_rules()?;
        Ok(resolver)
    }

    /// The resources of some kinds, in the template's order, without those whose condition is false.
    pub(crate) fn resources(&self, kinds: &[&str]) -> Result<Vec<Resource>> {
        let mut resources = Vec::new();
        let Some(section) = self.template.get("Resources") else {
            return Err(self.template.error("no Resources: this is not a CloudFormation template"));
        };
        for (id, resource) in section.entries() {
            let kind = resource.get("Type").and_then(Node::as_text).unwrap_or_default();
            if !kinds.contains(&kind) || !self.exists(resource)? {
                continue;
            }
            let properties = match resource.get("Properties") {
                Some(properties) => self.value(properties)?,
                None => None,
            };
            let empty = Node { line: resource.line, value: Value::Map(Vec::new()) };
            let metadata =
                resource.get("Metadata").map(|metadata| self.value(metadata)).transpose()?.flatten();
            let properties = properties.unwrap_or(empty);
            resources.push(Resource {
                id: id.clone(),
                kind: kind.to_owned(),
                name: self.physical_name(id, resource)?,
                properties,
                metadata,
                ignored_globals: resource.get("IgnoreGlobals").cloned(),
            });
        }
        Ok(resources)
    }

    /// The logical id and the kind of every resource that exists.
    pub(crate) fn kinds(&self) -> Result<Vec<(&'a str, &'a str)>> {
        let mut kinds = Vec::new();
        for (id, resource) in self.template.get("Resources").map(Node::entries).unwrap_or_default() {
            if self.exists(resource)? {
                kinds.push((id.as_str(), resource.get("Type").and_then(Node::as_text).unwrap_or_default()));
            }
        }
        Ok(kinds)
    }

    /// `Globals` for one kind of SAM resource, such as `Function`.
    pub(crate) fn globals(&self, kind: &str) -> Result<Option<Node>> {
        match self.template.get("Globals").and_then(|globals| globals.get(kind)) {
            Some(globals) => self.value(globals),
            None => Ok(None),
        }
    }

    /// A part of the template worked out; `None` where it says `AWS::NoValue`.
    pub(crate) fn value(&self, node: &Node) -> Result<Option<Node>> {
        if self.depth.get() >= MAXIMUM_DEPTH {
            return Err(node.error("nested too deep, or it refers to itself"));
        }
        self.depth.set(self.depth.get() + 1);
        let value = self.value_one_deeper(node);
        self.depth.set(self.depth.get() - 1);
        value
    }

    fn value_one_deeper(&self, node: &Node) -> Result<Option<Node>> {
        let value = match &node.value {
            Value::Null => Value::Null,
            Value::Text(text) => Value::Text(text.clone()),
            Value::List(items) => Value::List(
                items.iter().filter_map(|item| self.value(item).transpose()).collect::<Result<_>>()?,
            ),
            Value::Map(entries) => match entries.as_slice() {
                [(name, argument)] if name == "Ref" || name.starts_with("Fn::") => {
                    return self.call(name, argument);
                }
                entries => {
                    let mut map = Vec::with_capacity(entries.len());
                    for (key, entry) in entries {
                        if let Some(value) = self.value(entry)? {
                            map.push((key.clone(), value));
                        }
                    }
                    Value::Map(map)
                }
            },
        };
        Ok(Some(Node { line: node.line, value }))
    }

    fn text(&self, node: &Node) -> Result<String> {
        let value = self.value(node)?;
        let text = value.as_ref().and_then(Node::as_text).map(str::to_owned);
        text.ok_or_else(|| node.error("expected a text"))
    }

    fn texts(&self, node: &Node) -> Result<Vec<String>> {
        let value = self.value(node)?;
        let items = value.as_ref().and_then(Node::as_list).ok_or_else(|| node.error("expected a list"))?;
        items
            .iter()
            .map(|item| item.as_text().map(str::to_owned).ok_or_else(|| item.error("expected a text")))
            .collect()
    }
}
