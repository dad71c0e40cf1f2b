//! Fields of conditions, and their values in a letter.

use std::borrow::Cow;
use std::str::FromStr;
use std::time::{Duration, SystemTime};

use anyhow::bail;
use base64::prelude::{BASE64_STANDARD, Engine};
use redrive_sqs::{Quoted, queue_name};
use serde_json::Value;

use super::path::Path;
use crate::letters::letter::Letter;

#[derive(Debug, Clone)]
pub(super) enum Field {
    Body,
    BodyPath(Path),
    Attribute(String),
    Plain(Plain),
}

/// Fields that are a single word.
#[derive(Debug, Clone, Copy)]
pub(super) enum Plain {
    Reason,
    Error,
    Exception,
    Group,
    Function,
    Source,
    Attempts,
    Age,
    Sent,
    Id,
}

/// Type of a field, which decides its operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FieldType {
    /// A text, which may be a number.
    Text,
    Number,
    Duration,
    Time,
}

/// Value of a field in a letter.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Found<'a> {
    Text(Cow<'a, str>),
    /// Two names, of which either may match.
    Names(&'a str, &'a str),
    /// A number in decimal notation, so that no digit is lost.
    Number(Cow<'a, str>),
    Duration(Duration),
    Time(SystemTime),
}

const PLAIN: [(&str, Plain); 10] = [
    ("reason", Plain::Reason),
    ("error", Plain::Error),
    ("exception", Plain::Exception),
    ("group", Plain::Group),
    ("function", Plain::Function),
    ("source", Plain::Source),
    ("attempts", Plain::Attempts),
    ("age", Plain::Age),
    ("sent", Plain::Sent),
    ("id", Plain::Id),
];

impl Field {
    pub(super) fn kind(&self) -> FieldType {
        match self {
            Self::Plain(Plain::Attempts) => FieldType::Number,
            Self::Plain(Plain::Age) => FieldType::Duration,
            Self::Plain(Plain::Sent) => FieldType::Time,
            Self::Body | Self::BodyPath(_) | Self::Attribute(_) | Self::Plain(_) => FieldType::Text,
        }
    }

    /// Returns true if only redrive's note or the function's log has this field.
    pub(super) fn is_of_note(&self) -> bool {
        matches!(self, Self::Plain(Plain::Error | Plain::Exception | Plain::Function))
    }

    /// Returns true if only the function's log has this field of the letter, and was not read.
    pub(super) fn is_unknown(&self, letter: &Letter) -> bool {
        self.is_of_note() && letter.is_silent() && letter.logged.is_none()
    }

    /// Returns true if senders choose its name, so that a typing error in it is not refused.
    pub(super) fn is_of_sender(&self) -> bool {
        matches!(self, Self::BodyPath(_) | Self::Attribute(_))
    }

    pub(super) fn is_reason(&self) -> bool {
        matches!(self, Self::Plain(Plain::Reason))
    }

    /// Returns the letter's value, or none if it lacks the field.
    pub(super) fn find<'a>(&self, letter: &'a Letter, now: SystemTime) -> Option<Found<'a>> {
        match self {
            Self::Body => Some(Found::Text(Cow::Borrowed(&letter.body))),
            Self::BodyPath(path) => {
                let found = path.find(&letter.body)?;
                // A value that cannot be parsed, such as half a surrogate pair, is compared as it is written.
                Some(serde_json::from_str(found).map_or_else(|_| Found::Text(Cow::Borrowed(found)), of_json))
            }
            Self::Attribute(name) => of_attribute(letter, name),
            Self::Plain(plain) => plain.find(letter, now),
        }
    }
}

impl Plain {
    fn find(self, letter: &Letter, now: SystemTime) -> Option<Found<'_>> {
        let text = |text: &'_ str| (!text.is_empty()).then(|| Found::Text(Cow::Owned(text.to_owned())));
        match self {
            Self::Reason => text(letter.reason()),
            Self::Error => text(letter.error()),
            Self::Exception => text(letter.exception()),
            Self::Group => text(letter.group()?),
            Self::Function => text(letter.function()),
            Self::Source => {
                let arn = letter.source()?;
                Some(Found::Names(arn, queue_name(arn)))
            }
            Self::Attempts => Some(Found::Number(Cow::Owned(letter.attempts()?.to_string()))),
            Self::Age => {
                // A sender's clock may be ahead of ours.
                Some(Found::Duration(now.duration_since(letter.sent_at()?).unwrap_or_default()))
            }
            Self::Sent => letter.sent_at().map(Found::Time),
            Self::Id => Some(Found::Names(&letter.id, letter.message_id())),
        }
    }
}

fn of_json<'a>(value: Value) -> Found<'a> {
    match value {
        Value::String(text) => Found::Text(Cow::Owned(text)),
        Value::Number(number) => Found::Number(Cow::Owned(number.to_string())),
        other => Found::Text(Cow::Owned(other.to_string())),
    }
}

/// Returns the value of a message attribute, as base64 if it is binary.
fn of_attribute<'a>(letter: &'a Letter, name: &str) -> Option<Found<'a>> {
    let attribute = letter.attributes.get(name)?;
    Some(match attribute.as_str() {
        Some(number) if attribute.data_type().starts_with("Number") => Found::Number(Cow::Borrowed(number)),
        Some(text) => Found::Text(Cow::Borrowed(text)),
        None => Found::Text(Cow::Owned(BASE64_STANDARD.encode(attribute.as_bytes()))),
    })
}

impl FromStr for Field {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Some((_, plain)) = PLAIN.iter().find(|(name, _)| *name == text) {
            return Ok(Self::Plain(*plain));
        }
        if text == "body" {
            return Ok(Self::Body);
        }
        if let Some(path) = text.strip_prefix("body").filter(|rest| rest.starts_with(['.', '['])) {
            return Path::parse(path).map(Self::BodyPath);
        }
        match text.strip_prefix("attribute.") {
            Some(name) if !name.is_empty() && !name.contains('"') => Ok(Self::Attribute(name.to_owned())),
            _ => bail!(
                "there is no field {}, allowed: body, body.PATH, attribute.NAME, {}",
                Quoted(text),
                names()
            ),
        }
    }
}

fn names() -> String {
    PLAIN.map(|(name, _)| name).join(", ")
}
