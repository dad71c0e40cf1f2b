//! Reads messages from files, stdin and flags.

use std::time::Duration;

use anyhow::anyhow;
use redrive_sqs::Attribute;

use super::Arguments;
use crate::input;
use crate::messages::{self, Address};
use crate::sqs::NewMessage;

/// A message with its place.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Given {
    /// Place such as `messages.jsonl: line 3`.
    pub(super) place: String,
    pub(super) to: Address,
    pub(super) message: NewMessage,
}

/// Reads all messages, and adds the values of flags.
pub(super) fn read(arguments: &Arguments) -> anyhow::Result<Vec<Given>> {
    let mut given = match &arguments.body {
        Some(body) => vec![of_flags(body, arguments)],
        None => of_files(arguments)?,
    };
    for Given { message, .. } in &mut given {
        for (name, value) in &arguments.attributes {
            let attribute = || Attribute::text("String", value);
            message.attributes.entry(name.clone()).or_insert_with(attribute);
        }
        message.group_id = message.group_id.take().or_else(|| arguments.group_id.clone());
        message.delay = message.delay.or(arguments.delay.map(Duration::from_secs));
    }
    Ok(given)
}

fn of_flags(body: &str, arguments: &Arguments) -> Given {
    let message = NewMessage {
        body: body.to_owned(),
        deduplication_id: arguments.deduplication_id.clone(),
        ..NewMessage::default()
    };
    Given { place: "--body".to_owned(), to: Address::Any, message }
}

fn of_files(arguments: &Arguments) -> anyhow::Result<Vec<Given>> {
    let mut given = Vec::new();
    for path in &arguments.files {
        let (name, text) = input::text(path, "the message file")?;
        given.extend(of_text(&name, &text)?);
    }
    Ok(given)
}

pub(super) fn of_text(name: &str, text: &str) -> anyhow::Result<Vec<Given>> {
    let read = messages::parse(text).map_err(|error| anyhow!("{name}: {error}"))?;
    let given = read.into_iter().map(|read| Given {
        place: format!("{name}: {}", read.place),
        to: read.to,
        message: convert(read.message),
    });
    Ok(given.collect())
}

fn convert(message: redrive_local::NewMessage) -> NewMessage {
    NewMessage {
        attributes: messages::attributes_of(&message),
        body: message.body,
        group_id: message.group_id,
        deduplication_id: message.deduplication_id,
        trace_header: message.trace_header,
        delay: message.delay,
    }
}
