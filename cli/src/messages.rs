//! Messages from files: a JSON object per line, or an event as Lambda receives it. Pure.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use redrive_local::{AttributeValue, MessageAttribute, NewMessage};
use serde::Deserialize;
use serde_json::Value;

/// What is wrong with a file of messages, and on which line (from 1).
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct MessageError {
    pub(crate) line: usize,
    pub(crate) message: String,
}

impl fmt::Display for MessageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for MessageError {}

/// Reads a whole file.
///
/// # Errors
/// The first line that is not a message. Empty lines are skipped.
pub(crate) fn parse(text: &str) -> Result<Vec<NewMessage>, MessageError> {
    if let Ok(event) = serde_json::from_str::<Event>(text) {
        return Ok(event.records.into_iter().map(NewMessage::from).collect());
    }
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(index, line)| match serde_json::from_str::<Line>(line) {
            Ok(line) => Ok(NewMessage::from(line)),
            Err(error) => Err(MessageError { line: index + 1, message: without_place(&error) }),
        })
        .collect()
}

/// serde_json counts lines within the text it is given, which is one line here.
fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let reason = text.split(" at line ").next().unwrap_or(&text);
    format!("column {}: {reason}", error.column())
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    body: Value,
    #[serde(default)]
    attributes: BTreeMap<String, String>,
    group_id: Option<String>,
    deduplication_id: Option<String>,
    /// Seconds.
    delay: Option<u64>,
}

impl From<Line> for NewMessage {
    fn from(line: Line) -> Self {
        let body = match line.body {
            Value::String(text) => text,
            other => other.to_string(),
        };
        let attribute =
            |value| MessageAttribute { data_type: "String".to_owned(), value: AttributeValue::Text(value) };
        Self {
            body,
            attributes: line.attributes.into_iter().map(|(name, value)| (name, attribute(value))).collect(),
            trace_header: None,
            group_id: line.group_id,
            deduplication_id: line.deduplication_id,
            delay: line.delay.map(Duration::from_secs),
        }
    }
}

/// <https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html>
#[derive(Debug, Deserialize)]
struct Event {
    #[serde(rename = "Records")]
    records: Vec<Record>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Record {
    body: String,
    #[serde(default)]
    attributes: BTreeMap<String, String>,
    #[serde(default)]
    message_attributes: BTreeMap<String, RecordAttribute>,
}

/// Binary values, which are base64 here, are left out.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RecordAttribute {
    data_type: String,
    string_value: Option<String>,
}

impl From<Record> for NewMessage {
    fn from(mut record: Record) -> Self {
        let attributes = record.message_attributes.into_iter().filter_map(|(name, attribute)| {
            let value = AttributeValue::Text(attribute.string_value?);
            Some((name, MessageAttribute { data_type: attribute.data_type, value }))
        });
        Self {
            body: record.body,
            attributes: attributes.collect(),
            trace_header: record.attributes.remove("AWSTraceHeader"),
            group_id: record.attributes.remove("MessageGroupId"),
            deduplication_id: record.attributes.remove("MessageDeduplicationId"),
            delay: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_a_text_as_it_is_or_json_made_compact() {
        let text = "{\"body\": \"{ not json\"}\n\n{\"body\": {\"b\": [1, 2], \"a\": null}}\n";
        let bodies: Vec<_> = parse(text).unwrap().into_iter().map(|message| message.body).collect();
        assert_eq!(bodies, ["{ not json", r#"{"b":[1,2],"a":null}"#]);
    }

    #[test]
    fn everything_beside_the_body_is_optional() {
        let text = r#"{"body": "x", "attributes": {"a": "1"}, "group_id": "g", "deduplication_id": "d", "delay": 5}"#;
        let [message] = &parse(text).unwrap()[..] else { panic!("expected one message") };
        assert_eq!(message.attributes["a"].value, AttributeValue::Text("1".to_owned()));
        assert_eq!(
            (message.group_id.as_deref(), message.deduplication_id.as_deref()),
            (Some("g"), Some("d"))
        );
        assert_eq!(message.delay, Some(Duration::from_secs(5)));
    }

    #[test]
    fn a_wrong_line_is_named() {
        for (text, line, reason) in [
            ("{\"body\": 1}\n{\"body\": \n", 2, "EOF while parsing a value"),
            ("{\"body\": 1}\n\n{\"bdy\": 1}\n", 3, "unknown field `bdy`"),
            ("{}", 1, "missing field `body`"),
            ("{\"body\": 1, \"delay\": \"soon\"}", 1, "invalid type: string \"soon\", expected u64"),
        ] {
            let error = parse(text).unwrap_err();
            assert_eq!(error.line, line, "{error}");
            assert!(error.message.contains(reason), "{error}");
        }
    }

    #[test]
    fn an_event_gives_its_records() {
        let messages = parse(include_str!("../../events/fifo.json")).unwrap();
        assert!(messages.len() > 1);
        assert!(
            messages.iter().all(|message| message.group_id.is_some() && message.deduplication_id.is_some())
        );
        assert!(parse(include_str!("../../events/empty.json")).unwrap().is_empty());
    }
}
