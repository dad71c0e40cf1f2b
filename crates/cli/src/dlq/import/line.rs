//! Reads a line of the file and makes a message of it. Pure.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use redrive_sqs::{Attributes, DeadLetter, cut_to};
use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::dlq::letter::restored;
use crate::dlq::line::Attribute;
use crate::messages::{advice_on_layout, without_place};
use crate::sqs::{NewMessage, QueueRules};

/// Five minutes, in which SQS drops a second message with a deduplication id, and 30 s more for clocks that differ.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/using-messagededuplicationid-property.html>
const REMEMBERED: Duration = Duration::from_secs(330);

/// The fields of a line.
#[derive(Debug, Deserialize)]
pub(super) struct ImportLine {
    body: String,
    #[serde(default)]
    attributes: BTreeMap<String, Attribute>,
    group_id: Option<String>,
    deduplication_id: Option<String>,
    trace_header: Option<String>,
    id: Option<String>,
    enqueued_at: Option<String>,
    // Facts about the letter. Files of other programs may have other things under the same names.
    message_id: Option<Value>,
    source: Option<Value>,
    attempts: Option<Value>,
    sent_at: Option<Value>,
}

/// The message of a line.
#[derive(Debug)]
pub(super) struct Import {
    pub(super) message: NewMessage,
    /// True if it is a copy of a letter that may still be in the queue.
    pub(super) is_copy: bool,
    /// True if a copy names its message, so that `retry` treats the copy and the letter as one.
    pub(super) has_identity: bool,
}

/// The deduplication id by which a FIFO queue knows a message, and a digest of its content.
#[derive(Debug)]
pub(super) struct Identity {
    pub(super) id: String,
    pub(super) content: [u8; 32],
}

impl ImportLine {
    /// # Errors
    /// The line is not a letter, and why.
    pub(super) fn parse(line: &[u8]) -> Result<Self, String> {
        if let Some(advice) = advice_on_layout(line) {
            return Err(advice.to_owned());
        }
        serde_json::from_slice(line).map_err(|error| {
            let reason = without_place(&error);
            format!("{reason}; each line must be a JSON object as redrive dlq export writes it")
        })
    }

    /// # Errors
    /// SQS would refuse it, and why.
    pub(super) fn read(
        self,
        to: &QueueRules,
        names_messages: bool,
        now: SystemTime,
    ) -> Result<Import, String> {
        let (is_copy, note) = (self.id.is_some(), self.note(now));
        let mut message = self.into_message(to, now)?;
        let has_note = message.attributes.contains_key(DeadLetter::ATTRIBUTE);
        let has_identity = match note.filter(|_| names_messages && !has_note) {
            Some(note) => attach(&note, &mut message, to),
            None => has_note || !is_copy || !names_messages,
        };
        Ok(Import { message, is_copy, has_identity })
    }

    /// Returns the note from which `retry` knows the message, if the file names it.
    fn note(&self, now: SystemTime) -> Option<DeadLetter> {
        let text = |value: &Option<Value>| value.as_ref().and_then(Value::as_str).map(str::to_owned);
        let time = |text: Option<String>| text.and_then(|text| humantime::parse_rfc3339(&text).ok());
        let attempts = self.attempts.as_ref().and_then(Value::as_u64);
        Some(restored(
            &text(&self.message_id).or_else(|| self.id.clone())?,
            &text(&self.source).unwrap_or_default(),
            attempts.and_then(|attempts| attempts.try_into().ok()).unwrap_or_default(),
            time(text(&self.sent_at)),
            time(self.enqueued_at.clone()).unwrap_or(now),
        ))
    }

    fn into_message(self, to: &QueueRules, now: SystemTime) -> Result<NewMessage, String> {
        let attributes = self.attributes.into_iter().map(|(name, value)| match value.into_value() {
            Ok(value) => Ok((name, value)),
            Err(reason) => Err(format!("the attribute {}: {reason}", cut_to(&name, 64))),
        });
        let attributes: Attributes = attributes.collect::<Result<_, _>>()?;
        let is_missing = to.is_fifo && !to.deduplicates_by_content;
        let id = self.deduplication_id.or(self.id).filter(|_| to.is_fifo);
        let message = NewMessage {
            body: self.body,
            attributes,
            group_id: self.group_id,
            deduplication_id: id.map(|id| unswallowed(id, self.enqueued_at.as_deref(), now)),
            trace_header: self.trace_header,
            delay: None,
        };
        match message.fault(to) {
            Some(fault) => Err(fault),
            None if is_missing && message.deduplication_id.is_none() => {
                Err("deduplication_id is missing, which this FIFO queue needs".to_owned())
            }
            None => Ok(message),
        }
    }
}

/// Attaches the note. Returns false if the message has no room for it.
fn attach(note: &DeadLetter, message: &mut NewMessage, to: &QueueRules) -> bool {
    message.attributes.insert(DeadLetter::ATTRIBUTE.to_owned(), note.to_attribute());
    let fits = message.fault(to).is_none();
    if !fits {
        message.attributes.remove(DeadLetter::ATTRIBUTE);
    }
    fits
}

/// Returns an id that SQS does not confuse with that of the exported letter. The same line always has the same id.
fn unswallowed(id: String, enqueued_at: Option<&str>, now: SystemTime) -> String {
    let enqueued = enqueued_at.and_then(|text| humantime::parse_rfc3339(text).ok());
    match enqueued {
        Some(enqueued) if enqueued + REMEMBERED > now => {
            let since = enqueued.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            format!("{}-{}", since.as_millis(), id.chars().take(100).collect::<String>())
        }
        _ => id,
    }
}

impl Identity {
    /// Returns none if SQS takes each message for a new one.
    pub(super) fn of(message: &NewMessage, to: &QueueRules) -> Option<Self> {
        if !to.is_fifo {
            return None;
        }
        let of_body = || Sha256::digest(&message.body).iter().map(|byte| format!("{byte:02x}")).collect();
        let id: String = message.deduplication_id.clone().unwrap_or_else(of_body);
        let group = message.group_id.as_deref().filter(|_| to.deduplicates_by_group).unwrap_or_default();
        let content = format!("{:?}", (&message.body, &message.attributes, &message.group_id));
        Some(Self { id: format!("{group} {id}"), content: Sha256::digest(content).into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STANDARD: QueueRules = QueueRules::for_tests(false, 1_000);
    const FIFO: QueueRules = QueueRules::for_tests(true, 100);
    const BY_CONTENT: QueueRules = QueueRules { deduplicates_by_content: true, ..FIFO };

    fn message(line: &str, to: &QueueRules, now: u64) -> Result<NewMessage, String> {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(now);
        ImportLine::parse(line.as_bytes()).and_then(|line| line.into_message(to, now))
    }

    #[test]
    fn a_line_that_cannot_be_sent_says_why() {
        for (line, to, expected) in [
            ("{", &STANDARD, "jq -c . puts each on its own line"),
            ("[{\"body\": \"x\"}]", &STANDARD, "jq -c '.[]' turns an array into lines"),
            (
                "{\"body\"",
                &STANDARD,
                "column 7: EOF while parsing an object; each line must be a JSON object as redrive",
            ),
            ("{}", &STANDARD, "column 2: missing field `body`"),
            (r#"{"body": {}}"#, &STANDARD, "expected a string"),
            (r#"{"body": ""}"#, &STANDARD, "the body is empty"),
            (r#"{"body": "\u0001"}"#, &STANDARD, "the character \\u{1}, which SQS does not allow"),
            (r#"{"body": "x", "attributes": {"a": 1}}"#, &STANDARD, "an attribute is a string"),
            (
                r#"{"body": "x", "attributes": {"a": {"type": "Binary", "base64": "%"}}}"#,
                &STANDARD,
                "the attribute a: base64",
            ),
            (
                r#"{"body": "x", "attributes": {"n": {"type": "Number", "value": "many"}}}"#,
                &STANDARD,
                "\"many\"",
            ),
            (r#"{"body": "x", "group_id": "a b"}"#, &STANDARD, "group_id is \"a b\""),
            (
                r#"{"body": "x", "group_id": "g", "deduplication_id": "é"}"#,
                &FIFO,
                "deduplication_id is \"é\"",
            ),
            (r#"{"body": "x"}"#, &FIFO, "group_id is missing"),
            (r#"{"body": "x", "group_id": "g"}"#, &FIFO, "deduplication_id is missing"),
        ] {
            let reason = message(line, to, 0).expect_err(line);
            assert!(reason.contains(expected), "{line}: {reason}");
        }
        let long = format!(r#"{{"body": "{}", "group_id": "g", "id": "i"}}"#, "x".repeat(101));
        assert_eq!(
            message(&long, &FIFO, 0).expect_err("it is too long"),
            "body and attributes have 101 bytes, allowed: 100"
        );
    }

    #[test]
    fn a_deduplication_id_stays_unless_sqs_remembers_it_or_the_queue_has_none() {
        let line = r#"{"body": "x", "group_id": "g", "deduplication_id": "d", "enqueued_at": "1970-01-01T00:01:00.500Z"}"#;
        let id = |to, now| message(line, to, now).map(|message| message.deduplication_id);
        assert_eq!(id(&FIFO, 500), Ok(Some("d".to_owned())));
        assert_eq!(id(&FIFO, 300), Ok(Some("60500-d".to_owned())));
        assert_eq!(id(&STANDARD, 300), Ok(None));
        let without = message(r#"{"body": "x", "group_id": "g"}"#, &BY_CONTENT, 0);
        assert_eq!(without.map(|message| message.deduplication_id), Ok(None));
    }

    #[test]
    fn a_message_is_identified_as_the_queue_deduplicates() {
        let ids = |to: &QueueRules, lines: [&str; 2]| {
            lines.map(|line| Identity::of(&message(line, to, 0).unwrap(), to).map(|identity| identity.id))
        };
        let lines = [r#"{"body": "1", "group_id": "a"}"#, r#"{"body": "1", "group_id": "b"}"#];
        let [one, other] = ids(&BY_CONTENT, lines);
        assert!(one.is_some() && one == other);
        let [one, other] = ids(&QueueRules { deduplicates_by_group: true, ..BY_CONTENT }, lines);
        assert_ne!(one, other);
        assert_eq!(ids(&STANDARD, lines), [None, None]);
    }
}
