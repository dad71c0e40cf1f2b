//! The note that redrive writes beside a dead-lettered message: on what is sent to a dead-letter queue, and nowhere else.
//! What a redrive policy moves there keeps what its sender wrote, and is not asked for a note.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::queue::{AttributeValue, MessageAttribute};

/// The attribute that holds it.
pub(super) const NOTE: &str = redrive_sqs::DeadLetter::ATTRIBUTE;

/// What is read of a note; all of it may be missing.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Note {
    pub(crate) reason: Option<String>,
    pub(crate) error: Option<String>,
    pub(crate) attempts: Option<u32>,
    pub(crate) message_id: Option<String>,
    pub(crate) source: Option<String>,
}

impl Note {
    pub(crate) fn of(attributes: &BTreeMap<String, MessageAttribute>) -> Option<Self> {
        match &attributes.get(NOTE)?.value {
            AttributeValue::Text(text) => serde_json::from_str(text).ok(),
            AttributeValue::Binary(_) => None,
        }
    }
}
