//! CloudFormation's functions worked out: what a template says once its parameters are known. Pure.

mod conditions;
mod functions;
mod names;
mod outputs;

use std::cell::Cell;
use std::collections::BTreeMap;

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
    /// What resources are called that exist already, by their logical ids.
    pub(crate) names: BTreeMap<String, String>,
}

/// A template with values for its parameters.
#[derive(Debug)]
pub(crate) struct Resolver<'a> {
    template: &'a Node,
    parameters: Parameters,
    surroundings: &'a Surroundings,
    gaps: Gaps,
    depth: Cell<usize>,
    steps: Cell<usize>,
}

/// What becomes of a part that cannot be worked out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gaps {
    /// It is an error, as to run a template with holes would be.
    Refused,
    /// It stays as [`Value::Unknown`].
    Kept,
}

/// A resource that exists, with its properties worked out.
#[derive(Debug)]
pub(crate) struct Resource {
    pub(crate) id: String,
    pub(crate) kind: String,
    /// Where what follows its logical id begins.
    pub(crate) line: usize,
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

/// A large template takes some ten thousand; one whose names double each other has no end.
const MOST_STEPS: usize = 1_000_000;

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
        Self::with(template, given, surroundings, Gaps::Refused)
    }

    /// The same for whoever only looks: what cannot be worked out stays unknown.
    ///
    /// # Errors
    /// A given parameter that the template does not declare or allow; a rule that does not hold.
    pub(crate) fn lenient(
        template: &'a Node,
        given: &[(String, String)],
        surroundings: &'a Surroundings,
    ) -> Result<Self> {
        Self::with(template, given, surroundings, Gaps::Kept)
    }

    fn with(
        template: &'a Node,
        given: &[(String, String)],
        surroundings: &'a Surroundings,
        gaps: Gaps,
    ) -> Result<Self> {
        let parameters = parameters::check(template, given, gaps)?;
        let (depth, steps) = (Cell::new(0), Cell::new(0));
        let resolver = Self { template, parameters, surroundings, gaps, depth, steps };
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
            if kinds.contains(&kind) && self.exists(resource)? {
                resources.push(self.resource_with(id, kind, resource)?);
            }
        }
        Ok(resources)
    }

    /// The resources of some kinds that exist, and why it is not known of others whether they do.
    pub(crate) fn resources_known(&self, kinds: &[&str]) -> (Vec<Resource>, Vec<TemplateError>) {
        let (mut resources, mut errors) = (Vec::new(), Vec::new());
        for (id, resource) in self.template.get("Resources").map(Node::entries).unwrap_or_default() {
            let kind = resource.get("Type").and_then(Node::as_text).unwrap_or_default();
            if !kinds.contains(&kind) {
                continue;
            }
            match self.exists(resource) {
                Ok(false) => {}
                Ok(true) => match self.resource_with(id, kind, resource) {
                    Ok(resource) => resources.push(resource),
                    Err(error) => errors.push(resource.error(format!("{id}: {}", error.message))),
                },
                Err(error) => errors.push(resource.error(format!("{id}: {}", error.message))),
            }
        }
        (resources, errors)
    }

    fn resource_with(&self, id: &str, kind: &str, resource: &Node) -> Result<Resource> {
        let part = |name: &str| match resource.get(name) {
            Some(part) => self.value(part),
            None => Ok(None),
        };
        let empty = Node { line: resource.line, value: Value::Map(Vec::new()) };
        Ok(Resource {
            id: id.to_owned(),
            kind: kind.to_owned(),
            line: resource.line,
            name: self.physical_name(id, resource)?,
            properties: part("Properties")?.unwrap_or(empty),
            metadata: part("Metadata")?,
            ignored_globals: resource.get("IgnoreGlobals").cloned(),
        })
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
        self.step(node)?;
        self.depth.set(self.depth.get() + 1);
        let value = self.value_one_deeper(node);
        self.depth.set(self.depth.get() - 1);
        match value {
            Err(error) if self.gaps == Gaps::Kept => {
                Ok(Some(Node { line: node.line, value: Value::Unknown(error.message) }))
            }
            value => value,
        }
    }

    /// Ends what has no end.
    fn step(&self, node: &Node) -> Result<()> {
        self.steps.set(self.steps.get() + 1);
        if self.depth.get() >= MAXIMUM_DEPTH {
            return Err(node.error("nested too deep, or it refers to itself"));
        }
        if self.steps.get() > MOST_STEPS {
            return Err(node.error("too much to work out"));
        }
        Ok(())
    }

    fn value_one_deeper(&self, node: &Node) -> Result<Option<Node>> {
        let value = match &node.value {
            // <https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/dynamic-references.html>
            Value::Text(text) if self.gaps == Gaps::Kept && text.contains("{{resolve:") => {
                Value::Unknown(format!("{text} is read at deployment"))
            }
            value @ (Value::Null | Value::Text(_) | Value::Unknown(_)) => value.clone(),
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
        text.ok_or_else(|| node.error(why(value.as_ref(), "expected a text")))
    }

    fn texts(&self, node: &Node) -> Result<Vec<String>> {
        let value = self.value(node)?;
        let items = value.as_ref().and_then(Node::as_list);
        let items = items.ok_or_else(|| node.error(why(value.as_ref(), "expected a list")))?;
        let text = |item: &Node| {
            item.as_text().map(str::to_owned).ok_or_else(|| item.error(why(Some(item), "expected a text")))
        };
        items.iter().map(text).collect()
    }
}

/// The reason for a gap goes before what is wrong with the whole.
fn why<'n>(value: Option<&'n Node>, otherwise: &'n str) -> &'n str {
    value.and_then(Node::unknown).unwrap_or(otherwise)
}
