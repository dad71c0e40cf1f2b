//! A template as a tree that remembers its lines. Pure.

use std::fmt;

use serde_json::Value as Json;

use crate::scalar;

/// Deepest nesting. A template that nests deeper refers to itself.
pub(super) const DEEPEST: usize = 100;

/// A part of the template and the line it begins on (from 1).
#[derive(Debug, Clone)]
pub struct Node {
    pub line: usize,
    pub value: Value,
}

/// Value of a part. Short forms such as `!Ref X` have become their long form, `{"Ref": "X"}`.
#[derive(Debug, Clone)]
pub enum Value {
    Null,
    /// Any scalar as it is written: to CloudFormation `10` and `"10"` are the same.
    Text(String),
    List(Vec<Node>),
    Map(Vec<(String, Node)>),
    /// A value that could not be resolved, and the reason.
    Unknown(TemplateError),
}

/// An error in a template, with its line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateError {
    pub line: usize,
    pub message: String,
}

impl fmt::Display for TemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for TemplateError {}

impl Node {
    pub fn text(line: usize, text: impl Into<String>) -> Self {
        Self { line, value: Value::Text(text.into()) }
    }

    /// Returns the value of a key, or `None` if there is none or this is not a map.
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.entries().iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// The entries of a map in the order they are written; empty for anything else.
    pub fn entries(&self) -> &[(String, Self)] {
        match &self.value {
            Value::Map(entries) => entries,
            Value::Null | Value::Text(_) | Value::List(_) | Value::Unknown(_) => &[],
        }
    }

    /// The text under a key.
    pub fn text_at(&self, key: &str) -> Option<&str> {
        self.get(key).and_then(Self::as_text)
    }

    /// The items of the list under a key; empty for anything else.
    pub fn items_at(&self, key: &str) -> &[Self] {
        self.get(key).and_then(Self::as_list).unwrap_or_default()
    }

    /// The entries of the map under a key; empty for anything else.
    pub fn entries_at(&self, key: &str) -> &[(String, Self)] {
        self.get(key).map(Self::entries).unwrap_or_default()
    }

    pub fn as_text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            Value::Null | Value::List(_) | Value::Map(_) | Value::Unknown(_) => None,
        }
    }

    pub fn as_list(&self) -> Option<&[Self]> {
        match &self.value {
            Value::List(items) => Some(items),
            Value::Null | Value::Text(_) | Value::Map(_) | Value::Unknown(_) => None,
        }
    }

    /// Returns the reason if this value is unknown.
    pub fn unknown(&self) -> Option<&TemplateError> {
        match &self.value {
            Value::Unknown(why) => Some(why),
            Value::Null | Value::Text(_) | Value::List(_) | Value::Map(_) => None,
        }
    }

    /// Returns the reason of the first unknown part.
    pub fn first_unknown(&self) -> Option<&TemplateError> {
        match &self.value {
            Value::Null | Value::Text(_) => None,
            Value::List(items) => items.iter().find_map(Self::first_unknown),
            Value::Map(entries) => entries.iter().find_map(|(_, value)| value.first_unknown()),
            Value::Unknown(why) => Some(why),
        }
    }

    /// Removes entries from a map. An unknown value stays unknown.
    pub fn without(&self, unwanted: impl Fn(&str) -> bool) -> Self {
        if self.unknown().is_some() {
            return self.clone();
        }
        let wanted = self.entries().iter().filter(|(name, _)| !unwanted(name)).cloned().collect();
        Self { line: self.line, value: Value::Map(wanted) }
    }

    /// Lays this over other values as SAM does: maps are merged, lists are appended, and anything else replaces.
    pub fn over(&self, base: &Self) -> Self {
        let value = match (&self.value, &base.value) {
            (Value::Map(own), Value::Map(others)) if !self.is_function() && !base.is_function() => {
                let merged = own.iter().map(|(name, value)| {
                    (name.clone(), base.get(name).map_or_else(|| value.clone(), |base| value.over(base)))
                });
                let added = others.iter().filter(|(name, _)| self.get(name).is_none()).cloned();
                Value::Map(merged.chain(added).collect())
            }
            (Value::List(own), Value::List(others)) => Value::List([others.as_slice(), own].concat()),
            (Value::Map(_) | Value::List(_), Value::Unknown(_)) => base.value.clone(),
            _ => self.value.clone(),
        };
        Self { line: self.line, value }
    }

    /// Returns true for a call of one of CloudFormation's functions, which counts as a value.
    fn is_function(&self) -> bool {
        matches!(self.entries(), [(name, _)] if name == "Ref" || name.starts_with("Fn::"))
    }

    pub fn error(&self, message: impl Into<String>) -> TemplateError {
        TemplateError { line: self.line, message: message.into() }
    }

    /// Converts JSON, with all nodes on one line.
    pub fn of_json(line: usize, json: &Json) -> Self {
        let value = match json {
            Json::Null => Value::Null,
            Json::Bool(flag) => Value::Text(flag.to_string()),
            Json::Number(number) => Value::Text(number.to_string()),
            Json::String(text) => Value::Text(text.clone()),
            Json::Array(items) => Value::List(items.iter().map(|item| Self::of_json(line, item)).collect()),
            Json::Object(entries) => Value::Map(
                entries.iter().map(|(key, value)| (key.clone(), Self::of_json(line, value))).collect(),
            ),
        };
        Self { line, value }
    }

    /// Parses a document that a template has as JSON text. YAML has aliases, whose bounds are those of a whole file.
    pub fn parse_json(&self) -> Option<Self> {
        serde_json::from_str(self.as_text()?).ok().map(|json| Self::of_json(self.line, &json))
    }

    /// Converts to JSON without lines. Whole numbers become JSON numbers, as SQS writes its policies.
    pub fn to_json(&self) -> Json {
        match &self.value {
            Value::Null | Value::Unknown(_) => Json::Null,
            Value::Text(text) => {
                scalar::number::<u64>(text).map_or_else(|| Json::from(text.as_str()), Json::from)
            }
            Value::List(items) => items.iter().map(Self::to_json).collect(),
            Value::Map(entries) => {
                entries.iter().map(|(key, value)| (key.clone(), value.to_json())).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::parse;

    #[test]
    fn a_map_laid_over_another_keeps_the_entries_of_both() {
        let node = |source| parse(source).unwrap();
        let merged = node("{a: 1, b: {c: 2}, d: [x], e: 5}")
            .over(&node("{a: 9, b: {c: 8, f: 7}, d: [y], e: [z], g: 6}"));
        assert_eq!(merged.to_json(), json!({"a": 1, "b": {"c": 2, "f": 7}, "d": ["y", "x"], "e": 5, "g": 6}));
    }
}
