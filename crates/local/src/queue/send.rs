//! Sends messages to a queue, and adds dead letters of other queues.

use std::time::SystemTime;

use super::message::{MessageAttribute, NewMessage, Place, QueuedMessage, Sent};
use super::{Queue, accept, digest};
use crate::protocol::AwsError;

/// First sequence number. Those of SQS have twenty digits, rise, and leave gaps.
const FIRST_SEQUENCE_NUMBER: u64 = 10_000_000_000_000_000_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SendOutcome {
    pub(crate) sent: Sent,
    /// True if the queue added a message. A duplicate adds none.
    pub(crate) is_new: bool,
}

impl Queue {
    /// Sends a message. A FIFO queue ignores a duplicate of the last five minutes.
    ///
    /// # Errors
    /// Returns SQS's refusal: see the file `accept.rs`.
    pub(crate) fn send(
        &mut self,
        message: NewMessage,
        message_id: String,
        sender_id: &str,
        now: SystemTime,
    ) -> Result<SendOutcome, AwsError> {
        accept::check(&message, &self.settings)?;
        self.catch_up(now);
        let md5_of_body = digest::md5_of_body(&message.body);
        let md5_of_attributes = digest::md5_of_attributes(&message.attributes);
        let trace_header = message.trace_header.as_deref().map(MessageAttribute::text);
        let name = "AWSTraceHeader".to_owned();
        let sent = Sent {
            message_id,
            md5_of_body: md5_of_body.clone(),
            md5_of_attributes: md5_of_attributes.clone(),
            md5_of_system_attributes: digest::md5_of_attributes(
                trace_header.as_ref().map(|header| (&name, header)),
            ),
            sequence_number: self.settings.fifo.then(|| self.sequence_number()),
        };
        let deduplication_id = self.settings.fifo.then(|| {
            message
                .deduplication_id
                .clone()
                .unwrap_or_else(|| digest::content_deduplication_id(&message.body))
        });
        if let Some(id) = &deduplication_id {
            let scope = message.group_id.clone().filter(|_| self.settings.deduplication_by_group);
            let key = (id.clone(), scope);
            if let Some((message_id, sequence_number)) = self.deduplication.get(&key).cloned() {
                self.traffic.deduplicate();
                return Ok(SendOutcome { sent: Sent { message_id, sequence_number, ..sent }, is_new: false });
            }
            self.deduplication.insert(key, (sent.message_id.clone(), sent.sequence_number.clone()), now);
        }
        let delay = message.delay.filter(|_| !self.settings.fifo).unwrap_or(self.settings.delay);
        let place = if delay.is_zero() {
            Place::Visible { since: now }
        } else {
            Place::Delayed { until: now + delay }
        };
        self.traffic.send(accept::size(&message));
        self.add(QueuedMessage {
            message_id: sent.message_id.clone(),
            body: message.body,
            md5_of_body,
            attributes: message.attributes,
            md5_of_attributes,
            trace_header: message.trace_header,
            group_id: message.group_id,
            deduplication_id,
            sequence_number: sent.sequence_number.clone(),
            sender_id: sender_id.to_owned(),
            dead_letter_sources: Vec::new(),
            sent_at: now,
            enqueued_at: now,
            receive_count: 0,
            first_received_at: None,
            received_at: now,
            visibility_changed: false,
            place,
        });
        Ok(SendOutcome { sent, is_new: true })
    }

    /// # Errors
    /// Returns an error if the message makes the queue refuse its whole batch.
    pub(crate) fn check_batch(&self, message: &NewMessage) -> Result<(), AwsError> {
        accept::check_batch(message, &self.settings)
    }

    /// Adds a dead letter from the queue with the ARN `source` at the end, immediately visible.
    ///
    /// Message id, body, attributes and receive count stay. A standard queue continues to count the retention period from the
    /// first send. A FIFO queue restarts it and makes the message id the deduplication id.
    /// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-dead-letter-queues.html>
    pub(crate) fn take_in(&mut self, mut letter: QueuedMessage, source: String, now: SystemTime) {
        letter.dead_letter_sources.push(source);
        letter.place = Place::Visible { since: now };
        if self.settings.fifo {
            letter.enqueued_at = now;
            letter.sequence_number = Some(self.sequence_number());
            letter.deduplication_id = Some(letter.message_id.clone());
        }
        self.add(letter);
        self.catch_up(now);
    }

    fn sequence_number(&self) -> String {
        (FIRST_SEQUENCE_NUMBER + 256 * self.next_number).to_string()
    }
}
