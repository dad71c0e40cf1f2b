//! A line to be sent. Pure.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, SystemTime};

use aws_sdk_sqs::types::{
    MessageAttributeValue, MessageSystemAttributeNameForSends, MessageSystemAttributeValue,
    QueueAttributeName, SendMessageBatchRequestEntry,
};
use redrive_sqs::MAX_BYTES;
use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::dlq::limits::{fault, size};
use crate::dlq::line::Attribute;
use crate::find::Queue;

/// For as long SQS takes the same deduplication id for the same message, and some more for clocks that differ.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/using-messagededuplicationid-property.html>
const REMEMBERED: Duration = Duration::from_secs(330);

/// What is read of a line.
#[derive(Debug, Deserialize)]
pub(super) struct Parcel {
    body: String,
    #[serde(default)]
    attributes: BTreeMap<String, Attribute>,
    group_id: Option<String>,
    deduplication_id: Option<String>,
    trace_header: Option<String>,
    id: Option<String>,
    enqueued_at: Option<String>,
}

/// What matters of the queue.
#[derive(Debug, Clone, Copy)]
pub(super) struct Receiver {
    is_fifo: bool,
    deduplicates_by_content: bool,
    deduplicates_by_group: bool,
    largest: usize,
}

/// By which a FIFO queue knows a message, and all that is in it.
#[derive(Debug)]
pub(super) struct Identity {
    pub(super) id: String,
    pub(super) content: [u8; 32],
}

/// A message without the id that it has in its batch.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) bytes: usize,
    body: String,
    attributes: HashMap<String, MessageAttributeValue>,
    group_id: Option<String>,
    deduplication_id: Option<String>,
    trace_header: Option<String>,
}

impl Receiver {
    pub(super) fn of(queue: &Queue) -> Self {
        let largest =
            usize::try_from(queue.count(&QueueAttributeName::MaximumMessageSize)).unwrap_or_default();
        Self {
            is_fifo: queue.is_fifo(),
            deduplicates_by_content: queue.text(&QueueAttributeName::ContentBasedDeduplication)
                == Some("true"),
            deduplicates_by_group: queue.text(&QueueAttributeName::DeduplicationScope)
                == Some("messageGroup"),
            largest: if largest == 0 { MAX_BYTES } else { largest.min(MAX_BYTES) },
        }
    }

    pub(super) fn is_fifo(&self) -> bool {
        self.is_fifo
    }
}

impl Parcel {
    /// # Errors
    /// Why the line is not a letter.
    pub(super) fn parse(line: &[u8]) -> Result<Self, String> {
        serde_json::from_slice(line).map_err(|error| {
            let text = error.to_string();
            // Each line is a text of its own, so that its number in it says nothing.
            let reason = text.split(" at line ").next().unwrap_or(&text);
            format!("column {}: {reason}", error.column())
        })
    }

    pub(super) fn group_id(&self) -> Option<&str> {
        self.group_id.as_deref()
    }

    /// # Errors
    /// Why SQS would not take it.
    pub(super) fn into_entry(self, to: &Receiver, now: SystemTime) -> Result<Entry, String> {
        let attributes = self.attributes.into_iter().map(|(name, value)| match value.into_value() {
            Ok(value) => Ok((name, value)),
            Err(reason) => Err(format!("the attribute {name}: {reason}")),
        });
        let attributes: BTreeMap<_, _> = attributes.collect::<Result<_, _>>()?;
        if let Some(reason) = fault(&self.body, &attributes, to.largest) {
            return Err(reason);
        }
        if to.is_fifo && self.group_id.is_none() {
            return Err("group_id is missing, which a FIFO queue needs".to_owned());
        }
        let deduplication_id = match (self.deduplication_id.or(self.id), to.is_fifo) {
            (_, false) => None,
            (None, true) if to.deduplicates_by_content => None,
            (None, true) => return Err("deduplication_id is missing, which this FIFO queue needs".to_owned()),
            (Some(id), true) => Some(unswallowed(id, self.enqueued_at.as_deref(), now)),
        };
        Ok(Entry {
            bytes: size(&self.body, &attributes),
            body: self.body,
            attributes: attributes.into_iter().collect(),
            group_id: self.group_id,
            deduplication_id,
            trace_header: self.trace_header,
        })
    }
}

/// An id that SQS does not take for that of the letter that was exported: the same for the same line.
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

impl Entry {
    pub(super) fn group_id(&self) -> Option<&str> {
        self.group_id.as_deref()
    }

    /// None where SQS takes each message for a new one.
    pub(super) fn identity(&self, to: &Receiver) -> Option<Identity> {
        if !to.is_fifo {
            return None;
        }
        let of_body = || Sha256::digest(&self.body).iter().map(|byte| format!("{byte:02x}")).collect();
        let id: String = self.deduplication_id.clone().unwrap_or_else(of_body);
        let group = self.group_id.as_deref().filter(|_| to.deduplicates_by_group).unwrap_or_default();
        let attributes: BTreeMap<_, _> = self.attributes.iter().collect();
        let content = format!("{:?}", (&self.body, attributes, &self.group_id));
        Some(Identity { id: format!("{group} {id}"), content: Sha256::digest(content).into() })
    }

    pub(super) fn build(&self, id: usize) -> SendMessageBatchRequestEntry {
        let trace = self.trace_header.as_ref().map(|header| {
            let value = MessageSystemAttributeValue::builder().data_type("String").string_value(header);
            let value = value.build().expect("a type is all that is needed");
            HashMap::from([(MessageSystemAttributeNameForSends::AwsTraceHeader, value)])
        });
        SendMessageBatchRequestEntry::builder()
            .id(id.to_string())
            .message_body(&self.body)
            .set_message_attributes(Some(self.attributes.clone()))
            .set_message_system_attributes(trace)
            .set_message_group_id(self.group_id.clone())
            .set_message_deduplication_id(self.deduplication_id.clone())
            .build()
            .expect("an id and a body are all that is needed")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Receiver {
        pub(in super::super) const fn standard() -> Self {
            let (deduplicates_by_content, deduplicates_by_group) = (false, false);
            Self { is_fifo: false, deduplicates_by_content, deduplicates_by_group, largest: MAX_BYTES }
        }

        pub(in super::super) const fn fifo() -> Self {
            Self { is_fifo: true, largest: 100, ..Self::standard() }
        }

        pub(in super::super) fn by_content(self) -> Self {
            Self { deduplicates_by_content: true, ..self }
        }

        pub(in super::super) fn by_group(self) -> Self {
            Self { deduplicates_by_group: true, ..self }
        }
    }

    const STANDARD: Receiver = Receiver::standard();
    const FIFO: Receiver = Receiver::fifo();

    fn entry(line: &str, to: &Receiver, now: u64) -> Result<Entry, String> {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(now);
        Parcel::parse(line.as_bytes()).and_then(|parcel| parcel.into_entry(to, now))
    }

    #[test]
    fn a_line_that_cannot_be_sent_says_why() {
        for (line, to, expected) in [
            ("{", &STANDARD, "column 1: EOF while parsing an object"),
            ("{}", &STANDARD, "column 2: missing field `body`"),
            (r#"{"body": {}}"#, &STANDARD, "expected a string"),
            (r#"{"body": ""}"#, &STANDARD, "the body is empty"),
            (r#"{"body": "\u0001"}"#, &STANDARD, "a character that SQS does not take"),
            (r#"{"body": "x", "attributes": {"a": 1}}"#, &STANDARD, "an attribute is a text"),
            (
                r#"{"body": "x", "attributes": {"a": {"type": "Binary", "base64": "%"}}}"#,
                &STANDARD,
                "the attribute a: base64",
            ),
            (r#"{"body": "x"}"#, &FIFO, "group_id is missing"),
            (r#"{"body": "x", "group_id": "g"}"#, &FIFO, "deduplication_id is missing"),
        ] {
            let reason = entry(line, to, 0).expect_err(line);
            assert!(reason.contains(expected), "{line}: {reason}");
        }
        let long = format!(r#"{{"body": "{}", "group_id": "g", "id": "i"}}"#, "x".repeat(101));
        assert_eq!(
            entry(&long, &FIFO, 0).expect_err("it is too long"),
            "101 bytes with its attributes, allowed: 100"
        );
    }

    #[test]
    fn a_deduplication_id_stays_unless_sqs_remembers_it_or_the_queue_has_none() {
        let line = r#"{"body": "x", "group_id": "g", "deduplication_id": "d", "enqueued_at": "1970-01-01T00:01:00.500Z"}"#;
        let id = |to, now| entry(line, to, now).map(|entry| entry.deduplication_id);
        assert_eq!(id(&FIFO, 500), Ok(Some("d".to_owned())));
        assert_eq!(id(&FIFO, 300), Ok(Some("60500-d".to_owned())));
        assert_eq!(id(&STANDARD, 300), Ok(None));
        let by_content = FIFO.by_content();
        let without = entry(r#"{"body": "x", "group_id": "g"}"#, &by_content, 0);
        assert_eq!(without.map(|entry| entry.deduplication_id), Ok(None));
    }
}
