//! The note that redrive writes beside a dead-lettered message.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::queue::{AttributeValue, MessageAttribute};

/// The attribute that holds it.
pub(super) const NOTE: &str = "redrive.dead-letter";

/// What is read of a note; all of it may be missing.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Note {
    pub(super) reason: Option<String>,
    pub(super) error: Option<String>,
    pub(super) attempts: Option<u32>,
    pub(super) message_id: Option<String>,
    pub(super) source: Option<String>,
}

impl Note {
    pub(super) fn of(attributes: &BTreeMap<String, MessageAttribute>) -> Option<Self> {
        match &attributes.get(NOTE)?.value {
            AttributeValue::Text(text) => serde_json::from_str(text).ok(),
            AttributeValue::Binary(_) => None,
        }
    }
}
