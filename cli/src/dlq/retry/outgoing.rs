//! A letter as it goes back: the message that it was, with `redrive.origin` in the place of the note. Pure.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use aws_sdk_sqs::error::BuildError;
use aws_sdk_sqs::types::{
    MessageAttributeValue, MessageSystemAttributeName, MessageSystemAttributeNameForSends,
    MessageSystemAttributeValue, SendMessageBatchRequestEntry,
};
use redrive_sqs::{DeadLetter, MAX_ATTRIBUTES, Origin, accepted};

use super::super::letter::Letter;
use super::super::limits::size;

/// Where letters go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Destination {
    pub(crate) is_fifo: bool,
    /// The largest message that it takes, in bytes.
    pub(crate) largest: usize,
}

/// A message to send.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Outgoing {
    pub(crate) body: String,
    pub(crate) attributes: BTreeMap<String, MessageAttributeValue>,
    pub(crate) group: Option<String>,
    deduplication_id: Option<String>,
    trace: Option<String>,
    origin: Origin,
    /// Whether there was room for it.
    pub(crate) has_origin: bool,
}

impl Outgoing {
    /// # Errors
    /// What keeps it from going there.
    pub(crate) fn new(letter: &Letter, to: Destination) -> Result<Self, String> {
        let origin = letter.next_origin();
        let group = letter.group().map(str::to_owned);
        if to.is_fifo && group.is_none() {
            return Err("has no group id, which a FIFO queue needs".to_owned());
        }
        let mut attributes = letter.attributes.clone();
        attributes.remove(DeadLetter::ATTRIBUTE);
        attributes.remove(Origin::ATTRIBUTE);
        let mut outgoing = Self {
            body: letter.body.clone(),
            attributes,
            group,
            deduplication_id: to.is_fifo.then(|| deduplication_id(&letter.id, origin.redrives)),
            trace: letter.system(&MessageSystemAttributeName::AwsTraceHeader).map(str::to_owned),
            origin: origin.clone(),
            has_origin: false,
        };
        outgoing.attach(&origin, to.largest);
        Ok(outgoing)
    }

    /// With another body and other attributes, which a FIFO queue must not take for what it has seen before.
    pub(super) fn edited(
        &self,
        body: String,
        attributes: BTreeMap<String, MessageAttributeValue>,
        largest: usize,
    ) -> Self {
        let mut hasher = DefaultHasher::new();
        (&body, format!("{attributes:?}")).hash(&mut hasher);
        let digest = hasher.finish();
        let deduplication_id = self.deduplication_id.as_ref().map(|id| format!("{id}-{digest:016x}"));
        let mut edited = Self { body, attributes, deduplication_id, has_origin: false, ..self.clone() };
        edited.attach(&self.origin, largest);
        edited
    }

    /// The attributes that redrive did not write.
    pub(super) fn own(&self) -> impl Iterator<Item = (&String, &MessageAttributeValue)> {
        self.attributes.iter().filter(|(name, _)| name.as_str() != Origin::ATTRIBUTE)
    }

    /// Rather without than not at all.
    fn attach(&mut self, origin: &Origin, largest: usize) {
        let Ok(json) = serde_json::to_string(origin) else { return };
        let json = json.replace(|c: char| !accepted(c), "\u{fffd}");
        let attribute = MessageAttributeValue::builder().data_type("String").string_value(json).build();
        let Ok(attribute) = attribute else { return };
        if self.attributes.len() >= MAX_ATTRIBUTES {
            return;
        }
        self.attributes.insert(Origin::ATTRIBUTE.to_owned(), attribute);
        self.has_origin = self.size() <= largest;
        if !self.has_origin {
            self.attributes.remove(Origin::ATTRIBUTE);
        }
    }

    /// What SQS counts toward its limits.
    pub(crate) fn size(&self) -> usize {
        size(&self.body, &self.attributes)
    }

    /// An entry of a batch.
    ///
    /// # Errors
    /// Never, since both fields that an entry needs are set.
    pub(crate) fn entry(&self, id: usize) -> Result<SendMessageBatchRequestEntry, BuildError> {
        let mut entry = SendMessageBatchRequestEntry::builder()
            .id(id.to_string())
            .message_body(&self.body)
            .set_message_group_id(self.group.clone())
            .set_message_deduplication_id(self.deduplication_id.clone());
        for (name, attribute) in &self.attributes {
            entry = entry.message_attributes(name, attribute.clone());
        }
        if let Some(trace) = &self.trace {
            let trace =
                MessageSystemAttributeValue::builder().data_type("String").string_value(trace).build()?;
            entry =
                entry.message_system_attributes(MessageSystemAttributeNameForSends::AwsTraceHeader, trace);
        }
        entry.build()
    }
}

/// Not that of the letter: within five minutes a FIFO queue swallows what has an id that it knows. The same for the same
/// letter, so that a second run after a crash does not send it twice.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/using-messagededuplicationid-property.html>
fn deduplication_id(letter: &str, redrives: u32) -> String {
    format!("{letter}-{redrives}")
}

#[cfg(test)]
#[path = "outgoing/tests.rs"]
mod tests;
