//! Matches events against patterns.
//!
//! An array matches if one of its elements does. Fields that a pattern names side by side must be in the same element, and a
//! field that must not exist must be missing from all of them. Only values are compared, never whole objects.
//! <https://github.com/aws/event-ruler#json-array-matching>

use super::json::Json;
use super::pattern::{Object, Pattern};
use super::test::Test;
use super::{Body, Event};

pub(super) fn matches(object: &Object, event: &Event) -> bool {
    let field = |(name, pattern): &(String, Pattern)| match (name.as_str(), pattern, &event.body) {
        ("body", Pattern::Object(_), Body::Json(body)) | ("body", Pattern::Leaf(_), Body::Text(body)) => {
            Place::of(body).matches(pattern)
        }
        ("body", _, Body::Unreadable) => true,
        ("body", _, _) => false,
        (name, pattern, _) => Place::of(&event.fields).field(name).matches(pattern),
    };
    object.fields.iter().all(field)
        && object.either.iter().all(|alternatives| alternatives.iter().any(|object| matches(object, event)))
}

/// The position of a pattern in an event.
struct Place<'event> {
    /// Values at this position, within the elements that were chosen on the way.
    here: Vec<&'event Json>,
    /// Values at this position in all elements.
    anywhere: Vec<&'event Json>,
}

impl<'event> Place<'event> {
    fn of(json: &'event Json) -> Self {
        Self { here: elements([json]), anywhere: elements([json]) }
    }

    fn field(&self, name: &str) -> Self {
        let named = |places: &[&'event Json]| elements(places.iter().filter_map(|place| place.get(name)));
        Self { here: named(&self.here), anywhere: named(&self.anywhere) }
    }

    fn matches(&self, pattern: &Pattern) -> bool {
        match pattern {
            Pattern::Leaf(tests) => tests.iter().any(|test| self.passes(test)),
            Pattern::Object(object) => {
                let mut objects = self.here.iter().filter(|json| matches!(json, Json::Map(_))).peekable();
                if objects.peek().is_none() {
                    return self.choose(None).has(object);
                }
                objects.any(|chosen| self.choose(Some(chosen)).has(object))
            }
        }
    }

    fn passes(&self, test: &Test) -> bool {
        match test {
            Test::Absent => !self.anywhere.iter().any(|json| is_value(json)),
            test => self.here.iter().any(|json| is_value(json) && test.passes(json)),
        }
    }

    fn choose(&self, element: Option<&'event Json>) -> Self {
        Self { here: element.into_iter().collect(), anywhere: self.anywhere.clone() }
    }

    fn has(&self, object: &Object) -> bool {
        object.fields.iter().all(|(name, pattern)| self.field(name).matches(pattern))
            && object.either.iter().all(|alternatives| alternatives.iter().any(|object| self.has(object)))
    }
}

/// Returns the values after all arrays are replaced by their elements.
fn elements<'event>(jsons: impl IntoIterator<Item = &'event Json>) -> Vec<&'event Json> {
    let open = |json: &'event Json| match json {
        Json::List(items) => elements(items),
        json => vec![json],
    };
    jsons.into_iter().flat_map(open).collect()
}

fn is_value(json: &Json) -> bool {
    !matches!(json, Json::Map(_) | Json::List(_))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pattern: &str, body: &str, expected: bool) {
        let pattern = Json::parse(&format!("{{\"body\": {pattern}}}")).unwrap();
        let object = Object::parse(&pattern, "").unwrap();
        assert_eq!(matches(&object, &Event::new("{}", body)), expected, "{body}");
    }

    #[test]
    fn an_array_matches_if_one_of_its_elements_does() {
        let staff =
            r#"{"staff": [[{"first": "Anna", "last": "Smith"}], [{"first": "Peter", "last": "Jones"}]]}"#;
        check(r#"{"staff": {"first": ["Anna"]}}"#, staff, true);
        check(r#"{"staff": {"first": ["Anna"], "last": ["Smith"]}}"#, staff, true);
        check(r#"{"staff": {"first": ["Anna"], "last": ["Jones"]}}"#, staff, false);
        check(r#"{"staff": {"first": ["Anna"], "$or": [{"last": ["Jones"]}, {"age": [3]}]}}"#, staff, false);
        check(r#"{"tags": ["b"]}"#, r#"{"tags": ["a", ["b"]]}"#, true);
        check(r#"{"tags": [{"anything-but": "a"}]}"#, r#"{"tags": ["a", "b"]}"#, true);
        check(r#"{"tags": [{"anything-but": "a"}]}"#, r#"{"tags": ["a"]}"#, false);
    }

    #[test]
    fn existence_is_a_matter_of_values_and_of_all_elements() {
        let (exists, absent) =
            (r#"{"a": {"b": [{"exists": true}]}}"#, r#"{"a": {"b": [{"exists": false}]}}"#);
        for (body, there) in [
            (r#"{"a": {"b": null}}"#, true),
            (r#"{"a": {"b": [1]}}"#, true),
            (r#"{"a": [{"b": 1}, {"c": 2}]}"#, true),
            (r#"{"a": {"b": {"c": 1}}}"#, false),
            (r#"{"a": {"b": []}}"#, false),
            (r#"{"a": {}}"#, false),
            (r#"{"a": 1}"#, false),
            ("{}", false),
            ("7", false),
        ] {
            check(exists, body, there);
            check(absent, body, !there);
        }
    }

    #[test]
    fn a_field_that_is_missing_is_not_anything_but_something() {
        check(r#"{"a": [{"anything-but": "x"}]}"#, "{}", false);
        check(r#"{"a": [{"anything-but": "x"}, {"exists": false}]}"#, "{}", true);
        check(r#"{"a": ["x"]}"#, r#"{"a": {"x": "x"}}"#, false);
    }
}
