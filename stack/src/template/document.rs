//! A template's YAML or JSON as a tree that remembers its lines.

use std::fmt;

use saphyr::{MarkedYaml, ScalarStyle, Tag, YamlData, YamlLoader};
use saphyr_parser::{Parser, ScanError};
use serde_json::Value as Json;

/// A part of the template and the line it begins on (from 1).
#[derive(Debug, Clone)]
pub struct Node {
    pub line: usize,
    pub value: Value,
}

/// What a part holds. Short forms such as `!Ref X` have become their long form, `{"Ref": "X"}`.
#[derive(Debug, Clone)]
pub enum Value {
    Null,
    /// Any scalar as it is written: to CloudFormation `10` and `"10"` are the same.
    Text(String),
    List(Vec<Node>),
    Map(Vec<(String, Node)>),
    /// What could not be worked out, and why.
    Unknown(TemplateError),
}

/// What is wrong with a template, and where.
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

/// Reads the one document that a template is.
pub fn parse(source: &str) -> Result<Node, TemplateError> {
    let documents = load(source)
        .map_err(|error| TemplateError { line: error.marker().line(), message: error.info().to_owned() })?;
    match documents.as_slice() {
        [document] => convert(document),
        _ => Err(TemplateError { line: 1, message: "expected one YAML document".to_owned() }),
    }
}

fn load(source: &str) -> Result<Vec<MarkedYaml<'_>>, ScanError> {
    let mut loader = YamlLoader::default();
    // Scalars stay as written: an account id keeps its zeros.
    loader.early_parse(false);
    Parser::new_from_str(source).load(&mut loader, true)?;
    match loader.error() {
        Some(error) => Err(error.clone()),
        None => Ok(loader.into_documents()),
    }
}

fn convert(yaml: &MarkedYaml<'_>) -> Result<Node, TemplateError> {
    let line = yaml.span.start.line();
    let value = match &yaml.data {
        YamlData::Representation(text, style, tag) => {
            let plain = matches!(style, ScalarStyle::Plain) && tag.is_none();
            let scalar = match text.as_ref() {
                "" | "~" | "null" | "Null" | "NULL" if plain => Value::Null,
                text => Value::Text(text.to_owned()),
            };
            return Ok(match tag {
                Some(tag) => long_form(tag, Node { line, value: scalar }),
                None => Node { line, value: scalar },
            });
        }
        YamlData::Sequence(items) => Value::List(items.iter().map(convert).collect::<Result<_, _>>()?),
        YamlData::Mapping(entries) => {
            let mut map = Vec::with_capacity(entries.len());
            for (key, value) in entries {
                let Value::Text(name) = convert(key)?.value else {
                    return Err(TemplateError {
                        line: key.span.start.line(),
                        message: "a key must be text".to_owned(),
                    });
                };
                map.push((name, convert(value)?));
            }
            Value::Map(map)
        }
        YamlData::Tagged(tag, inner) => return Ok(long_form(tag, convert(inner)?)),
        YamlData::Value(_) | YamlData::Alias(_) | YamlData::BadValue => {
            return Err(TemplateError { line, message: "not a template".to_owned() });
        }
    };
    Ok(Node { line, value })
}

/// <https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/intrinsic-function-reference.html>
fn long_form(tag: &Tag, node: Node) -> Node {
    if tag.handle != "!" {
        return node;
    }
    let name = match tag.suffix.as_str() {
        "Ref" | "Condition" => tag.suffix.clone(),
        function => format!("Fn::{function}"),
    };
    Node { line: node.line, value: Value::Map(vec![(name, node)]) }
}

impl Node {
    pub fn text(line: usize, text: impl Into<String>) -> Self {
        Self { line, value: Value::Text(text.into()) }
    }

    /// The value of a key, `None` for other than a map too.
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

    /// Why this could not be worked out, if so.
    pub fn unknown(&self) -> Option<&TemplateError> {
        match &self.value {
            Value::Unknown(why) => Some(why),
            Value::Null | Value::Text(_) | Value::List(_) | Value::Map(_) => None,
        }
    }

    /// The first part of this that could not be worked out.
    pub fn first_unknown(&self) -> Option<&TemplateError> {
        match &self.value {
            Value::Null | Value::Text(_) => None,
            Value::List(items) => items.iter().find_map(Self::first_unknown),
            Value::Map(entries) => entries.iter().find_map(|(_, value)| value.first_unknown()),
            Value::Unknown(why) => Some(why),
        }
    }

    /// The entries of a map without some; what could not be worked out stays so.
    pub fn without(&self, unwanted: impl Fn(&str) -> bool) -> Self {
        if self.unknown().is_some() {
            return self.clone();
        }
        let wanted = self.entries().iter().filter(|(name, _)| !unwanted(name)).cloned().collect();
        Self { line: self.line, value: Value::Map(wanted) }
    }

    /// This laid over other values as SAM does it: maps are merged, lists go behind, everything else replaces.
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

    /// Whether it is a call of one of CloudFormation's functions, which counts as a value.
    fn is_function(&self) -> bool {
        matches!(self.entries(), [(name, _)] if name == "Ref" || name.starts_with("Fn::"))
    }

    pub fn error(&self, message: impl Into<String>) -> TemplateError {
        TemplateError { line: self.line, message: message.into() }
    }

    /// The same without lines; whole numbers become JSON numbers, as SQS writes its policies.
    pub fn to_json(&self) -> Json {
        match &self.value {
            Value::Null | Value::Unknown(_) => Json::Null,
            Value::Text(text) => text.parse::<u64>().map_or_else(|_| Json::from(text.as_str()), Json::from),
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

    use super::*;

    #[test]
    fn short_forms_become_long_forms_wherever_they_stand() {
        let source = "a: !Ref B\nb: !If [C, !Sub '${D}', !GetAtt E.Arn]\nc: !Condition F\nd: !Join\n  - ','\n  - [x]\n";
        let expected = json!({
            "a": {"Ref": "B"},
            "b": {"Fn::If": ["C", {"Fn::Sub": "${D}"}, {"Fn::GetAtt": "E.Arn"}]},
            "c": {"Condition": "F"},
            "d": {"Fn::Join": [",", ["x"]]},
        });
        assert_eq!(parse(source).unwrap().to_json(), expected);
    }

    #[test]
    fn scalars_stay_as_they_are_written() {
        let document = parse("a: 012345678901\nb: yes\nc: 1.50\nd:\ne: ''").unwrap();
        let text = |key| document.get(key).unwrap().as_text();
        assert_eq!((text("a"), text("b"), text("c")), (Some("012345678901"), Some("yes"), Some("1.50")));
        assert_eq!((text("d"), text("e")), (None, Some("")));
    }

    #[test]
    fn laid_over_another_a_map_keeps_what_both_have() {
        let node = |source| parse(source).unwrap();
        let merged = node("{a: 1, b: {c: 2}, d: [x], e: 5}")
            .over(&node("{a: 9, b: {c: 8, f: 7}, d: [y], e: [z], g: 6}"));
        assert_eq!(merged.to_json(), json!({"a": 1, "b": {"c": 2, "f": 7}, "d": ["y", "x"], "e": 5, "g": 6}));
    }

    #[test]
    fn a_template_may_be_json() {
        let document = parse(r#"{"Resources": {"Q": {"Type": "AWS::SQS::Queue"}}}"#).unwrap();
        assert_eq!(document.get("Resources").unwrap().entries()[0].0, "Q");
    }

    #[test]
    fn errors_name_the_line() {
        for (source, line) in [("a: 1\nb: [1, 2", 2), ("a: 1\na: 2\n", 2), ("a: 1\n b: 2\n", 2), ("", 1)] {
            let error = parse(source).unwrap_err();
            assert!(error.line.abs_diff(line) <= 1, "{source:?}: {error}");
        }
    }
}
