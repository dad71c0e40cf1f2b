//! Describes events that are not from SQS, for the error of the invocation and for
//! [`on_other_event`](crate::Consumer::on_other_event).

use std::fmt;

use redrive_sqs::{Quoted, cut_to};
use serde::Serialize;
use serde_json::Value;

/// The maximum number of keys that a description quotes.
const KEYS: usize = 8;

const BY_RUN: &str = "Consumer::on_other_event takes other events";

/// `handle` and the tower service call no `on_other_event`.
const BY_HANDLE_ANY: &str = "Consumer::handle_any takes other events";

/// An event that is not from SQS, or that cannot be read.
#[derive(Debug)]
pub(crate) struct Other {
    /// A description, such as `an event of aws:s3`.
    pub(crate) what: String,
    /// `None` if the event contains SQS messages, or may contain some: Lambda would delete them after a successful response.
    pub(crate) event: Option<Value>,
    /// A hint that names the method for such events. Empty if there is none.
    pub(crate) taker: &'static str,
}

impl fmt::Display for Other {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        if self.taker.is_empty() { Ok(()) } else { write!(f, "; {}", self.taker) }
    }
}

impl Other {
    /// Describes a payload. `fault` is the reason why it could not be read as an SQS event.
    pub(crate) fn of_payload(payload: &[u8], fault: Option<&serde_json::Error>) -> Self {
        match serde_json::from_slice(payload) {
            Ok(event) => Self::new(event, fault),
            Err(error) => {
                let what = format!("a payload that is not JSON ({})", short(&error));
                Self { what, event: None, taker: "" }
            }
        }
    }

    /// Describes an event that was read as an SQS event, but has records that are not from SQS.
    pub(crate) fn of_event(event: &impl Serialize) -> Self {
        let other = Self::new(serde_json::to_value(event).unwrap_or_default(), None);
        let taker = if other.event.is_some() { BY_HANDLE_ANY } else { "" };
        Self { taker, ..other }
    }

    fn new(event: Value, fault: Option<&serde_json::Error>) -> Self {
        let records = match &event {
            Value::Array(items) => items.as_slice(),
            event => event["Records"].as_array().map_or(&[][..], Vec::as_slice),
        };
        let is_of_sqs = records.iter().any(is_of_sqs);
        let what = match (records.iter().find_map(another_source), &event) {
            (Some(source), _) => format!("an event of {}", cut_to(source, 64)),
            (None, Value::Array(_)) if is_of_sqs => {
                "a JSON array of SQS messages, as EventBridge Pipes sends them".to_owned()
            }
            (None, _) if is_of_sqs => {
                let why = fault.map(|fault| format!(" ({})", short(fault))).unwrap_or_default();
                format!("one that cannot be read{why}")
            }
            (None, event) => describe(event),
        };
        let taker = if is_of_sqs { "" } else { BY_RUN };
        Self { what, event: (!is_of_sqs).then_some(event), taker }
    }
}

fn short(error: &serde_json::Error) -> String {
    cut_to(&error.to_string(), 256).into_owned()
}

fn source(record: &Value) -> Option<&str> {
    // SNS capitalizes the name of the field.
    [&record["eventSource"], &record["EventSource"]].into_iter().find_map(Value::as_str)
}

fn another_source(record: &Value) -> Option<&str> {
    source(record).filter(|source| *source != redrive_event::SQS)
}

/// Returns true for an SQS message. The records of emulators need not name their source.
fn is_of_sqs(record: &Value) -> bool {
    match source(record) {
        Some(source) => source == redrive_event::SQS,
        None => ["messageId", "receiptHandle", "body"].iter().any(|name| !record[name].is_null()),
    }
}

fn describe(event: &Value) -> String {
    match event {
        Value::Null => "null".to_owned(),
        Value::Bool(_) => "a JSON boolean".to_owned(),
        Value::Number(_) => "a JSON number".to_owned(),
        Value::String(_) => "a JSON string".to_owned(),
        Value::Array(items) => format!("a JSON array of length {}", items.len()),
        Value::Object(object) => {
            if let Some(source) = source(event) {
                return format!("an event of {}", cut_to(source, 64));
            }
            if let (Some(source), true) = (event["source"].as_str(), object.contains_key("detail-type")) {
                return format!("an EventBridge event of {}", cut_to(source, 64));
            }
            if object.contains_key("requestContext") {
                return "an HTTP request".to_owned();
            }
            if object.contains_key("Records") {
                return "a JSON object whose Records are not SQS messages".to_owned();
            }
            match object.len() {
                0 => "an empty JSON object".to_owned(),
                keys => format!("a JSON object with the {}", listed(object.keys(), keys)),
            }
        }
    }
}

fn listed<'a>(keys: impl Iterator<Item = &'a String>, all: usize) -> String {
    let mut keys: Vec<_> = keys.map(|key| Quoted(key).to_string()).collect();
    keys.sort_unstable();
    keys.truncate(KEYS);
    let more = if all > KEYS { format!(" and {} more", all - KEYS) } else { String::new() };
    format!("key{} {}{more}", if all == 1 { "" } else { "s" }, keys.join(", "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn what(event: &Value) -> (String, bool) {
        let other = Other::of_payload(event.to_string().as_bytes(), None);
        (other.what, other.event.is_some())
    }

    #[test]
    fn other_events_are_described_in_a_few_words() {
        let record = |source: &str| json!({ "Records": [{ "eventSource": source, "s3": {} }] });
        for (event, expected) in [
            (json!(null), "null"),
            (json!(true), "a JSON boolean"),
            (json!(7), "a JSON number"),
            (json!("Records"), "a JSON string"),
            (json!([1, 2]), "a JSON array of length 2"),
            (json!({}), "an empty JSON object"),
            (record("aws:s3"), "an event of aws:s3"),
            (record("aws:dynamodb"), "an event of aws:dynamodb"),
            (
                json!({ "Records": [{ "EventSource": "aws:sns", "Sns": { "MessageId": "1" } }] }),
                "an event of aws:sns",
            ),
            (json!({ "eventSource": "aws:kafka", "records": {} }), "an event of aws:kafka"),
            (
                json!({ "version": "0", "source": "aws.events", "detail-type": "Scheduled Event", "detail": {} }),
                "an EventBridge event of aws.events",
            ),
            (json!({ "version": "2.0", "rawPath": "/", "requestContext": {} }), "an HTTP request"),
            (json!({ "Records": "none" }), "a JSON object whose Records are not SQS messages"),
            (
                json!({ "Records": [1, {}, { "body": null }] }),
                "a JSON object whose Records are not SQS messages",
            ),
            (json!({ "source": "ping", "detail": 1 }), "a JSON object with the keys \"detail\", \"source\""),
            (json!({ "wa\nrm": 1 }), "a JSON object with the key \"wa\\nrm\""),
            (
                (0..10).map(|key| (format!("k{key}"), json!(1))).collect(),
                "a JSON object with the keys \"k0\", \"k1\", \"k2\", \"k3\", \"k4\", \"k5\", \"k6\", \"k7\" and 2 more",
            ),
        ] {
            assert_eq!(what(&event), (expected.to_owned(), true), "{event}");
        }
        let long = json!({ "a".repeat(1_000_000): 1, "b".repeat(1_000_000): 2 });
        assert!(what(&long).0.len() < 300);
        assert!(what(&record(&"x".repeat(1_000_000))).0.len() < 100);
    }

    /// Lambda deletes the messages of an event that is answered without a failure.
    #[test]
    fn an_event_that_may_contain_sqs_messages_is_handed_to_nobody() {
        let message = json!({ "messageId": {}, "body": "1", "eventSource": "aws:sqs" });
        for event in [
            json!({ "Records": [message] }),
            json!({ "Records": [{ "eventSource": "aws:s3" }, message] }),
            json!({ "Records": [{ "receiptHandle": "r" }] }),
            json!({ "Records": [{ "body": 1 }] }),
            json!([message]),
        ] {
            assert!(!what(&event).1, "{event}");
        }
        let fault = serde_json::from_str::<u8>("{}").unwrap_err();
        let unreadable = json!({ "Records": [message] }).to_string();
        let said = Other::of_payload(unreadable.as_bytes(), Some(&fault)).what;
        assert_eq!(said, "one that cannot be read (invalid type: map, expected u8 at line 1 column 0)");
        for payload in [&b"\xff"[..], b"", b"{\"Records\":["] {
            let other = Other::of_payload(payload, None);
            assert!(other.what.starts_with("a payload that is not JSON (") && other.event.is_none());
        }
    }
}
