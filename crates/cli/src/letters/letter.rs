//! A message in a dead-letter queue, with redrive's note and its origin.

use std::collections::HashMap;
use std::time::{Duration, SystemTime};

use aws_sdk_sqs::types::{Message, MessageSystemAttributeName};
use redrive_sqs::{Attributes, DeadLetter, Origin, OriginSenders, origin_of_letter};
use sha2::{Digest, Sha256};

use crate::sqs::from_sdk;

/// Reason of letters without a note, which SQS moved by the redrive policy.
pub(crate) const BY_REDRIVE_POLICY: &str = "redrive-policy";

/// Reasons of letters that neither SQS moved nor redrive wrote: a service of AWS could not deliver them, or somebody sent them.
const UNDELIVERED: &str = "undelivered";
const SENT: &str = "sent";

/// Returns the note that `import` adds to a letter without one. It names the message, and has no failure.
pub(crate) fn restored(
    message_id: &str,
    source: &str,
    attempts: u32,
    sent_at: Option<SystemTime>,
    failed_at: SystemTime,
) -> DeadLetter {
    let mut note = DeadLetter::new(BY_REDRIVE_POLICY, failed_at, attempts, message_id, source);
    note.sent_at = sent_at;
    note
}

fn is_restored(note: &DeadLetter) -> bool {
    let said = [&note.error, &note.exception, &note.function, &note.request_id];
    note.reason == BY_REDRIVE_POLICY && said.iter().all(|text| text.is_empty())
}

/// Returns a warning about letters whose origin was not checked.
pub(crate) fn unchecked_origins(count: u64) -> Option<String> {
    let letters = match count {
        0 => return None,
        1 => "1 letter that SQS moved keeps the redrive.origin of its sender".to_owned(),
        _ => format!("{count} letters that SQS moved keep the redrive.origin of their senders"),
    };
    Some(format!("{letters}: list trusted senders with --origin-senders"))
}

/// A received letter.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Letter {
    /// Message id in the dead-letter queue.
    pub(crate) id: String,
    pub(crate) handle: String,
    pub(crate) body: String,
    /// All message attributes, with redrive's own, but without a note that redrive did not write.
    pub(crate) attributes: Attributes,
    pub(crate) system: HashMap<MessageSystemAttributeName, String>,
    /// Redrive's note on the failure, if redrive wrote the letter.
    pub(crate) note: Option<DeadLetter>,
    /// The note of `import` on an exported letter without one. It names the message.
    pub(crate) restored: Option<DeadLetter>,
    /// Its first message, if the letter was sent back before.
    pub(crate) origin: Option<Origin>,
    /// True if the sender may have written the origin, and no list of trusted senders was given.
    pub(crate) has_unchecked_origin: bool,
    /// The failure in the function's log, if the log was read and redrive wrote no note, or the failure that the service wrote
    /// which could not deliver it. Empty if there is none.
    pub(crate) logged: Option<Logged>,
    /// True if a service of AWS wrote the letter because it could not deliver the message.
    pub(crate) is_undelivered: bool,
    /// Number of deliveries before SQS moves a message here, if known.
    pub(crate) max_receive_count: Option<u32>,
}

/// The last failure of a message in the function's log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Logged {
    pub(crate) error: String,
    pub(crate) exception: String,
    pub(crate) function: String,
    pub(crate) request_id: String,
}

impl Letter {
    pub(crate) fn new(message: Message) -> Self {
        let mut attributes = from_sdk(message.message_attributes.unwrap_or_default());
        let system = message.attributes.unwrap_or_default();
        let moved_from = system.get(&MessageSystemAttributeName::DeadLetterQueueSourceArn);
        let found = DeadLetter::find(&attributes, moved_from.map(String::as_str));
        let (restored, note) = found.map_or((None, None), |note| match is_restored(&note) {
            true => (Some(note), None),
            false => (None, Some(note)),
        });
        if moved_from.is_some() {
            // An attribute of the sender must not pass for a note after an import.
            attributes.remove(DeadLetter::ATTRIBUTE);
        }
        Self {
            id: message.message_id.unwrap_or_default(),
            handle: message.receipt_handle.unwrap_or_default(),
            body: message.body.unwrap_or_default(),
            note,
            restored,
            origin: Origin::find(&attributes),
            has_unchecked_origin: false,
            logged: None,
            is_undelivered: false,
            max_receive_count: None,
            system,
            attributes,
        }
        .with_delivery()
    }

    /// Adds the failure from the service that could not deliver it: EventBridge and its Scheduler, or Lambda and SNS.
    /// <https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-rule-dlq.html>
    /// <https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-retain-records.html>
    fn with_delivery(mut self) -> Self {
        let said = |names: &[&str]| {
            let found = names.iter().find_map(|name| self.attributes.get(*name)?.as_str());
            found.unwrap_or_default().to_owned()
        };
        let logged = Logged {
            error: said(&["ERROR_MESSAGE", "ErrorMessage"]),
            exception: said(&["ERROR_CODE", "ErrorCode"]),
            function: String::new(),
            request_id: said(&["RequestID"]),
        };
        self.is_undelivered = self.has_no_source() && !logged.exception.is_empty();
        self.logged = self.is_undelivered.then_some(logged);
        self
    }

    /// Returns true if neither SQS moved it nor redrive wrote it, so that its source is unknown.
    pub(crate) fn has_no_source(&self) -> bool {
        self.note.is_none() && self.source().is_none()
    }

    /// Returns true if only the function's log can have the failure.
    pub(crate) fn is_silent(&self) -> bool {
        self.note.is_none() && !self.is_undelivered
    }

    /// Returns true if SQS moved it here.
    /// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_ReceiveMessage.html>
    pub(crate) fn is_moved(&self) -> bool {
        self.system.contains_key(&MessageSystemAttributeName::DeadLetterQueueSourceArn)
    }

    /// Returns the letters of received messages. See [`Letter::max_receive_count`].
    pub(crate) fn all(messages: Vec<Message>, max_receive_count: Option<u32>) -> Vec<Self> {
        messages.into_iter().map(|message| Self { max_receive_count, ..Self::new(message) }).collect()
    }

    /// Removes the origin if SQS moved the letter here from a sender who is not in the list. Without a list the origin stays. So
    /// does that of a letter that redrive wrote: its sender is the function, and nobody can tell here whether that function had a
    /// list.
    pub(crate) fn heeding(mut self, senders: Option<&OriginSenders>) -> Self {
        let is_moved = self.is_moved();
        let sender = self.system(&MessageSystemAttributeName::SenderId);
        match senders {
            None => self.has_unchecked_origin = is_moved && self.origin.is_some(),
            Some(senders) if is_moved && !sender.is_some_and(|sender| senders.has(sender)) => {
                self.origin = None;
                self.attributes.remove(Origin::ATTRIBUTE);
            }
            Some(_) => (),
        }
        self
    }

    /// Returns the message id in the source queue, which letters of one message share. SQS keeps the id of messages that it moves.
    pub(crate) fn message_id(&self) -> &str {
        self.written().map_or(&self.id, |note| &note.message_id)
    }

    /// Returns the note of redrive or of `import`.
    fn written(&self) -> Option<&DeadLetter> {
        self.note.as_ref().or(self.restored.as_ref())
    }

    /// Returns a digest of the body and the attributes for the consumer. Duplicates have the same one.
    pub(crate) fn content(&self) -> [u8; 32] {
        let mut digest = Sha256::new();
        let mut add = |part: &[u8]| {
            digest.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
            digest.update(part);
        };
        add(self.body.as_bytes());
        add(self.group().unwrap_or_default().as_bytes());
        let own = |name: &str| name != DeadLetter::ATTRIBUTE && name != Origin::ATTRIBUTE;
        for (name, attribute) in self.attributes.iter().filter(|(name, _)| own(name)) {
            add(name.as_bytes());
            add(attribute.data_type().as_bytes());
            add(attribute.as_bytes());
        }
        digest.finalize().into()
    }

    /// Returns the origin that it carries when it is sent back.
    pub(crate) fn next_origin(&self) -> Origin {
        origin_of_letter(self.message_id(), self.origin.as_ref())
    }

    pub(crate) fn reason(&self) -> &str {
        match &self.note {
            Some(note) => &note.reason,
            None if !self.has_no_source() => BY_REDRIVE_POLICY,
            None if self.is_undelivered => UNDELIVERED,
            None => SENT,
        }
    }

    /// Returns the error, empty if it is unknown.
    pub(crate) fn error(&self) -> &str {
        self.text(|note| &note.error, |logged| &logged.error)
    }

    /// Returns the type of the error, empty if it is unknown.
    pub(crate) fn exception(&self) -> &str {
        self.text(|note| &note.exception, |logged| &logged.exception)
    }

    /// Returns the function that failed, empty if it is unknown.
    pub(crate) fn function(&self) -> &str {
        self.text(|note| &note.function, |logged| &logged.function)
    }

    /// Returns the request id of the last invocation, empty if it is unknown.
    pub(crate) fn request_id(&self) -> &str {
        self.text(|note| &note.request_id, |logged| &logged.request_id)
    }

    /// Returns a field of the note, else of the log.
    fn text<'a>(
        &'a self,
        note: impl FnOnce(&'a DeadLetter) -> &'a str,
        logged: impl FnOnce(&'a Logged) -> &'a str,
    ) -> &'a str {
        match (&self.note, &self.logged) {
            (Some(found), _) => note(found),
            (None, Some(found)) => logged(found),
            (None, None) => "",
        }
    }

    /// Returns the ARN of its source queue.
    pub(crate) fn source(&self) -> Option<&str> {
        match self.written() {
            Some(note) => Some(note.source.as_str()).filter(|source| !source.is_empty()),
            None => self.system(&MessageSystemAttributeName::DeadLetterQueueSourceArn),
        }
    }

    pub(crate) fn group(&self) -> Option<&str> {
        self.system(&MessageSystemAttributeName::MessageGroupId)
    }

    /// Returns the number of deliveries before it became a letter. SQS counts on over all queues, and at each receive of the
    /// letter here.
    /// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_ReceiveMessage.html>
    pub(crate) fn attempts(&self) -> Option<u32> {
        match self.written() {
            // SQS counted only receives of the letter here.
            _ if self.has_no_source() => self.attributes.get("RETRY_ATTEMPTS")?.as_str()?.parse().ok(),
            Some(note) => Some(note.attempts),
            None => {
                let count = self.system(&MessageSystemAttributeName::ApproximateReceiveCount)?;
                let before = count.parse::<u32>().ok()?.saturating_sub(1);
                Some(self.max_receive_count.map_or(before, |most| before.min(most)))
            }
        }
    }

    /// Returns the time at which it was sent to this queue. On a standard queue, a letter that SQS moved has the time at which it
    /// was sent to the source queue. Its retention period starts then.
    pub(crate) fn enqueued_at(&self) -> Option<SystemTime> {
        let sent: u64 = self.system(&MessageSystemAttributeName::SentTimestamp)?.parse().ok()?;
        SystemTime::UNIX_EPOCH.checked_add(Duration::from_millis(sent))
    }

    /// Returns the time at which SQS drops it, with this retention period of the dead-letter queue.
    pub(crate) fn expires_at(&self, retention: Duration) -> Option<SystemTime> {
        self.enqueued_at()?.checked_add(retention)
    }

    /// Returns the time at which the message was sent to the source queue.
    pub(crate) fn sent_at(&self) -> Option<SystemTime> {
        self.written().and_then(|note| note.sent_at).or_else(|| self.enqueued_at())
    }

    pub(crate) fn system(&self, name: &MessageSystemAttributeName) -> Option<&str> {
        self.system.get(name).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use aws_sdk_sqs::types::MessageAttributeValue;

    use super::*;

    #[test]
    fn a_letter_that_sqs_did_not_move_says_why_it_was_not_delivered() {
        let letter = |attributes: &[(&str, &str)]| {
            let message = attributes.iter().fold(Message::builder(), |message, (name, value)| {
                let value = MessageAttributeValue::builder().data_type("String").string_value(*value);
                message.message_attributes(*name, value.build().expect("it is whole"))
            });
            Letter::new(message.attributes(MessageSystemAttributeName::ApproximateReceiveCount, "7").build())
        };
        let told = |letter: &Letter| {
            let texts = [letter.reason(), letter.error(), letter.exception(), letter.request_id()];
            (texts.map(str::to_owned), letter.attempts(), letter.source().map(str::to_owned))
        };
        let rule = letter(&[
            ("RULE_ARN", "arn:aws:events:eu-west-1:123456789012:rule/placed"),
            ("ERROR_CODE", "NO_PERMISSIONS"),
            ("ERROR_MESSAGE", "not allowed"),
            ("RETRY_ATTEMPTS", "3"),
        ]);
        let expected = ["undelivered", "not allowed", "NO_PERMISSIONS", ""].map(str::to_owned);
        assert_eq!(told(&rule), (expected, Some(3), None));
        let invocation =
            letter(&[("RequestID", "r1"), ("ErrorCode", "200"), ("ErrorMessage", "card declined")]);
        let expected = ["undelivered", "card declined", "200", "r1"].map(str::to_owned);
        assert_eq!(told(&invocation), (expected, None, None));
        let by_hand = letter(&[("tenant", "acme")]);
        assert_eq!(told(&by_hand), (["sent", "", "", ""].map(str::to_owned), None, None));
    }

    #[test]
    fn looking_at_a_letter_does_not_raise_its_attempts() {
        let received = |count: &str| {
            let message = Message::builder()
                .attributes(MessageSystemAttributeName::ApproximateReceiveCount, count)
                .attributes(MessageSystemAttributeName::DeadLetterQueueSourceArn, "arn");
            Letter { max_receive_count: Some(3), ..Letter::new(message.build()) }
        };
        let attempts = ["1", "3", "4", "5", "100", "many"].map(|count| received(count).attempts());
        assert_eq!(attempts, [Some(0), Some(2), Some(3), Some(3), Some(3), None]);
        assert_eq!(Letter { max_receive_count: None, ..received("5") }.attempts(), Some(4));
    }
}
