//! Messages from files: a JSON object per line, or an event as Lambda receives it. Pure.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use base64::prelude::{BASE64_STANDARD, Engine};
use redrive_sqs::{Attribute, Attributes, cut_to, queue_name};
use serde::Deserialize;
use serde_json::Value;

use crate::{AttributeValue, MessageAttribute, NewMessage};

/// A message from a file, with its queue.
#[derive(Debug, Clone, PartialEq)]
pub struct FileMessage {
    pub place: Place,
    pub to: Address,
    pub message: NewMessage,
}

/// The position of a message in its file, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    Line(usize),
    /// The number of a record in an event.
    Record(usize),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(number) => write!(f, "line {number}"),
            Self::Record(number) => write!(f, "record {number}"),
        }
    }
}

/// Returns the attributes of a message in SQS's form.
#[must_use]
pub fn attributes_of(message: &NewMessage) -> Attributes {
    let attributes = message.attributes.iter().map(|(name, attribute)| {
        let data_type = attribute.data_type.as_str();
        let attribute = match &attribute.value {
            AttributeValue::Text(text) => Attribute::text(data_type, text.as_str()),
            AttributeValue::Binary(bytes) => Attribute::binary(data_type, bytes.as_slice()),
        };
        (name.clone(), attribute)
    });
    attributes.collect()
}

/// The queue that a file names for a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// The file names no queue.
    Any,
    /// The file names this queue.
    Queue(String),
    /// The file is an event of a queue with this name.
    Event(String),
}

/// An error in a file of messages, with its position.
#[derive(Debug, PartialEq, Eq)]
pub struct MessageError {
    pub place: Place,
    pub message: String,
}

impl fmt::Display for MessageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

impl std::error::Error for MessageError {}

/// Reads a whole file.
///
/// # Errors
/// Returns the first line or record that is not a message. Empty lines are skipped.
pub fn parse(text: &str) -> Result<Vec<FileMessage>, MessageError> {
    if let Ok(event) = serde_json::from_str::<Event>(text) {
        let records = event.records.into_iter().enumerate();
        let outgoing = records.map(|(index, record)| {
            let place = Place::Record(index + 1);
            record.message(place).map_err(|message| MessageError { place, message })
        });
        return outgoing.collect();
    }
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(index, line)| {
            let place = Place::Line(index + 1);
            match MessageLine::parse(line) {
                Ok(line) => Ok(line.message(place)),
                Err(message) => Err(MessageError { place, message }),
            }
        })
        .collect()
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct MessageLine {
    body: Value,
    queue: Option<String>,
    #[serde(default)]
    attributes: BTreeMap<String, String>,
    group_id: Option<String>,
    deduplication_id: Option<String>,
    /// Delay in seconds.
    delay: Option<u64>,
}

impl MessageLine {
    fn parse(line: &str) -> Result<Self, String> {
        if let Some(advice) = advice_on_layout(line.as_bytes()) {
            return Err(advice.to_owned());
        }
        serde_json::from_str(line).map_err(|error| without_place(&error) + advice_on_body(line))
    }

    fn message(self, place: Place) -> FileMessage {
        let body = match self.body {
            Value::String(text) => text,
            other => other.to_string(),
        };
        let attribute =
            |value| MessageAttribute { data_type: "String".to_owned(), value: AttributeValue::Text(value) };
        let message = NewMessage {
            body,
            attributes: self.attributes.into_iter().map(|(name, value)| (name, attribute(value))).collect(),
            trace_header: None,
            group_id: self.group_id,
            deduplication_id: self.deduplication_id,
            delay: self.delay.map(Duration::from_secs),
        };
        FileMessage { place, to: self.queue.map_or(Address::Any, Address::Queue), message }
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
    #[serde(rename = "eventSourceARN")]
    arn: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RecordAttribute {
    data_type: String,
    string_value: Option<String>,
    /// The value in base64.
    binary_value: Option<String>,
}

impl Record {
    fn message(mut self, place: Place) -> Result<FileMessage, String> {
        let attributes = self.message_attributes.into_iter().map(|(name, attribute)| {
            let attribute = attribute
                .parse()
                .map_err(|reason| format!("the attribute {}: {reason}", cut_to(&name, 64)))?;
            Ok((name, attribute))
        });
        let message = NewMessage {
            body: self.body,
            attributes: attributes.collect::<Result<_, String>>()?,
            trace_header: self.attributes.remove("AWSTraceHeader"),
            group_id: self.attributes.remove("MessageGroupId"),
            deduplication_id: self.attributes.remove("MessageDeduplicationId"),
            delay: None,
        };
        let queue = self.arn.as_deref().map(queue_name);
        let to = queue.map_or(Address::Any, |queue| Address::Event(queue.to_owned()));
        Ok(FileMessage { place, to, message })
    }
}

impl RecordAttribute {
    fn parse(self) -> Result<MessageAttribute, String> {
        let value = match (self.string_value, self.binary_value) {
            (Some(text), _) => AttributeValue::Text(text),
            (None, Some(base64)) => {
                let bytes =
                    BASE64_STANDARD.decode(base64).map_err(|error| format!("binaryValue: {error}"))?;
                AttributeValue::Binary(bytes)
            }
            (None, None) => return Err("stringValue or binaryValue is missing".to_owned()),
        };
        Ok(MessageAttribute { data_type: self.data_type, value })
    }
}

/// Returns advice about a line that is a part of JSON instead of a whole message.
#[must_use]
pub fn advice_on_layout(line: &[u8]) -> Option<&'static str> {
    match line.trim_ascii() {
        [b'[', rest @ ..] if matches!(rest.trim_ascii_start(), [] | [b'{' | b'[' | b'"' | b']', ..]) => {
            Some("an array is not a message: one message per line; jq -c '.[]' turns an array into lines")
        }
        b"{" => Some("{ alone is not a message: one message per line; jq -c . puts each on its own line"),
        _ => None,
    }
}

/// Returns advice about a line that is only a body.
fn advice_on_body(line: &str) -> &'static str {
    match serde_json::from_str::<Value>(line) {
        Ok(Value::Object(fields)) if fields.contains_key("body") => "",
        Ok(_) => "; if each line is a body, jq -c '{body: .}' turns them into messages",
        Err(_) if line.trim_start().starts_with('{') => "",
        Err(_) => "; if each line is a body, jq -cR '{body: .}' turns them into messages",
    }
}

/// Returns the column and the reason. serde_json's line number is dropped, because the text is a single line.
#[must_use]
pub fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let reason = text.split(" at line ").next().unwrap_or(&text);
    // serde_json quotes unknown names unescaped.
    format!("column {}: {}", error.column(), cut_to(&reason.replace(char::is_control, " "), 256))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_a_text_as_it_is_or_json_made_compact() {
        let text = "{\"body\": \"{ not json\"}\n\n{\"body\": {\"b\": [1, 2], \"a\": null}}\n";
        let bodies: Vec<_> = parse(text).unwrap().into_iter().map(|outgoing| outgoing.message.body).collect();
        assert_eq!(bodies, ["{ not json", r#"{"b":[1,2],"a":null}"#]);
    }

    #[test]
    fn everything_beside_the_body_is_optional() {
        let text = r#"{"body": "x", "queue": "q", "attributes": {"a": "1"}, "group_id": "g", "deduplication_id": "d", "delay": 5}"#;
        let [FileMessage { to, message, .. }] = &parse(text).unwrap()[..] else {
            panic!("expected one message")
        };
        assert_eq!(*to, Address::Queue("q".to_owned()));
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
            ("{\"b\\ndy\": 1}", 1, "unknown field `b dy`"),
            ("{\"body\": 1, \"delay\": \"soon\"}", 1, "invalid type: string \"soon\", expected u64"),
        ] {
            let error = parse(text).unwrap_err();
            assert_eq!(error.place, Place::Line(line), "{error}");
            assert!(error.message.contains(reason), "{error}");
        }
    }

    #[test]
    fn an_event_gives_its_records() {
        let messages = parse(include_str!("../../../../events/fifo.json")).unwrap();
        assert!(messages.len() > 1);
        for FileMessage { to, message, .. } in messages {
            assert!(message.group_id.is_some() && message.deduplication_id.is_some());
            assert!(matches!(to, Address::Event(name) if redrive_sqs::is_fifo(&name)));
        }
        assert!(parse(include_str!("../../../../events/empty.json")).unwrap().is_empty());
    }

    #[test]
    fn a_record_s_binary_attribute_is_its_bytes() {
        let event = |value: &str| {
            let attribute = format!(r#"{{"dataType": "Binary.seal", {value} "stringListValues": []}}"#);
            parse(&format!(
                r#"{{"Records": [{{"body": "x", "messageAttributes": {{"seal": {attribute}}}}}]}}"#
            ))
        };
        let seal = event(r#""binaryValue": "AP8K","#).unwrap().remove(0).message.attributes["seal"].clone();
        let value = AttributeValue::Binary(vec![0, 255, 10]);
        assert_eq!(seal, MessageAttribute { data_type: "Binary.seal".to_owned(), value });
        for (wrong, expected) in [
            (r#""binaryValue": "%","#, "record 1: the attribute seal: binaryValue: Invalid"),
            ("", "record 1: the attribute seal: stringValue or binaryValue is missing"),
        ] {
            let error = event(wrong).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn a_parse_error_contains_advice() {
        for (text, line, advice) in [
            ("[{\"body\": \"x\"}]", 1, "one message per line; jq -c '.[]' turns an array into lines"),
            ("[\n  {\"body\": 1}\n]\n", 1, "jq -c '.[]'"),
            ("{\n  \"body\": 1\n}\n", 1, "jq -c . puts each on its own line"),
            ("{\"email\": \"a@b\"}", 1, "unknown field `email`, expected one of `body`"),
            (
                "{\"email\": \"a@b\"}",
                1,
                "; if each line is a body, jq -c '{body: .}' turns them into messages",
            ),
            ("{\"body\": 1}\n\"text\"", 2, "jq -c '{body: .}'"),
            ("[INFO] paid", 1, "expected value; if each line is a body, jq -cR '{body: .}'"),
            ("order,cents", 1, "column 1: expected value; if each line is a body, jq -cR '{body: .}'"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.place == Place::Line(line) && error.message.contains(advice), "{error}");
        }
        let complete = "{\"body\": 1, \"delai\": 5}";
        assert!(!parse(complete).unwrap_err().message.contains("jq"), "a body is there");
    }
}
