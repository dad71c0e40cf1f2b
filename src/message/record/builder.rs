//! Builds records for the tests of handlers and of their arguments.

use std::fmt;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use redrive_sqs::{Attribute, Attributes, Origin};

use super::{BatchContext, Record};
use crate::message::Message;
use crate::message::invocation::Invocation;
use redrive_event::{Borrowed, Entry, UserAttributes};

/// Builds a [`Record`] or a [`Message`] for tests: by default, the first delivery of `test-message` from the standard queue
/// `test-queue`, without attributes, with 15 minutes left to handle it.
///
/// ```
/// use redrive::{Origin, Record};
///
/// let record = Record::builder().id("m-1").body("a=1").group("acme").build();
/// assert_eq!((record.id(), record.body(), record.group()), ("m-1", "a=1", Some("acme")));
///
/// let message = Record::builder().attempt(3).max_attempts(3).origin(Origin::new("first-life", 1)).message(7);
/// assert_eq!((message.body, message.attempt, message.key()), (7, 3, "first-life"));
/// assert!(message.is_last_attempt());
/// ```
#[derive(Clone)]
#[must_use]
pub struct RecordBuilder {
    record: Record<'static>,
    attributes: Attributes,
}

impl RecordBuilder {
    pub(super) fn new() -> Self {
        let text = |text| Some(Borrowed::from(text));
        let entry = Entry {
            message_id: text("test-message"),
            receipt_handle: text("test-receipt-handle"),
            source: text("arn:aws:sqs:us-east-1:123456789012:test-queue"),
            ..Entry::default()
        };
        let record = Record::new(entry, &BatchContext::default()).expect("it has an id");
        Self { record, attributes: Attributes::new() }
    }

    /// The message id.
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.record.id = id.into().into();
        self
    }

    /// The body as it was sent.
    pub fn body(mut self, body: impl Into<String>) -> Self {
        self.record.body = body.into().into();
        self
    }

    /// The receive count: 1 at the first delivery. 0 counts as 1.
    pub fn attempt(mut self, attempt: u32) -> Self {
        self.record.attempt = attempt.max(1);
        self
    }

    /// The maxReceiveCount of the queue.
    pub const fn max_attempts(mut self, max: u32) -> Self {
        self.record.context.max_receive_count = Some(max);
        self
    }

    /// The message group.
    pub fn group(mut self, group: impl Into<String>) -> Self {
        self.record.group = Some(group.into().into());
        self
    }

    /// The deduplication id.
    pub fn deduplication_id(mut self, id: impl Into<String>) -> Self {
        self.record.deduplication_id = Some(id.into().into());
        self
    }

    /// The `SenderId`.
    pub fn sender_id(mut self, id: impl Into<String>) -> Self {
        self.record.sender_id = Some(id.into().into());
        self
    }

    /// The time at which the message was sent, to the millisecond.
    pub fn sent_at(mut self, at: SystemTime) -> Self {
        self.record.sent = Some(milliseconds(at).into());
        self
    }

    /// The time of the first receive, to the millisecond.
    pub fn first_received_at(mut self, at: SystemTime) -> Self {
        self.record.first_received = Some(milliseconds(at).into());
        self
    }

    /// Adds an attribute of the sender. A string becomes an attribute of the type `String`.
    pub fn attribute(mut self, name: impl Into<String>, value: impl Into<Attribute>) -> Self {
        self.attributes.insert(name.into(), value.into());
        self
    }

    /// The X-Ray trace header of the sender.
    pub fn trace_header(mut self, header: impl Into<String>) -> Self {
        self.record.trace_header = Some(header.into().into());
        self
    }

    /// The ARN of the queue.
    pub fn source(mut self, arn: impl Into<String>) -> Self {
        self.record.source = arn.into().into();
        self
    }

    /// The end of the batch.
    pub const fn deadline(mut self, at: Instant) -> Self {
        self.record.context.deadline = at;
        self
    }

    /// The invocation that delivered it. Set the deadline separately.
    pub fn invocation(mut self, invocation: Invocation) -> Self {
        self.record.context.invocation = invocation;
        self
    }

    /// The origin of a retried dead letter: its attribute `redrive.origin`.
    pub fn origin(self, origin: Origin) -> Self {
        self.attribute(Origin::ATTRIBUTE, origin)
    }

    /// Builds a message with this body.
    #[must_use]
    pub fn message<T>(self, body: T) -> Message<T> {
        Message::of(&self.build(), body)
    }

    /// Builds the record.
    #[must_use]
    pub fn build(self) -> Record<'static> {
        Record { attributes: Some(UserAttributes::Owned(Arc::new(self.attributes))), ..self.record }
    }
}

/// Omits the body.
impl fmt::Debug for RecordBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordBuilder").field("record", &self.record).finish_non_exhaustive()
    }
}

/// Formats a time as SQS does: in milliseconds since the epoch.
fn milliseconds(at: SystemTime) -> String {
    at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_millis().to_string()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::failure::BoxError;
    use crate::message::FromMessage;
    use crate::message::body::Text;

    const LEFT: Duration = Duration::from_mins(1);

    #[test]
    fn a_message_has_what_its_record_was_built_with() -> Result<(), BoxError> {
        let (sent, received) = (SystemTime::UNIX_EPOCH + LEFT, SystemTime::UNIX_EPOCH + 2 * LEFT);
        let deadline = Instant::now() + LEFT;
        let record = Record::builder()
            .id("m-1")
            .body("a=1")
            .attempt(3)
            .max_attempts(5)
            .group("acme")
            .deduplication_id("d-1")
            .sent_at(sent)
            .first_received_at(received)
            .attribute("kind", "placed")
            .attribute("count", Attribute::text("Number", "2"))
            .trace_header("Root=1-2")
            .source("arn:aws:sqs:us-east-1:123456789012:orders.fifo")
            .deadline(deadline)
            .origin(Origin::new("first-life", 2))
            .build();
        assert_eq!((record.max_attempts(), record.is_last_attempt()), (Some(5), false));
        assert_eq!((record.sent_at(), record.first_received_at()), (Some(sent), Some(received)));
        assert_eq!(record.deduplication_id(), Some("d-1"));
        assert_eq!((record.deadline(), &*record.key()), (deadline, "first-life"));
        assert_eq!(record.origin().map(|origin| origin.redrives), Some(2));
        let message = Message::<Text>::from_message(&record)?;
        assert_eq!((message.id.as_str(), message.body.0.as_str()), ("m-1", "a=1"));
        assert_eq!((message.attempt, message.max_attempts), (3, Some(5)));
        assert_eq!(message.group.as_deref(), Some("acme"));
        assert_eq!(message.deduplication_id.as_deref(), Some("d-1"));
        assert_eq!((message.sent_at, message.first_received_at), (Some(sent), Some(received)));
        assert_eq!(message.attributes["kind"].as_str(), Some("placed"));
        assert_eq!(message.attributes["count"].data_type(), "Number");
        assert_eq!(message.trace_header.as_deref(), Some("Root=1-2"));
        assert_eq!(message.source, "arn:aws:sqs:us-east-1:123456789012:orders.fifo");
        assert_eq!((message.deadline, message.key(), message.redrives()), (deadline, "first-life", 2));
        Ok(())
    }

    #[test]
    fn the_same_record_with_another_deadline_or_body_copies_no_text() {
        let record = Record::builder().body("a\\tb").group("acme").attribute("kind", "placed").build();
        let limited = record.until(record.deadline());
        assert_eq!(limited.body().as_ptr(), record.body().as_ptr());
        let inner = record.with_body("7");
        assert_eq!(inner.id().as_ptr(), record.id().as_ptr());
        assert_eq!(
            (inner.body(), inner.group(), inner.attributes()),
            ("7", Some("acme"), record.attributes())
        );
    }

    #[test]
    fn a_message_is_made_like_one_that_was_received() -> Result<(), BoxError> {
        let builder = Record::builder().body("7").max_attempts(2).attempt(2).group("acme");
        let received = Message::<u32>::from_message(&builder.clone().build())?;
        assert_eq!(format!("{:?}", builder.message(7)), format!("{received:?}"));
        Ok(())
    }
}
