//! The filter criteria of an event source mapping, which select the messages for the function.
//! <https://docs.aws.amazon.com/lambda/latest/dg/with-sqs-filtering.html>

mod json;
mod matching;
mod pattern;
mod test;

use std::str::FromStr;

use json::Json;
use pattern::Object;
use serde::de::IgnoredAny;

/// <https://docs.aws.amazon.com/lambda/latest/api/API_Filter.html>
const LONGEST_PATTERN: usize = 4_096;

/// One pattern of a mapping's filter criteria. A message that matches none of them is deleted without an invocation.
///
/// The pattern's `body` decides how bodies are read. An object is for JSON, a list for plain text, and a message of the
/// other kind does not match. A body of JSON that only redrive cannot read matches, since Lambda may deliver it. A pattern without `body` checks only the other fields of the record.
///
/// ```
/// use redrive_local::Filter;
///
/// let large: Filter = r#"{"body": {"cents": [{"numeric": [">", 9999]}]}}"#.parse()?;
/// let wrong = r#"{"body": {"cents": [{"above": 9999}]}}"#.parse::<Filter>().unwrap_err();
/// assert_eq!(
///     wrong.to_string(),
///     "body.cents: no such comparison: above, allowed: prefix, suffix, equals-ignore-case, anything-but, numeric, exists"
/// );
/// # Ok::<(), redrive_local::InvalidFilter>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Filter {
    object: Object,
    text: String,
}

/// The reason why Lambda would refuse a pattern: the place in it, and what is allowed there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidFilter(String);

/// A record as filters see it.
#[derive(Debug)]
pub(super) struct Event {
    /// All fields except the body.
    fields: Json,
    body: Body,
}

#[derive(Debug)]
enum Body {
    Json(Json),
    Text(Json),
    /// JSON that this parser cannot read, because of half a surrogate pair or very deep nesting for example.
    Unreadable,
}

impl FromStr for Filter {
    type Err = InvalidFilter;

    fn from_str(text: &str) -> Result<Self, InvalidFilter> {
        let length = text.chars().count();
        if length > LONGEST_PATTERN {
            return Err(InvalidFilter(format!(
                "the pattern has {length} characters, allowed: {LONGEST_PATTERN}"
            )));
        }
        let json = Json::parse(text).map_err(|error| InvalidFilter(format!("not JSON: {error}")))?;
        let object = Object::parse(&json, "").map_err(InvalidFilter)?;
        Ok(Self { object, text: text.to_owned() })
    }
}

impl Filter {
    pub(super) fn matches(&self, event: &Event) -> bool {
        matching::matches(&self.object, event)
    }

    /// Returns the pattern as it was written.
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the first field other than the body that the pattern tests. AWS documents filters of SQS on the body only.
    #[must_use]
    pub fn field_beside_body(&self) -> Option<&str> {
        self.object.names().find(|name| *name != "body")
    }
}

impl Event {
    /// Reads a record as the function would get it.
    pub(super) fn new(record: &str, body: &str) -> Self {
        let body = match Json::parse(body) {
            Ok(json) => Body::Json(json),
            Err(_) if serde_json::from_str::<IgnoredAny>(body).is_ok() => Body::Unreadable,
            Err(_) => Body::Text(Json::Text(body.to_owned())),
        };
        Self { fields: Json::parse(record).expect("a record is JSON"), body }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn filter(pattern: &Value) -> Filter {
        pattern.to_string().parse().unwrap()
    }

    fn matches(pattern: &Value, body: &str) -> bool {
        let record = json!({
            "messageId": "m1",
            "attributes": {"ApproximateReceiveCount": "1", "MessageGroupId": "a"},
            "messageAttributes": {"kind": {"stringValue": "gift", "stringListValues": [], "dataType": "String"}},
            "eventSource": "aws:sqs",
        });
        filter(pattern).matches(&Event::new(&record.to_string(), body))
    }

    #[test]
    fn the_sort_of_the_pattern_and_that_of_the_body_must_be_the_same() {
        let (json, text) = (json!({"body": {"a": [1]}}), json!({"body": [{"prefix": "te"}]}));
        let neither = json!({"attributes": {"MessageGroupId": ["a"]}});
        for (body, by_json, by_text) in [
            (r#"{"a":1}"#, true, false),
            (r#"{"a":2}"#, false, false),
            ("tea", false, true),
            ("coffee", false, false),
            // Valid JSON does not count as plain text, even if it looks like it.
            (r#""tea""#, false, false),
            ("[\"tea\"]", false, false),
            ("{\"a\":1", false, false),
        ] {
            assert_eq!((matches(&json, body), matches(&text, body)), (by_json, by_text), "{body}");
            assert!(matches(&neither, body), "{body}");
        }
    }

    #[test]
    fn json_that_only_we_cannot_read_is_delivered() {
        let pattern = json!({"body": {"a": [1]}});
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(200), "]".repeat(200));
        for body in [r#"{"a":"half \ud83d"}"#, r#"{"a":1e400}"#, &deep] {
            assert!(matches(&pattern, body), "{body}");
        }
    }

    #[test]
    fn all_fields_of_a_record_can_be_looked_at() {
        for (pattern, expected) in [
            (json!({"eventSource": ["aws:sqs"]}), true),
            (json!({"messageAttributes": {"kind": {"stringValue": ["gift"]}}}), true),
            (json!({"messageAttributes": {"kind": {"stringValue": ["loan"]}}}), false),
            (json!({"messageAttributes": {"size": {"stringValue": [{"exists": false}]}}}), true),
            (json!({"attributes": {"ApproximateReceiveCount": ["1"]}}), true),
            (json!({"attributes": {"ApproximateReceiveCount": [1]}}), false),
            (json!({"$or": [{"messageId": ["m2"]}, {"body": {"a": [1]}}]}), true),
            (json!({"$or": [{"messageId": ["m2"]}, {"body": {"a": [2]}}]}), false),
        ] {
            assert_eq!(matches(&pattern, r#"{"a":1}"#), expected, "{pattern}");
        }
    }

    #[test]
    fn a_pattern_may_have_4096_characters() {
        let pattern = |length: usize| {
            let frame = json!({"body": [""]}).to_string().len();
            json!({"body": ["ä".repeat(length - frame)]}).to_string().parse::<Filter>()
        };
        assert!(pattern(4_096).is_ok());
        let error = pattern(4_097).unwrap_err().to_string();
        assert_eq!(error, "the pattern has 4097 characters, allowed: 4096");
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let scalar = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (-5_i64..5).prop_map(Value::from),
            "[ab]{0,2}".prop_map(Value::from),
        ];
        scalar.prop_recursive(3, 24, 4, |inner| {
            let name = prop_oneof![
                Just("a".to_owned()),
                Just("body".to_owned()),
                Just("$or".to_owned()),
                Just("prefix".to_owned()),
                Just("numeric".to_owned()),
                Just("exists".to_owned()),
                Just("anything-but".to_owned()),
            ];
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec((name, inner), 0..4)
                    .prop_map(|entries| Value::Object(entries.into_iter().collect())),
            ]
        })
    }

    fn scalar() -> impl Strategy<Value = Value> {
        prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (-3_i64..3).prop_map(Value::from),
            "[abAB]{0,3}".prop_map(Value::from),
        ]
    }

    fn at(path: &str, leaf: &Value) -> Value {
        json!({"body": {path: leaf}})
    }

    proptest! {
        #[test]
        fn anything_is_a_pattern_or_an_error_and_matches_or_does_not(pattern in any_json(), body in any_json()) {
            if let Ok(filter) = pattern.to_string().parse::<Filter>() {
                filter.matches(&Event::new("{}", &body.to_string()));
            }
        }

        #[test]
        fn a_value_is_either_the_one_asked_for_or_anything_but_it(value in scalar(), wanted in "[abAB]{0,3}") {
            let body = json!({"x": value}).to_string();
            let exact = matches(&at("x", &json!([wanted])), &body);
            let other = matches(&at("x", &json!([{"anything-but": wanted}])), &body);
            prop_assert_eq!(exact, value == json!(wanted));
            prop_assert_ne!(exact, other);
        }

        #[test]
        fn a_field_either_exists_or_does_not(value in any_json(), name in "[xy]") {
            let body = json!({name: value}).to_string();
            let exists = |wanted| matches(&at("x", &json!([{"exists": wanted}])), &body);
            prop_assert_ne!(exists(true), exists(false));
        }

        #[test]
        fn a_range_holds_what_lies_between_its_ends(low in -9_i32..9, size in 1_i32..9, value in -20_i32..20) {
            let body = json!({"x": value}).to_string();
            let within = |from, to| matches(&at("x", &json!([{"numeric": [from, low, to, low + size]}])), &body);
            prop_assert_eq!(within(">=", "<"), (low..low + size).contains(&value));
            prop_assert_eq!(within(">", "<="), (low + 1..=low + size).contains(&value));
        }

        #[test]
        fn either_of_two_patterns_is_enough_and_both_fields_are_needed(
            x in scalar(), y in scalar(), left in scalar(), right in scalar(),
        ) {
            let body = json!({"x": x, "y": y}).to_string();
            let is = |pattern: &Value| matches(&json!({"body": pattern}), &body);
            let (of_x, of_y) = (json!({"x": [left]}), json!({"y": [right]}));
            prop_assert_eq!(is(&json!({"$or": [of_x, of_y]})), is(&of_x) || is(&of_y));
            prop_assert_eq!(is(&json!({"x": [left], "y": [right]})), is(&of_x) && is(&of_y));
            prop_assert_eq!(is(&json!({"x": [left, right]})), x == left || x == right);
        }

        #[test]
        fn texts_are_compared_as_rust_compares_them(text in "[abAB]{0,4}", wanted in "[abAB]{1,2}") {
            let body = json!({"x": text}).to_string();
            let is = |test: Value| matches(&at("x", &json!([test])), &body);
            prop_assert_eq!(is(json!({"prefix": wanted})), text.starts_with(&wanted));
            prop_assert_eq!(is(json!({"suffix": wanted})), text.ends_with(&wanted));
            prop_assert_eq!(is(json!({"equals-ignore-case": wanted})), text.eq_ignore_ascii_case(&wanted));
        }
    }
}
