//! Reads the messages to send from files, each with its queue.

use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use redrive_iac::nearest::or_known;
use redrive_sqs::{MAX_BYTES, Outgoing, is_fifo};

use super::stack::Stack;
use crate::NewMessage;
use crate::command::input;
use crate::command::messages::{self, Address, FileMessage, Place};

/// A message with its queue, and the file and line that it was read from.
#[derive(Debug)]
pub(super) struct Addressed {
    pub(super) place: String,
    pub(super) queue: String,
    pub(super) message: NewMessage,
}

#[derive(Debug)]
pub(super) struct Queues<'plan> {
    stack: &'plan Stack,
    stack_name: &'plan str,
    template: &'plan Path,
    /// The queue for messages that do not name one.
    default: Option<&'plan str>,
}

impl<'plan> Queues<'plan> {
    pub(super) fn new(
        stack: &'plan Stack,
        stack_name: &'plan str,
        template: &'plan Path,
        wanted: Option<&str>,
    ) -> anyhow::Result<Self> {
        let queues = Self { stack, stack_name, template, default: None };
        let sources = stack.sources();
        let default = match (wanted, sources.as_slice()) {
            (Some(wanted), _) => Some(queues.named(wanted)?),
            (None, [source]) => Some(*source),
            (None, _) => None,
        };
        Ok(Self { default, ..queues })
    }

    /// Finds a queue by its name, with or without the stack's name before it.
    fn named(&self, wanted: &str) -> anyhow::Result<&'plan str> {
        self.find(wanted).with_context(|| {
            let all: Vec<&str> = self.stack.queues.iter().map(|queue| queue.name.as_str()).collect();
            format!("no queue {wanted} in {}{}", self.template.display(), or_known(wanted, &all))
        })
    }

    fn find(&self, wanted: &str) -> Option<&'plan str> {
        let names = || self.stack.queues.iter().map(|queue| queue.name.as_str());
        let in_stack = |name: &str| name.strip_prefix(self.stack_name)?.strip_prefix('-').map(str::to_owned);
        names()
            .find(|name| *name == wanted)
            .or_else(|| names().find(|name| in_stack(name).as_deref() == Some(wanted)))
    }

    /// Refuses what the queue would refuse, before functions are built.
    fn check(&self, queue: &str, message: &NewMessage) -> anyhow::Result<()> {
        let config = self.stack.queues.iter().find(|config| config.name == queue);
        let largest = config.and_then(|config| config.attributes.get("MaximumMessageSize")?.parse().ok());
        let outgoing = Outgoing {
            body: &message.body,
            attributes: &messages::attributes_of(message),
            group_id: message.group_id.as_deref(),
            deduplication_id: message.deduplication_id.as_deref(),
            delay: message.delay,
        };
        let fault = outgoing.validate(is_fifo(queue), largest.unwrap_or(MAX_BYTES));
        fault.map_or(Ok(()), |fault| bail!("{queue}: {fault}"))
    }

    fn of(&self, address: &Address) -> anyhow::Result<&'plan str> {
        let said = match address {
            Address::Queue(name) => Some(self.named(name)?),
            Address::Event(name) => self.find(name),
            Address::Any => None,
        };
        said.or(self.default).with_context(|| {
            let feed = if self.stack.mappings.is_empty() { "" } else { " feed functions" };
            let sources = self.stack.sources().join(", ");
            format!("several queues{feed}, choose one with \"queue\" or --queue: {sources}")
        })
    }
}

/// Reads files, `-` for stdin.
pub(super) fn read(paths: &[PathBuf], queues: &Queues<'_>) -> anyhow::Result<Vec<Addressed>> {
    let mut all = Vec::new();
    for path in paths {
        let (name, text) = input::text(path, "the message file")?;
        let messages = messages::parse(&text).map_err(|error| match error.place {
            Place::Line(line) => anyhow!("{name}:{line}: {}", error.message),
            Place::Record(_) => anyhow!("{name}: {error}"),
        })?;
        for FileMessage { place, to, message } in messages {
            let place = format!("{name}: {place}");
            let queue = queues.of(&to).with_context(|| place.clone())?.to_owned();
            queues.check(&queue, &message).with_context(|| place.clone())?;
            all.push(Addressed { place, queue, message });
        }
    }
    Ok(all)
}
