//! The SQS event as Lambda sends it, read once and borrowed from the invocation's bytes or from an `SqsEvent`.
//!
//! This crate is internal to redrive, whose users see a `Record`. It may change in any version.

// `usual` uses `json` to read the events that Lambda usually sends. `serde_json` reads all others.

mod json;
mod usual;

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use aws_lambda_events::sqs::{SqsMessage, SqsMessageAttribute};
use redrive_sqs::{Attribute, Attributes};
use serde::Deserialize;
use serde::de::{Deserializer, Visitor};
use serde_json::value::RawValue;

/// `eventSource` of records from SQS.
#[doc(hidden)]
pub const SQS: &str = "aws:sqs";

/// The payload of an invocation.
#[doc(hidden)]
#[derive(Deserialize, Debug, PartialEq)]
pub struct Event<'event> {
    #[serde(borrow, rename = "Records")]
    pub records: Vec<Entry<'event>>,
}

impl<'event> Event<'event> {
    pub fn read(text: &'event str) -> serde_json::Result<Self> {
        match usual::read(text) {
            Some(event) => Ok(event),
            None => serde_json::from_str(text),
        }
    }
}

/// Reads an event in Lambda's usual form, else returns `None`. Tests compare the result with that of `serde_json`.
#[doc(hidden)]
#[must_use]
pub fn read_usual(text: &str) -> Option<Event<'_>> {
    usual::read(text)
}

/// One record. Every field is optional, because no record may make its batch fail.
#[doc(hidden)]
#[derive(Deserialize, Default, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Entry<'event> {
    #[serde(borrow)]
    pub message_id: Option<Borrowed<'event>>,
    #[serde(borrow)]
    pub receipt_handle: Option<Borrowed<'event>>,
    #[serde(borrow)]
    pub body: Option<Borrowed<'event>>,
    #[serde(borrow)]
    pub event_source: Option<Borrowed<'event>>,
    #[serde(borrow, rename = "eventSourceARN")]
    pub source: Option<Borrowed<'event>>,
    #[serde(borrow)]
    pub attributes: Option<System<'event>>,
    #[serde(borrow)]
    pub message_attributes: Option<UserAttributes<'event>>,
}

impl Entry<'_> {
    /// Returns the ARN of the queue, or an empty string without one.
    #[must_use]
    pub fn source(&self) -> &str {
        self.source.as_ref().map_or("", |source| &source.0)
    }

    #[must_use]
    pub fn receipt_handle(&self) -> &str {
        self.receipt_handle.as_ref().map_or("", |handle| &handle.0)
    }

    /// Returns true if a different service sent the record.
    #[must_use]
    pub fn is_other(&self) -> bool {
        let is_empty = || self.message_id.is_none() && self.receipt_handle.is_none() && self.body.is_none();
        self.event_source.as_ref().map_or_else(is_empty, |source| source.0 != SQS)
    }
}

/// The attributes that SQS sets.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_ReceiveMessage.html>
#[doc(hidden)]
#[derive(Deserialize, Default, Debug, PartialEq)]
#[serde(rename_all = "PascalCase", default)]
pub struct System<'event> {
    #[serde(borrow)]
    pub approximate_receive_count: Option<Borrowed<'event>>,
    #[serde(borrow)]
    pub sent_timestamp: Option<Borrowed<'event>>,
    #[serde(borrow)]
    pub approximate_first_receive_timestamp: Option<Borrowed<'event>>,
    #[serde(borrow)]
    pub message_group_id: Option<Borrowed<'event>>,
    #[serde(borrow)]
    pub message_deduplication_id: Option<Borrowed<'event>>,
    #[serde(borrow)]
    pub sender_id: Option<Borrowed<'event>>,
    #[serde(borrow, rename = "AWSTraceHeader")]
    pub trace_header: Option<Borrowed<'event>>,
}

impl<'event> System<'event> {
    /// Returns the attribute with this name, unless redrive ignores it.
    pub fn attribute(&mut self, name: &str) -> Option<&mut Option<Borrowed<'event>>> {
        Some(match name {
            "ApproximateReceiveCount" => &mut self.approximate_receive_count,
            "SentTimestamp" => &mut self.sent_timestamp,
            "ApproximateFirstReceiveTimestamp" => &mut self.approximate_first_receive_timestamp,
            "MessageGroupId" => &mut self.message_group_id,
            "MessageDeduplicationId" => &mut self.message_deduplication_id,
            "SenderId" => &mut self.sender_id,
            "AWSTraceHeader" => &mut self.trace_header,
            _ => return None,
        })
    }
}

impl<'event, N: AsRef<str>> FromIterator<(N, &'event String)> for System<'event> {
    fn from_iter<I: IntoIterator<Item = (N, &'event String)>>(attributes: I) -> Self {
        let mut system = Self::default();
        for (name, value) in attributes {
            if let Some(attribute) = system.attribute(name.as_ref()) {
                *attribute = Some(Borrowed::from(value.as_str()));
            }
        }
        system
    }
}

/// A string, borrowed unless it has escapes. A number is read as its text.
#[doc(hidden)]
#[derive(Debug, PartialEq)]
pub struct Borrowed<'event>(pub Cow<'event, str>);

/// The attributes that the sender set, parsed on demand.
#[doc(hidden)]
#[derive(Deserialize, Clone, Debug, PartialEq)]
#[serde(from = "&'event RawValue", bound(deserialize = "'de: 'event"))]
pub enum UserAttributes<'event> {
    Json(&'event str),
    Event(&'event HashMap<String, SqsMessageAttribute>),
    /// Attributes of a record that was built in code.
    Owned(Arc<Attributes>),
}

impl<'event> From<&'event RawValue> for UserAttributes<'event> {
    fn from(json: &'event RawValue) -> Self {
        Self::Json(json.get())
    }
}

impl<'event> From<&'event SqsMessage> for Entry<'event> {
    fn from(message: &'event SqsMessage) -> Self {
        let text = |value: &'event Option<String>| value.as_deref().map(Borrowed::from);
        Self {
            message_id: text(&message.message_id),
            receipt_handle: text(&message.receipt_handle),
            body: text(&message.body),
            event_source: text(&message.event_source),
            source: text(&message.event_source_arn),
            attributes: Some(message.attributes.iter().collect()),
            message_attributes: Some(UserAttributes::Event(&message.message_attributes)),
        }
    }
}

impl<'event> From<&'event str> for Borrowed<'event> {
    fn from(text: &'event str) -> Self {
        Self(Cow::Borrowed(text))
    }
}

impl<'de: 'event, 'event> Deserialize<'de> for Borrowed<'event> {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        json.deserialize_any(TextVisitor).map(Self)
    }
}

struct TextVisitor;

impl<'event> Visitor<'event> for TextVisitor {
    type Value = Cow<'event, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string or a number")
    }

    fn visit_borrowed_str<E>(self, text: &'event str) -> Result<Self::Value, E> {
        Ok(text.into())
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(text.to_owned().into())
    }

    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(number.to_string().into())
    }

    fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
        Ok(number.to_string().into())
    }

    fn visit_f64<E>(self, number: f64) -> Result<Self::Value, E> {
        Ok(number.to_string().into())
    }
}

impl UserAttributes<'_> {
    /// Parses the attributes, and omits those that are neither text nor base64.
    #[must_use]
    pub fn read(&self) -> Attributes {
        match self {
            Self::Owned(attributes) => Attributes::clone(attributes),
            Self::Event(attributes) => {
                attributes.iter().filter_map(|(name, value)| owned(name, value)).collect()
            }
            Self::Json(json) => serde_json::from_str::<HashMap<String, &RawValue>>(json)
                .unwrap_or_default()
                .into_iter()
                .filter_map(|(name, value)| owned(&name, &serde_json::from_str(value.get()).ok()?))
                .collect(),
        }
    }

    /// Returns true if there are no attributes, without parsing them.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Owned(attributes) => attributes.is_empty(),
            Self::Event(attributes) => attributes.is_empty(),
            Self::Json(json) => matches!(*json, "{}" | "null"),
        }
    }
}

fn owned(name: &str, attribute: &SqsMessageAttribute) -> Option<(String, Attribute)> {
    let data_type = attribute.data_type.as_deref()?;
    let value = match (&attribute.string_value, &attribute.binary_value) {
        (Some(text), _) => Attribute::text(data_type, text),
        (None, Some(bytes)) => Attribute::binary(data_type, bytes.0.clone()),
        (None, None) => return None,
    };
    Some((name.to_owned(), value))
}
