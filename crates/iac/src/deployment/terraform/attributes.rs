//! Attributes of a resource as values of a template: known, absent, or known only after apply.

use serde_json::Value as Json;

use super::names::Names;
use super::plan::Instance;
use super::references::{Ends, References};
use crate::{Node, TemplateError, Value};

/// Nodes of a plan have no line numbers, because Terraform prints it on one line.
const LINE: usize = 1;

const AFTER_APPLY: &str = "known only after apply";

/// Finds the expressions that refer to something, in blocks too.
fn expressions_in<'p>(written: &'p Json, found: &mut Vec<&'p Json>) {
    if written.get("references").is_some_and(Json::is_array) {
        found.push(written);
        return;
    }
    written.as_object().into_iter().flatten().for_each(|(_, value)| expressions_in(value, found));
    written.as_array().into_iter().flatten().for_each(|value| expressions_in(value, found));
}

/// Returns true if a part of a value is known only after apply.
fn has_true(unknown: &Json) -> bool {
    unknown == &Json::Bool(true)
        || unknown.as_object().into_iter().flatten().any(|(_, it)| has_true(it))
        || unknown.as_array().into_iter().flatten().any(has_true)
}

/// A resource's attributes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Attributes<'p> {
    pub(super) instance: &'p Instance,
    pub(super) references: &'p References<'p>,
    pub(super) names: &'p Names,
    /// Expressions as they are written. None in a state.
    written: Option<&'p Json>,
}

/// An attribute, or a part of one.
#[derive(Debug, Clone, Copy)]
struct Part<'p> {
    value: &'p Json,
    unknown: &'p Json,
    written: Option<&'p Json>,
}

impl<'p> Attributes<'p> {
    pub(super) fn of(instance: &'p Instance, references: &'p References<'p>, names: &'p Names) -> Self {
        let written = references.plan.module(&instance.module).and_then(|it| it.resource(&instance.name));
        let written = written.map(|written| &written.expressions);
        Self { instance, references, names, written }
    }

    /// Returns an attribute, or one of its only block: `scaling_config.maximum_concurrency`. Returns `None` if it is not set.
    pub(super) fn get(&self, path: &str) -> Option<Node> {
        let (mut part, mut name) = (self.all(), "");
        for step in path.split('.') {
            part = part.only_block().get(step);
            name = step;
            // An attribute that is not written has its default.
            if part.is_unknown() && part.written.is_none() && self.written.is_some() {
                return None;
            }
        }
        self.node(part, name)
    }

    /// Reads each block of a kind.
    pub(super) fn blocks(
        &self,
        name: &str,
        read: impl Fn(&dyn Fn(&str) -> Option<Node>) -> Node,
    ) -> Vec<Node> {
        let blocks = self.all().get(name);
        let count = blocks.value.as_array().map_or(0, Vec::len);
        let block = |at| read(&|name: &str| self.node(blocks.at(at).get(name), name));
        (0..count).map(block).collect()
    }

    /// Returns the ARNs of all queues that it refers to, and true if values that are known only after apply may name more.
    pub(super) fn queues(&self) -> (Vec<String>, bool) {
        let (mut queues, mut may_be_more) = (Vec::new(), false);
        // A pipe sends to its other queues.
        let counts = |name: &str| self.instance.kind != "aws_pipes_pipe" || name == "source";
        let written = self.written.and_then(Json::as_object).into_iter().flatten();
        for (name, written) in written.filter(|(name, _)| counts(name)) {
            let mut expressions = Vec::new();
            expressions_in(written, &mut expressions);
            for ends in expressions.into_iter().map(|it| self.references.of(it, self.instance)) {
                may_be_more |= ends.is_partial && has_true(&self.instance.unknown[name.as_str()]);
                let targets = ends.targets.iter().filter(|target| target.instance.kind == "aws_sqs_queue");
                queues.extend(targets.map(|target| self.names.arn(target.instance)));
            }
        }
        (queues, may_be_more)
    }

    /// Returns what an attribute refers to, if it is known only after apply.
    pub(super) fn ends(&self, name: &str) -> Option<Ends<'p>> {
        let part = self.all().get(name);
        let written = part.written.filter(|_| part.is_unknown())?;
        Some(self.references.of(written, self.instance))
    }

    /// Returns what an attribute of a block refers to, by the block's place.
    pub(super) fn ends_in_block(&self, blocks: &str, at: usize, name: &str) -> Option<Ends<'p>> {
        let written = self.all().get(blocks).at(at).get(name).written?;
        Some(self.references.of(written, self.instance))
    }

    fn all(&self) -> Part<'p> {
        Part { value: &self.instance.values, unknown: &self.instance.unknown, written: self.written }
    }

    fn node(&self, part: Part<'p>, name: &str) -> Option<Node> {
        if part.is_unknown() {
            let text = part.written.and_then(|written| self.only_text(written, name));
            return Some(text.unwrap_or_else(unknown));
        }
        let value = match part.value {
            Json::Null => {
                let unknown = part.unknown.as_object().filter(|entries| !entries.is_empty())?;
                Value::Map(unknown.keys().filter_map(|key| self.entry(part, key)).collect())
            }
            Json::String(text) if text.is_empty() => return None,
            Json::Object(entries) => {
                let only_unknown = part.unknown.as_object().into_iter().flatten().map(|(key, _)| key);
                let more = only_unknown.filter(|key| !entries.contains_key(*key));
                Value::Map(entries.keys().chain(more).filter_map(|key| self.entry(part, key)).collect())
            }
            Json::Array(items) => {
                let length = items.len().max(part.unknown.as_array().map_or(0, Vec::len));
                Value::List((0..length).filter_map(|at| self.node(part.at(at), name)).collect())
            }
            known => return Some(of_json(known)),
        };
        Some(Node { line: LINE, value })
    }

    fn entry(&self, part: Part<'p>, key: &str) -> Option<(String, Node)> {
        Some((key.to_owned(), self.node(part.get(key), key)?))
    }

    /// Returns the value of an expression, if it refers to one thing only.
    fn only_text(&self, written: &'p Json, name: &str) -> Option<Node> {
        let ends = self.references.of(written, self.instance);
        let [target] = ends.targets.as_slice() else { return None };
        let text = self.names.text(target, name).filter(|_| !ends.is_partial)?;
        Some(Node::text(LINE, text))
    }
}

const NULL: &Json = &Json::Null;

impl<'p> Part<'p> {
    fn is_unknown(self) -> bool {
        self.unknown == &Json::Bool(true)
    }

    /// Returns a part of this one. Parts of an unknown part are unknown too, and stand in the same expression.
    fn get(self, name: &str) -> Self {
        let below = |json: &'p Json| json.get(name).unwrap_or(NULL);
        Self {
            value: below(self.value),
            unknown: if self.is_unknown() { self.unknown } else { below(self.unknown) },
            written: self.written.and_then(|it| if is_expression(it) { Some(it) } else { it.get(name) }),
        }
    }

    fn at(self, at: usize) -> Self {
        let below = |json: &'p Json| json.get(at).unwrap_or(NULL);
        Self {
            value: below(self.value),
            unknown: if self.is_unknown() { self.unknown } else { below(self.unknown) },
            written: self.written.and_then(|it| if is_expression(it) { Some(it) } else { it.get(at) }),
        }
    }

    fn only_block(self) -> Self {
        if self.value.is_array() || self.unknown.is_array() { self.at(0) } else { self }
    }
}

fn is_expression(written: &Json) -> bool {
    written.get("references").is_some_and(Json::is_array) || written.get("constant_value").is_some()
}

pub(super) fn unknown() -> Node {
    Node { line: LINE, value: Value::Unknown(TemplateError { line: LINE, message: AFTER_APPLY.to_owned() }) }
}

pub(super) fn text(text: impl Into<String>) -> Node {
    Node::text(LINE, text)
}

pub(super) fn list(items: Vec<Node>) -> Node {
    Node { line: LINE, value: Value::List(items) }
}

pub(super) fn map<'a>(entries: impl IntoIterator<Item = (&'a str, Node)>) -> Node {
    let entries = entries.into_iter().map(|(name, node)| (name.to_owned(), node));
    Node { line: LINE, value: Value::Map(entries.collect()) }
}

pub(super) fn of_json(json: &Json) -> Node {
    Node::of_json(LINE, json)
}

/// Parses a value that is the JSON of a document.
pub(super) fn document(node: Node) -> Node {
    node.parse_json().unwrap_or(node)
}
