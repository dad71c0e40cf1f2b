//! A message to send, checked before the call.

use std::time::Duration;

use crate::attribute::Attributes;
use crate::limits::LONGEST_DELAY;
use crate::message::validate;
use crate::quote::Quoted;

/// The parts of a message that SQS checks when it is sent.
#[derive(Debug, Clone, Copy)]
pub struct Outgoing<'a> {
    /// The body text.
    pub body: &'a str,
    /// The message attributes.
    pub attributes: &'a Attributes,
    /// The message group: required on a FIFO queue, optional on a standard queue (fair queues).
    pub group_id: Option<&'a str>,
    /// The deduplication id, for FIFO queues only.
    pub deduplication_id: Option<&'a str>,
    /// How long nobody can receive the message. By default the queue decides.
    pub delay: Option<Duration>,
}

impl Outgoing<'_> {
    /// Returns the reason why a queue would refuse the message, in words for people. `largest` is the queue's
    /// `MaximumMessageSize` in bytes. A missing deduplication id is accepted, because the sender may add it later.
    #[must_use]
    pub fn validate(&self, is_fifo: bool, largest: usize) -> Option<String> {
        validate(self.body, self.attributes, largest)
            .or_else(|| self.fault_of_ids(is_fifo))
            .or_else(|| self.fault_of_delay(is_fifo))
    }

    fn fault_of_ids(&self, is_fifo: bool) -> Option<String> {
        if is_fifo && self.group_id.is_none() {
            return Some("group_id is missing: a FIFO queue requires one".to_owned());
        }
        if let Some(id) = self.deduplication_id.filter(|_| !is_fifo) {
            return Some(format!("deduplication_id is {}, allowed for FIFO queues only", Quoted(id)));
        }
        let ids = [("group_id", self.group_id), ("deduplication_id", self.deduplication_id)];
        ids.into_iter().find_map(|(field, id)| {
            let id = id.filter(|id| !is_message_id(id))?;
            Some(format!(
                "{field} is {}, allowed: 1 to 128 letters, digits and punctuation marks of ASCII, no spaces",
                Quoted(id)
            ))
        })
    }

    fn fault_of_delay(&self, is_fifo: bool) -> Option<String> {
        let delay = self.delay.unwrap_or_default();
        if is_fifo && !delay.is_zero() {
            let seconds = delay.as_secs_f64();
            return Some(format!(
                "delay is {seconds}, allowed for standard queues only: a FIFO queue has one delay for all messages"
            ));
        }
        let (seconds, most) = (delay.as_secs_f64(), LONGEST_DELAY.as_secs());
        (delay > LONGEST_DELAY).then(|| format!("delay is {seconds}, allowed: 0 to {most} seconds"))
    }
}

/// Returns true if SQS accepts the text as a message group id or as a deduplication id.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessage.html>
#[must_use]
pub fn is_message_id(id: &str) -> bool {
    (1..=128).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_the_allowed_values() {
        let attributes = Attributes::new();
        let message = Outgoing {
            body: "b",
            attributes: &attributes,
            group_id: None,
            deduplication_id: None,
            delay: None,
        };
        let grouped = |group_id| Outgoing { group_id: Some(group_id), ..message };
        let known = |id| Outgoing { deduplication_id: Some(id), ..grouped("g") };
        let delayed = |seconds| Outgoing { delay: Some(Duration::from_secs(seconds)), ..grouped("g") };
        let long = "g".repeat(129);
        for (message, is_fifo, expected) in [
            (message, true, "group_id is missing"),
            (grouped("a b"), false, "group_id is \"a b\", allowed: 1 to 128"),
            (grouped(""), true, "group_id is \"\", allowed"),
            (grouped(&long), true, "(129 characters), allowed"),
            (known("é"), true, "deduplication_id is \"é\", allowed: 1 to 128"),
            (known("d"), false, "allowed for FIFO queues only"),
            (delayed(901), false, "delay is 901, allowed: 0 to 900 seconds"),
            (delayed(1), true, "delay is 1, allowed for standard queues only"),
            (Outgoing { body: "bb", ..message }, false, "have 2 bytes, allowed: 1"),
        ] {
            let fault = message.validate(is_fifo, 1).unwrap_or_default();
            assert!(fault.contains(expected), "{fault}");
        }
        for (message, is_fifo) in [
            (message, false),
            (grouped("g"), false),
            (delayed(900), false),
            (delayed(0), true),
            (known("!~"), true),
        ] {
            assert_eq!(message.validate(is_fifo, 1), None, "{message:?}");
        }
    }
}
