//! Reads YAML or JSON into nodes, within bounds: a template may be a stranger's. Pure.

use std::collections::{HashMap, HashSet, hash_map};

use granit_parser::{ErrorKind, Event, Options, Parser, ScalarStyle, Tag};
use redrive_sqs::Quoted;

use crate::document::{DEEPEST, Node, TemplateError, Value};
use crate::scalar;

/// Rough limit on the memory for a file in bytes, for all its documents, after its aliases are replaced. The largest template that
/// CloudFormation accepts has 1 MB of text.
const MOST: usize = 32 * 1_024 * 1_024;

/// Bytes of a node without its text.
const NODE: usize = 64;

/// Most documents. The manifests of a large cluster have fewer.
const MOST_DOCUMENTS: usize = 5_000;

/// Longest key in bytes: YAML allows more only after a `?`. Keys are names, which reports repeat.
const LONGEST_KEY: usize = 1_024;

/// Bytes to read again for unquoted dashes.
const MOST_READ_AGAIN: usize = 4 * 1_024 * 1_024;

type Result<T> = std::result::Result<T, TemplateError>;

/// Most `-` without quotes in lists. No template has as many.
const MOST_DASHES: usize = 64;

/// Reads a template, which is a single document.
///
/// # Errors
/// It is not YAML, has a key that is not text, is nested deeper than 100 levels, or is too large after its aliases are replaced.
pub fn parse(source: &str) -> Result<Node> {
    read(source).map(|(document, _)| document)
}

/// Returns the same, with remarks on what is odd about it.
pub fn read(source: &str) -> Result<(Node, Vec<TemplateError>)> {
    let (documents, remarks) = read_stream(source)?;
    let mut documents = documents.into_iter();
    match (documents.next(), documents.next()) {
        (Some(document), None) => Ok((document, remarks)),
        _ => Err(error_at(1, "expected one YAML document".to_owned())),
    }
}

/// Reads all documents of a file.
///
/// # Errors
/// As [`parse`], with bounds for all documents together. There are more documents than any file has.
pub(crate) fn parse_stream(source: &str) -> Result<Vec<Node>> {
    read_stream(source).map(|(documents, _)| documents)
}

/// The documents of a file, and remarks on what is odd about them.
type Stream = (Vec<Node>, Vec<TemplateError>);

fn read_stream(source: &str) -> Result<Stream> {
    let mut text = source.to_owned();
    for _ in 0..MOST_DASHES.min(MOST_READ_AGAIN / source.len().max(1)) {
        match read_strictly(&text) {
            Err((_, Some(dash))) => text.replace_range(dash..=dash, "'-'"),
            read => return read.map_err(|(error, _)| error),
        }
    }
    read_strictly(&text).map_err(|(error, _)| error)
}

/// Reads YAML 1.2. Errors have the place of a `-` that is text to YAML 1.1 and to CloudFormation, as in `[-, a]`.
fn read_strictly(source: &str) -> std::result::Result<Stream, (TemplateError, Option<usize>)> {
    let mut builder = Builder::default();
    let mut options = Options::default();
    options.set_emit_comments(false);
    for event in Parser::new_from_str_with_options(source, options) {
        let (event, span) = event.map_err(|error| {
            let is_dash = *error.kind() == ErrorKind::PlainScalarStartsWithDashFlowIndicator;
            let dash = error.marker().byte_offset().filter(|_| is_dash);
            (error_at(error.marker().line(), error.info()), dash)
        })?;
        builder.add_event(event, span.start.line()).map_err(|error| (error, None))?;
    }
    Ok((builder.documents, builder.remarks))
}

fn error_at(line: usize, message: String) -> TemplateError {
    TemplateError { line, message }
}

#[derive(Default)]
struct Builder {
    open: Vec<Open>,
    anchors: HashMap<usize, Part>,
    documents: Vec<Node>,
    remarks: Vec<TemplateError>,
    spent: usize,
}

/// A list or map that has not ended.
struct Open {
    part: Part,
    /// Positions of the keys in the map.
    keys: HashMap<String, usize>,
    /// The key whose value comes next.
    key: Option<Key>,
    /// Values of its merge keys.
    merged: Vec<Node>,
    anchor: usize,
    tag: Option<Tag>,
}

enum Key {
    Text(String),
    Merge,
}

/// Form in which a node is written, if that matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// `<<` without quotes.
    MergeKey,
    /// A short form such as `!Ref X`.
    Call,
    Other,
}

/// A node with its size in bytes and the levels below it.
#[derive(Clone)]
struct Part {
    node: Node,
    form: Form,
    size: usize,
    depth: usize,
}

impl Builder {
    fn add_event(&mut self, event: Event<'_>, line: usize) -> Result<()> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let plain = style == ScalarStyle::Plain && tag.is_none();
                let value = match text.as_ref() {
                    "" | "~" | "null" | "Null" | "NULL" if plain => Value::Null,
                    text if plain => Value::Text(scalar::plain(text)),
                    text => Value::Text(text.to_owned()),
                };
                let form = if plain && text == MERGE_KEY { Form::MergeKey } else { Form::Other };
                let part = Part { node: Node { line, value }, form, size: NODE + text.len(), depth: 0 };
                self.spend(&part)?;
                self.end(part, anchor, tag.as_deref())
            }
            Event::SequenceStart(_, anchor, tag) => {
                self.begin(line, Value::List(Vec::new()), anchor, tag.as_deref())
            }
            Event::MappingStart(_, anchor, tag) => {
                self.begin(line, Value::Map(Vec::new()), anchor, tag.as_deref())
            }
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                Some(Open { mut part, merged, anchor, tag, .. }) => {
                    self.remarks.extend(apply_merged(&mut part.node, merged)?);
                    self.end(part, anchor, tag.as_ref())
                }
                None => Ok(()),
            },
            Event::Alias(anchor) => {
                let part = self.anchors.get(&anchor).cloned();
                let mut part =
                    part.ok_or_else(|| error_at(line, "an alias that contains itself".to_owned()))?;
                part.node.line = line;
                self.spend(&part)?;
                self.add(part)
            }
            Event::DocumentEnd => {
                self.anchors.clear();
                Ok(())
            }
            // The stream begins or ends, or a document begins. The parser sends other events only on request.
            _ => Ok(()),
        }
    }

    fn begin(&mut self, line: usize, value: Value, anchor: usize, tag: Option<&Tag>) -> Result<()> {
        let part = Part { node: Node { line, value }, form: Form::Other, size: NODE, depth: 0 };
        self.spend(&part)?;
        let (keys, merged, tag) = (HashMap::new(), Vec::new(), tag.cloned());
        self.open.push(Open { part, keys, key: None, merged, anchor, tag });
        self.check_depth(line, 0)
    }

    fn end(&mut self, part: Part, anchor: usize, tag: Option<&Tag>) -> Result<()> {
        let part = match tag.and_then(long_form) {
            Some(name) => Part {
                node: Node { line: part.node.line, value: Value::Map(vec![(name, part.node)]) },
                form: Form::Call,
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
        if part.form == Form::Call && self.is_merging() {
            return Err(part.node.error(MERGED));
        }
        let Some(open) = self.open.last_mut() else {
            if self.documents.len() == MOST_DOCUMENTS {
                return Err(part.node.error(format!("more than {MOST_DOCUMENTS} YAML documents")));
            }
            self.documents.push(part.node);
            return Ok(());
        };
        open.part.size += part.size;
        open.part.depth = open.part.depth.max(part.depth + 1);
        match (&mut open.part.node.value, open.key.take(), part.node) {
            (Value::Map(_), Some(Key::Merge), value) => open.merged.push(value),
            (Value::Map(entries), Some(Key::Text(key)), value) => match open.keys.entry(key.clone()) {
                hash_map::Entry::Vacant(place) => {
                    place.insert(entries.len());
                    entries.push((key, value));
                }
                // CloudFormation's parser also accepts this.
                hash_map::Entry::Occupied(place) => {
                    let remark = format!("the key {} appears twice; the last one is used", Quoted(&key));
                    self.remarks.push(value.error(remark));
                    entries[*place.get()].1 = value;
                }
            },
            (Value::Map(_), None, _) if part.form == Form::MergeKey => open.key = Some(Key::Merge),
            (Value::Map(_), None, Node { value: Value::Text(key), line }) => {
                if key.len() > LONGEST_KEY {
                    return Err(error_at(line, format!("a key of more than {LONGEST_KEY} bytes")));
                }
                open.key = Some(Key::Text(key));
            }
            (Value::Map(_), None, key) => return Err(key.error("a key must be text")),
            (Value::List(items), _, item) => items.push(item),
            (Value::Null | Value::Text(_) | Value::Unknown(_), ..) => {}
        }
        Ok(())
    }

    /// Returns true if the next value is merged into a map, as the value of `<<` or in its list.
    fn is_merging(&self) -> bool {
        let merges = |open: &Open| matches!(open.key, Some(Key::Merge));
        match self.open.as_slice() {
            [.., outer, Open { part: Part { node: Node { value: Value::List(_), .. }, .. }, .. }] => {
                merges(outer)
            }
            [.., open] => merges(open),
            [] => false,
        }
    }

    fn check_depth(&self, line: usize, below: usize) -> Result<()> {
        match self.open.len() + below > DEEPEST {
            true => Err(error_at(line, format!("nested more than {DEEPEST} levels deep"))),
            false => Ok(()),
        }
    }

    fn spend(&mut self, part: &Part) -> Result<()> {
        self.spent += part.size;
        match self.spent > MOST {
            true => Err(part.node.error("too large once its aliases are expanded")),
            false => Ok(()),
        }
    }
}

/// Returns the long form of a short form such as `!Ref`.
/// <https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/intrinsic-function-reference.html>
fn long_form(tag: &Tag) -> Option<String> {
    (tag.handle() == "!").then(|| match tag.suffix() {
        name @ ("Ref" | "Condition") => name.to_owned(),
        function => format!("Fn::{function}"),
    })
}

/// `<<: *defaults`. Python's YAML applies merge keys, and with it SAM and `aws cloudformation package`; CloudFormation does not.
/// <https://yaml.org/type/merge.html>,
/// <https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/template-formats.html>
const MERGE_KEY: &str = "<<";

const MERGED: &str = "a merge key (<<) takes a map or a list of maps";

const REMARK: &str = "SAM and aws cloudformation package apply this merge key (<<); CloudFormation itself \
                      does not support merge keys";

/// Adds merged entries behind a map's own, and returns remarks. As in Python, the last merge key wins, but in a list of maps the
/// first one does.
fn apply_merged(node: &mut Node, merged: Vec<Node>) -> Result<Vec<TemplateError>> {
    let Value::Map(entries) = &mut node.value else { return Ok(Vec::new()) };
    let remarks = merged.iter().map(|merged| merged.error(REMARK)).collect();
    let mut known: HashSet<String> = match merged.is_empty() {
        true => HashSet::new(),
        false => entries.iter().map(|(key, _)| key.clone()).collect(),
    };
    let maps = merged.into_iter().rev().flat_map(|merged| match merged.value {
        Value::List(maps) => maps,
        _ => vec![merged],
    });
    for map in maps {
        let Value::Map(others) = map.value else { return Err(map.error(MERGED)) };
        entries.extend(others.into_iter().filter(|(key, _)| known.insert(key.clone())));
    }
    Ok(remarks)
}

#[cfg(test)]
mod tests;
