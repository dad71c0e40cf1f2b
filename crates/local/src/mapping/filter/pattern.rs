//! A pattern as a tree of conditions.
//! <https://docs.aws.amazon.com/lambda/latest/dg/invocation-eventfiltering.html>

use super::json::Json;
use super::test::Test;

/// An object, which matches if all fields match, and at least one alternative of each `$or`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Object {
    pub(super) fields: Vec<(String, Pattern)>,
    pub(super) either: Vec<Vec<Self>>,
}

/// The condition on one field.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Pattern {
    /// The value must pass one of the tests.
    Leaf(Vec<Test>),
    Object(Object),
}

impl Object {
    /// # Errors
    /// Returns the place of the mistake and its description.
    pub(super) fn parse(json: &Json, place: &str) -> Result<Self, String> {
        let Json::Map(entries) = json else {
            return Err(at(place, "a pattern must be an object"));
        };
        if entries.is_empty() {
            return Err(at(place, "an object must not be empty"));
        }
        let mut object = Self { fields: Vec::new(), either: Vec::new() };
        for (name, value) in entries {
            let place = if place.is_empty() { name.clone() } else { format!("{place}.{name}") };
            match (name.as_str(), value) {
                ("$or", Json::List(items)) => object.either.push(alternatives(items, &place)?),
                _ => object.fields.push((name.clone(), Pattern::parse(value, &place)?)),
            }
        }
        Ok(object)
    }

    /// Returns the names of all fields on the first level.
    pub(super) fn names(&self) -> Box<dyn Iterator<Item = &str> + '_> {
        let own = self.fields.iter().map(|(name, _)| name.as_str());
        Box::new(own.chain(self.either.iter().flatten().flat_map(Self::names)))
    }
}

impl Pattern {
    fn parse(json: &Json, place: &str) -> Result<Self, String> {
        match json {
            Json::Map(_) => Object::parse(json, place).map(Self::Object),
            Json::List(tests) if tests.is_empty() => Err(at(place, "a list must not be empty")),
            Json::List(tests) => {
                let tests = tests.iter().map(Test::parse).collect::<Result<_, _>>();
                tests.map(Self::Leaf).map_err(|error| at(place, &error))
            }
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::Text(_) => {
                Err(at(place, "a value must be a list or an object"))
            }
        }
    }
}

fn alternatives(items: &[Json], place: &str) -> Result<Vec<Object>, String> {
    if items.len() < 2 {
        return Err(at(place, "a list of at least two patterns is needed"));
    }
    items.iter().map(|item| Object::parse(item, place)).collect()
}

fn at(place: &str, what: &str) -> String {
    if place.is_empty() { what.to_owned() } else { format!("{place}: {what}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_pattern_is_refused_with_its_place() {
        for (pattern, refusal) in [
            ("null", "a pattern must be an object"),
            ("[1]", "a pattern must be an object"),
            ("{}", "an object must not be empty"),
            (r#"{"eventSource": "aws:sqs"}"#, "eventSource: a value must be a list or an object"),
            (r#"{"eventSource": []}"#, "eventSource: a list must not be empty"),
            (r#"{"body": {}}"#, "body: an object must not be empty"),
            (r#"{"body": {"a": {"b": 1}}}"#, "body.a.b: a value must be a list or an object"),
            (r#"{"body": {"a": [[1]]}}"#, "body.a: a list within a list"),
            (r#"{"$or": [{"a": [1]}]}"#, "$or: a list of at least two patterns is needed"),
            (r#"{"body": {"$or": [{"a": [1]}, 2]}}"#, "body.$or: a pattern must be an object"),
        ] {
            let error = Object::parse(&Json::parse(pattern).unwrap(), "").unwrap_err();
            assert_eq!(error, refusal, "{pattern}");
        }
    }

    #[test]
    fn or_is_a_field_like_others_unless_it_is_a_list() {
        let object = Object::parse(&Json::parse(r#"{"$or": {"a": [1]}}"#).unwrap(), "").unwrap();
        assert_eq!((object.fields.len(), object.either.len()), (1, 0));
        let either =
            Object::parse(&Json::parse(r#"{"b": [1], "$or": [{"a": [1]}, {"c": [1]}]}"#).unwrap(), "")
                .unwrap();
        assert_eq!(either.names().collect::<Vec<_>>(), ["b", "a", "c"]);
    }
}
