//! The messages that were given, wherever they come from.

use std::time::Duration;

use anyhow::anyhow;
use redrive_local::{AttributeValue, MessageAttribute, NewMessage};

use super::Arguments;
use crate::input;
use crate::messages::{self, Address};

/// A message, and where it comes from.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sending {
    /// Such as `messages.jsonl: line 3`.
    pub(super) place: String,
    pub(super) to: Address,
    pub(super) message: NewMessage,
}

/// Reads all of them, with what the flags add.
pub(super) fn read(arguments: &Arguments) -> anyhow::Result<Vec<Sending>> {
    let mut sendings = match &arguments.body {
        Some(body) => vec![of_flags(body, arguments)],
        None => of_files(arguments)?,
    };
    for Sending { message, .. } in &mut sendings {
        for (name, value) in &arguments.attributes {
            let attribute = MessageAttribute {
                data_type: "String".to_owned(),
                value: AttributeValue::Text(value.clone()),
            };
            message.attributes.entry(name.clone()).or_insert(attribute);
        }
        message.group_id = message.group_id.take().or_else(|| arguments.group_id.clone());
        message.delay = message.delay.or(arguments.delay.map(Duration::from_secs));
    }
    Ok(sendings)
}

fn of_flags(body: &str, arguments: &Arguments) -> Sending {
    let message = NewMessage {
        body: body.to_owned(),
        deduplication_id: arguments.deduplication_id.clone(),
        ..NewMessage::default()
    };
    Sending { place: "--body".to_owned(), to: Address::Any, message }
}

fn of_files(arguments: &Arguments) -> anyhow::Result<Vec<Sending>> {
    let mut sendings = Vec::new();
    for path in &arguments.files {
        let (name, text) = input::text(path, "the messages")?;
        let read = messages::parse(&text).map_err(|error| anyhow!("{name}: {error}"))?;
        sendings.extend(read.into_iter().map(|outgoing| Sending {
            place: format!("{name}: {}", outgoing.place),
            to: outgoing.to,
            message: outgoing.message,
        }));
    }
    Ok(sendings)
}
