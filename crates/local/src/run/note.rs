//! Reads redrive's note on messages that are sent to a dead-letter queue. Messages that a redrive policy moves there keep
//! their sender's attributes, so a note on them is ignored.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::queue::{AttributeValue, MessageAttribute};

/// The attribute that contains the note.
pub(super) const NOTE: &str = redrive_sqs::DeadLetter::ATTRIBUTE;

/// The parts of a note that are read, all of them optional.
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
