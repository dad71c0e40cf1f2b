//! YAML or JSON to nodes, within bounds: a template may be somebody else's. Pure.

use std::collections::{HashMap, HashSet};

use redrive_sqs::Quoted;
use saphyr_parser::{Event, Parser, ScalarStyle, Tag};

use super::document::{DEEPEST, Node, TemplateError, Value};

/// What a template may take of memory once its aliases are replaced, in bytes, roughly. The largest that CloudFormation
/// accepts has 1 MB of text.
const MOST: usize = 32 * 1_024 * 1_024;

/// A node without its text.
const NODE: usize = 64;

type Result<T> = std::result::Result<T, TemplateError>;

/// Reads the one document that a template is.
///
/// # Errors
/// It is no YAML, has a key that is no text or stands twice, is nested deeper than 100 levels, or has aliases that make
/// more of it than any template holds.
pub fn parse(source: &str) -> Result<Node> {
    let mut builder = Builder::default();
    for event in Parser::new_from_str(source) {
        let (event, span) =
            event.map_err(|error| error_at(error.marker().line(), error.info().to_owned()))?;
        builder.take(event, span.start.line())?;
    }
    let mut documents = builder.documents.into_iter();
    match (documents.next(), documents.next()) {
        (Some(document), None) => Ok(document),
        _ => Err(error_at(1, "expected one YAML document".to_owned())),
    }
}

fn error_at(line: usize, message: String) -> TemplateError {
    TemplateError { line, message }
}

#[derive(Default)]
struct Builder {
    open: Vec<Open>,
    anchors: HashMap<usize, Part>,
    documents: Vec<Node>,
    spent: usize,
}

/// A list or map whose end has not come.
struct Open {
    part: Part,
    keys: HashSet<String>,
    /// The key whose value comes next.
    key: Option<String>,
    anchor: usize,
    tag: Option<Tag>,
}

/// A node with what it takes: bytes, and the levels below it.
#[derive(Clone)]
struct Part {
    node: Node,
    size: usize,
    depth: usize,
}

impl Builder {
    fn take(&mut self, event: Event<'_>, line: usize) -> Result<()> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let plain = style == ScalarStyle::Plain && tag.is_none();
                let value = match text.as_ref() {
                    "" | "~" | "null" | "Null" | "NULL" if plain => Value::Null,
                    text => Value::Text(text.to_owned()),
                };
                let part = Part { node: Node { line, value }, size: NODE + text.len(), depth: 0 };
                self.spend(&part)?;
                self.end(part, anchor, tag.as_deref())
            }
            Event::SequenceStart(anchor, tag) => {
                self.begin(line, Value::List(Vec::new()), anchor, tag.as_deref())
            }
            Event::MappingStart(anchor, tag) => {
                self.begin(line, Value::Map(Vec::new()), anchor, tag.as_deref())
            }
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                Some(Open { part, anchor, tag, .. }) => self.end(part, anchor, tag.as_ref()),
                None => Ok(()),
            },
            Event::Alias(anchor) => {
                let part = self.anchors.get(&anchor).cloned();
                let mut part =
                    part.ok_or_else(|| error_at(line, "an alias of what it is a part of".to_owned()))?;
                part.node.line = line;
                self.spend(&part)?;
                self.add(part)
            }
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd => Ok(()),
        }
    }

    fn begin(&mut self, line: usize, value: Value, anchor: usize, tag: Option<&Tag>) -> Result<()> {
        let part = Part { node: Node { line, value }, size: NODE, depth: 0 };
        self.spend(&part)?;
        self.open.push(Open { part, keys: HashSet::new(), key: None, anchor, tag: tag.cloned() });
        self.check_depth(line, 0)
    }

    fn end(&mut self, part: Part, anchor: usize, tag: Option<&Tag>) -> Result<()> {
        let part = match tag.and_then(long_form) {
            Some(name) => Part {
                node: Node { line: part.node.line, value: Value::Map(vec![(name, part.node)]) },
                size: part.size + NODE,
                depth: part.depth + 1,
            },
            None => part,
        };
        if anchor > 0 {
            self.spend(&part)?;
            self.anchors.insert(anchor, part.clone());
        }
        self.add(part)
    }

    fn add(&mut self, part: Part) -> Result<()> {
        self.check_depth(part.node.line, part.depth)?;
        let Some(open) = self.open.last_mut() else {
            self.documents.push(part.node);
            return Ok(());
        };
        open.part.size += part.size;
        open.part.depth = open.part.depth.max(part.depth + 1);
        match (&mut open.part.node.value, open.key.take(), part.node) {
            (Value::Map(entries), Some(key), value) => entries.push((key, value)),
            (Value::Map(_), None, Node { line, value: Value::Text(key) }) => {
                if !open.keys.insert(key.clone()) {
                    return Err(error_at(line, format!("the key {} stands twice", Quoted(&key))));
                }
                open.key = Some(key);
            }
            (Value::Map(_), None, key) => return Err(key.error("a key must be text")),
            (Value::List(items), _, item) => items.push(item),
            (Value::Null | Value::Text(_) | Value::Unknown(_), ..) => {}
        }
        Ok(())
    }

    fn check_depth(&self, line: usize, below: usize) -> Result<()> {
        match self.open.len() + below > DEEPEST {
            true => Err(error_at(line, format!("nested deeper than {DEEPEST} levels"))),
            false => Ok(()),
        }
    }

    fn spend(&mut self, part: &Part) -> Result<()> {
        self.spent += part.size;
        match self.spent > MOST {
            true => Err(part.node.error("too much for a template, its aliases replaced")),
            false => Ok(()),
        }
    }
}

/// What a short form such as `!Ref` stands for.
/// <https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/intrinsic-function-reference.html>
fn long_form(tag: &Tag) -> Option<String> {
    (tag.handle == "!").then(|| match tag.suffix.as_str() {
        name @ ("Ref" | "Condition") => name.to_owned(),
        function => format!("Fn::{function}"),
    })
}

#[cfg(test)]
mod tests;
