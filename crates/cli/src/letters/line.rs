//! A letter as a line of JSON, which `list --json` and `export` write and `import` reads. Pure.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use aws_sdk_sqs::types::MessageSystemAttributeName;
use base64::prelude::{BASE64_STANDARD, Engine};
use redrive::Origin;
use serde::{Deserialize, Serialize};

use super::letter::Letter;
use super::when::rfc3339;

/// First the message itself, then facts about it.
#[derive(Debug, Serialize)]
pub(crate) struct LetterLine<'a> {
    /// Message id in the dead-letter queue, for `retry --ids`.
    id: &'a str,
    body: &'a str,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    attributes: BTreeMap<&'a str, Attribute>,
    #[serde(skip_serializing_if = "Option::is_none")]
    group_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    deduplication_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trace_header: Option<&'a str>,
    /// Message id in the source queue.
    message_id: &'a str,
    reason: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    error: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    exception: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    attempts: Option<u32>,
    #[serde(skip_serializing_if = "str::is_empty")]
    function: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    request_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<&'a Origin>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sent_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failed_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    enqueued_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<String>,
}

/// A message attribute. One of the type String is a plain string.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "an attribute is a string, {\"type\", \"value\"} or {\"type\", \"base64\"}")]
pub(crate) enum Attribute {
    String(String),
    Text { r#type: String, value: String },
    Binary { r#type: String, base64: String },
}

impl<'a> LetterLine<'a> {
    /// Describes a letter. `retention` is the dead-letter queue's.
    pub(crate) fn of(letter: &'a Letter, retention: Duration) -> Self {
        let note = letter.note.as_ref();
        let time = |time: Option<SystemTime>| time.map(rfc3339);
        Self {
            id: &letter.id,
            body: &letter.body,
            attributes: letter
                .attributes
                .iter()
                .map(|(name, value)| (name.as_str(), Attribute::of(value)))
                .collect(),
            group_id: letter.group(),
            deduplication_id: letter.system(&MessageSystemAttributeName::MessageDeduplicationId),
            trace_header: letter.system(&MessageSystemAttributeName::AwsTraceHeader),
            message_id: letter.message_id(),
            reason: letter.reason(),
            error: letter.error(),
            exception: letter.exception(),
            attempts: letter.attempts(),
            function: letter.function(),
            request_id: letter.request_id(),
            source: letter.source(),
            origin: letter.origin.as_ref(),
            sent_at: time(letter.sent_at()),
            failed_at: time(note.map(|note| note.failed_at)),
            enqueued_at: time(letter.enqueued_at()),
            expires_at: time(letter.expires_at(retention)),
        }
    }
}

impl Attribute {
    pub(crate) fn of(attribute: &redrive_sqs::Attribute) -> Self {
        let r#type = attribute.data_type().to_owned();
        match attribute.as_str() {
            None => Self::Binary { r#type, base64: BASE64_STANDARD.encode(attribute.as_bytes()) },
            Some(text) if r#type == "String" => Self::String(text.to_owned()),
            Some(text) => Self::Text { r#type, value: text.to_owned() },
        }
    }

    /// # Errors
    /// Its base64 is malformed, and how.
    pub(crate) fn into_value(self) -> Result<redrive_sqs::Attribute, String> {
        Ok(match self {
            Self::String(text) => redrive_sqs::Attribute::text("String", text),
            Self::Text { r#type, value } => redrive_sqs::Attribute::text(r#type, value),
            Self::Binary { r#type, base64 } => {
                let bytes = BASE64_STANDARD.decode(base64).map_err(|error| format!("base64: {error}"))?;
                redrive_sqs::Attribute::binary(r#type, bytes)
            }
        })
    }
}
