//! Makes the message that goes back for a letter, with `redrive.origin` in place of the note. Pure.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::{SystemTime, UNIX_EPOCH};

use aws_sdk_sqs::types::MessageSystemAttributeName;
use redrive_sqs::{Attribute, Attributes, DeadLetter, MAX_ATTRIBUTES, Origin};

use super::letter::Letter;
use crate::sqs::{NewMessage, QueueRules};

/// The message that goes back for a letter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Redrive {
    pub(crate) message: NewMessage,
    origin: Origin,
    /// True if there was room for `redrive.origin`.
    pub(crate) has_origin: bool,
}

impl Redrive {
    /// # Errors
    /// The queue cannot take the letter, and why.
    pub(crate) fn new(letter: &Letter, to: &QueueRules) -> Result<Self, String> {
        let origin = letter.next_origin();
        let group_id = letter.group().map(str::to_owned);
        if to.is_fifo && group_id.is_none() {
            return Err("has no group id: a FIFO queue requires one".to_owned());
        }
        let mut attributes = letter.attributes.clone();
        attributes.remove(DeadLetter::ATTRIBUTE);
        attributes.remove(Origin::ATTRIBUTE);
        let message = NewMessage {
            body: letter.body.clone(),
            attributes,
            group_id,
            deduplication_id: to.is_fifo.then(|| deduplication_id(&letter.id, origin.redrives)),
            trace_header: letter.system(&MessageSystemAttributeName::AwsTraceHeader).map(str::to_owned),
            delay: None,
        };
        Ok(Self::with_origin(message, origin, to.largest))
    }

    /// Replaces the body and the attributes, and the deduplication id, so that a FIFO queue does not drop the message.
    pub(crate) fn edited(&self, body: String, attributes: Attributes, largest: usize) -> Self {
        let mut hasher = DefaultHasher::new();
        (&body, format!("{attributes:?}")).hash(&mut hasher);
        let digest = hasher.finish();
        let deduplication_id = self.message.deduplication_id.as_ref().map(|id| format!("{id}-{digest:016x}"));
        let message = NewMessage { body, attributes, deduplication_id, ..self.message.clone() };
        Self::with_origin(message, self.origin.clone(), largest)
    }

    /// Returns the same message with a deduplication id of this time, so that a FIFO queue does not drop it.
    pub(crate) fn once_more(mut self, now: SystemTime) -> Self {
        let millis = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        self.message.deduplication_id = self.message.deduplication_id.map(|id| format!("{id}-{millis}"));
        self
    }

    /// Returns the attributes that redrive did not write.
    pub(crate) fn own(&self) -> impl Iterator<Item = (&String, &Attribute)> {
        self.message.attributes.iter().filter(|(name, _)| name.as_str() != Origin::ATTRIBUTE)
    }

    /// Adds the origin if the message has room for it.
    fn with_origin(mut message: NewMessage, origin: Origin, largest: usize) -> Self {
        let attribute = Attribute::from(origin.clone());
        let size = message.size() + Origin::ATTRIBUTE.len() + attribute.size();
        let has_origin = message.attributes.len() < MAX_ATTRIBUTES && size <= largest;
        if has_origin {
            message.attributes.insert(Origin::ATTRIBUTE.to_owned(), attribute);
        }
        Self { message, origin, has_origin }
    }
}

/// Returns another id than the letter's, because a FIFO queue drops a message with a known id for five minutes. The same letter
/// always has the same id, so that a second run after a crash does not send it twice.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/using-messagededuplicationid-property.html>
fn deduplication_id(letter: &str, redrives: u32) -> String {
    format!("{letter}-{redrives}")
}

#[cfg(test)]
mod tests;
