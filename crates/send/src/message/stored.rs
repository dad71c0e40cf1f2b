//! Messages as text, for an outbox.

use std::collections::BTreeMap;
use std::time::Duration;

use redrive_sqs::{Attribute, is_fifo};
use serde::{Deserialize, Serialize};

use super::NewMessage;
use crate::SendError;

#[derive(Serialize, Deserialize)]
struct Stored {
    body: String,
    #[serde(default)]
    attributes: BTreeMap<String, StoredAttribute>,
    group: Option<String>,
    deduplication: Option<String>,
    delay: Option<Duration>,
    trace: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct StoredAttribute {
    data_type: String,
    text: Option<String>,
    #[serde(default)]
    bytes: Vec<u8>,
}

/// For `redrive-postgres` alone.
#[doc(hidden)]
impl NewMessage {
    /// Returns the message as text, with the trace of its writer.
    #[must_use]
    pub fn to_stored(self) -> String {
        let message = self.traced();
        let attribute = |(name, attribute): (&String, &Attribute)| {
            let text = attribute.as_str().map(str::to_owned);
            let bytes = if text.is_some() { Vec::new() } else { attribute.as_bytes().to_vec() };
            (name.clone(), StoredAttribute { data_type: attribute.data_type().to_owned(), text, bytes })
        };
        let stored = Stored {
            attributes: message.attributes.iter().map(attribute).collect(),
            body: message.body,
            group: message.group,
            deduplication: message.deduplication,
            delay: message.delay,
            trace: message.trace,
        };
        serde_json::to_string(&stored).expect("it is made of texts and numbers")
    }

    /// # Errors
    /// The text was not written by [`to_stored`](Self::to_stored).
    pub fn from_stored(text: &str) -> Result<Self, serde_json::Error> {
        let Stored { body, attributes, group, deduplication, delay, trace } = serde_json::from_str(text)?;
        let attribute = |(name, stored): (String, StoredAttribute)| {
            let StoredAttribute { data_type, text, bytes } = stored;
            let attribute = match text {
                Some(text) => Attribute::text(data_type, text),
                None => Attribute::binary(data_type, bytes),
            };
            (name, attribute)
        };
        let attributes = attributes.into_iter().map(attribute).collect();
        Ok(Self { body, attributes, group, deduplication, delay, trace })
    }

    /// Returns the group if it decides the order of the queue's messages.
    #[must_use]
    pub fn fifo_group(&self, queue_url: &str) -> Option<&str> {
        self.group.as_deref().filter(|_| is_fifo(queue_url))
    }

    /// # Errors
    /// SQS would refuse the message.
    pub fn check(&self, queue_url: &str) -> Result<(), SendError> {
        self.check_for(is_fifo(queue_url))
    }

    /// Sets an attribute that is missing, and on a FIFO queue the deduplication id.
    pub fn or_key(mut self, queue_url: &str, (name, attribute): (&str, Attribute), key: &str) -> Self {
        self.attributes.entry(name.to_owned()).or_insert(attribute);
        if is_fifo(queue_url) {
            self.deduplication.get_or_insert_with(|| key.to_owned());
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_message_is_the_same() {
        let message = NewMessage::text("b")
            .attribute("text", "x")
            .attribute("png", Attribute::binary("Binary.png", [0, 255]))
            .group("g")
            .deduplication("d")
            .delay(Duration::from_millis(1_500))
            .trace_header("Root=1");
        assert_eq!(NewMessage::from_stored(&message.clone().to_stored()).unwrap(), message);
        assert!(NewMessage::from_stored("{}").is_err());
    }
}
