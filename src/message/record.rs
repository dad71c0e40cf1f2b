//! A record of an event, parsed once when the event arrives.

mod builder;

use std::borrow::Cow;
use std::fmt;
use std::time::{Duration, Instant, SystemTime};

use redrive_sqs::{Attributes, DeadLetter, Origin, OriginSenders};

pub use self::builder::RecordBuilder;
use crate::message::invocation::Invocation;
use redrive_engine::{Deliveries, Overrides, max_attempts};
use redrive_event::{Borrowed, Entry, UserAttributes};

/// One record of an SQS event as it was received, borrowed from the invocation.
///
/// You need it only to implement [`FromMessage`](crate::FromMessage).
///
/// ```
/// use redrive::{Attribute, BoxError, FromMessage, Record};
///
/// /// Two kinds of message on one queue, told apart by an attribute.
/// enum Event { Placed(u64), Canceled(u64) }
///
/// impl FromMessage for Event {
///     fn from_message(record: &Record<'_>) -> Result<Self, BoxError> {
///         let number = u64::from_message(record)?;
///         match record.attributes().get("kind").and_then(Attribute::as_str) {
///             Some("placed") => Ok(Self::Placed(number)),
///             Some("canceled") => Ok(Self::Canceled(number)),
///             _ => Err("the attribute kind is neither placed nor canceled".into()),
///         }
///     }
/// }
/// ```
#[derive(Clone)]
pub struct Record<'event> {
    id: Cow<'event, str>,
    receipt_handle: Cow<'event, str>,
    body: Cow<'event, str>,
    source: Cow<'event, str>,
    attempt: u32,
    group: Option<Cow<'event, str>>,
    deduplication_id: Option<Cow<'event, str>>,
    sender_id: Option<Cow<'event, str>>,
    trace_header: Option<Cow<'event, str>>,
    sent: Option<Cow<'event, str>>,
    first_received: Option<Cow<'event, str>>,
    attributes: Option<UserAttributes<'event>>,
    /// True if an origin from this sender counts.
    origin_counts: bool,
    context: BatchContext,
}

/// The limits and settings that apply to every message of a batch.
#[derive(Debug, Clone)]
pub(crate) struct BatchContext {
    pub(crate) max_receive_count: Option<u32>,
    pub(crate) has_dead_letter_queue: bool,
    pub(crate) overrides: Overrides,
    /// The senders whose origin counts. `None` means every sender.
    pub(crate) origin_senders: Option<OriginSenders>,
    pub(crate) deadline: Instant,
    pub(crate) invocation: Invocation,
}

impl Default for BatchContext {
    fn default() -> Self {
        let invocation = Invocation::default();
        Self {
            max_receive_count: None,
            has_dead_letter_queue: true,
            overrides: Overrides::default(),
            origin_senders: None,
            deadline: invocation.deadline(),
            invocation,
        }
    }
}

impl BatchContext {
    /// Returns the smaller of the queue's limit and the one in these attributes of a message.
    pub(crate) fn max_attempts(&self, attributes: &Attributes) -> Option<u32> {
        max_attempts(attributes, self.overrides, self.deliveries())
    }

    pub(crate) const fn deliveries(&self) -> Deliveries {
        Deliveries {
            max_receive_count: self.max_receive_count,
            has_dead_letter_queue: self.has_dead_letter_queue,
        }
    }
}

impl<'event> Record<'event> {
    /// Builds a record for the test of a [`FromMessage`](crate::FromMessage).
    ///
    /// By default, it is the first delivery of a message with an empty body from the standard queue `test-queue`,
    /// with an id and no attributes, and there are 15 minutes left to handle it.
    ///
    /// ```
    /// use redrive::{FromMessage, Message, Record};
    ///
    /// let record = Record::builder().body("[7, 8]").attribute("kind", "placed").attempt(2).build();
    /// let message = Message::<Vec<u32>>::from_message(&record)?;
    /// assert_eq!((message.body, message.attempt), (vec![7, 8], 2));
    /// assert_eq!(record.attributes()["kind"].as_str(), Some("placed"));
    /// # Ok::<(), redrive::BoxError>(())
    /// ```
    pub fn builder() -> RecordBuilder {
        RecordBuilder::new()
    }

    /// Returns `None` without a message id, because such a record could not be reported as failed.
    pub(crate) fn new(entry: Entry<'event>, context: &BatchContext) -> Option<Self> {
        let text = |text: Option<Borrowed<'event>>| text.map(|text| text.0);
        let id = text(entry.message_id).filter(|id| !id.is_empty())?;
        let system = entry.attributes.unwrap_or_default();
        let attempt =
            system.approximate_receive_count.and_then(|count| count.0.parse::<u64>().ok()).unwrap_or(1);
        let sender_id = text(system.sender_id);
        let is_sender = |senders: &OriginSenders| sender_id.as_ref().is_some_and(|id| senders.has(id));
        let origin_counts = context.origin_senders.as_ref().is_none_or(is_sender);
        Some(Self {
            id,
            receipt_handle: text(entry.receipt_handle).unwrap_or_default(),
            body: text(entry.body).unwrap_or_default(),
            source: text(entry.source).unwrap_or_default(),
            attempt: u32::try_from(attempt).unwrap_or(u32::MAX).max(1),
            sent: text(system.sent_timestamp),
            first_received: text(system.approximate_first_receive_timestamp),
            group: text(system.message_group_id),
            deduplication_id: text(system.message_deduplication_id),
            trace_header: text(system.trace_header),
            attributes: entry.message_attributes,
            sender_id,
            origin_counts,
            context: context.clone(),
        })
    }

    /// Returns the message id that SQS assigned.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the body as it was sent.
    #[must_use]
    pub fn body(&self) -> &str {
        &self.body
    }

    /// Returns the receive count: 1 at the first delivery, and 1 if SQS did not send one.
    #[must_use]
    pub const fn attempt(&self) -> u32 {
        self.attempt
    }

    /// Returns the message group, on FIFO and fair queues.
    #[must_use]
    pub fn group(&self) -> Option<&str> {
        self.group.as_deref()
    }

    /// Returns the deduplication id, on FIFO queues.
    #[must_use]
    pub fn deduplication_id(&self) -> Option<&str> {
        self.deduplication_id.as_deref()
    }

    /// Returns the sender as reported by SQS: the `SenderId` of a user, role or service.
    #[must_use]
    pub fn sender_id(&self) -> Option<&str> {
        self.sender_id.as_deref()
    }

    /// Returns the time at which the message was sent.
    #[must_use]
    pub fn sent_at(&self) -> Option<SystemTime> {
        timestamp(self.sent.as_deref()?)
    }

    /// Returns the time of the first receive.
    #[must_use]
    pub fn first_received_at(&self) -> Option<SystemTime> {
        timestamp(self.first_received.as_deref()?)
    }

    /// Like [`Message::deadline`](crate::Message::deadline).
    #[must_use]
    pub const fn deadline(&self) -> Instant {
        self.context.deadline
    }

    /// Like [`Message::max_attempts`](crate::Message::max_attempts).
    #[must_use]
    pub fn max_attempts(&self) -> Option<u32> {
        self.context.max_attempts(&self.attributes())
    }

    /// Like [`Message::is_last_attempt`](crate::Message::is_last_attempt).
    #[must_use]
    pub fn is_last_attempt(&self) -> bool {
        self.context.deliveries().end_with(self.attempt, self.max_attempts())
    }

    /// Like [`Message::key`](crate::Message::key).
    #[must_use]
    pub fn key(&self) -> Cow<'_, str> {
        self.origin().map_or(Cow::Borrowed(&self.id), |origin| Cow::Owned(origin.message_id))
    }

    /// Like [`Message::origin`](crate::Message::origin).
    #[must_use]
    pub fn origin(&self) -> Option<Origin> {
        Origin::find(&self.attributes())
    }

    /// Returns true if the record has an origin that any sender may have set.
    pub(crate) fn has_unchecked_origin(&self) -> bool {
        self.context.origin_senders.is_none() && self.origin().is_some()
    }

    /// Returns the X-Ray trace header of the sender, `AWSTraceHeader`.
    #[must_use]
    pub fn trace_header(&self) -> Option<&str> {
        self.trace_header.as_deref()
    }

    /// Returns the ARN of the queue that the message was received from.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Returns the invocation that delivered the message.
    #[must_use]
    pub const fn invocation(&self) -> &Invocation {
        &self.context.invocation
    }

    /// Returns the attributes that the sender set, parsed at each call. They omit `redrive.dead-letter`, because nobody can
    /// tell who wrote a note on a message that is not a dead letter. They also omit a `redrive.origin` from a sender that
    /// [`Consumer::origin_senders`](crate::Consumer::origin_senders) does not allow.
    #[must_use]
    pub fn attributes(&self) -> Attributes {
        let mut attributes = self.attributes.as_ref().map(UserAttributes::read).unwrap_or_default();
        attributes.remove(DeadLetter::ATTRIBUTE);
        if !self.origin_counts {
            attributes.remove(Origin::ATTRIBUTE);
        }
        attributes
    }

    /// Returns the same record with a different body, so that another [`FromMessage`](crate::FromMessage) can decode the
    /// content of an envelope.
    #[must_use]
    pub fn with_body<'inner>(&'inner self, body: &'inner str) -> Record<'inner> {
        Record { body: Cow::Borrowed(body), ..self.reborrowed() }
    }

    /// Returns the same record with this deadline, unless its own is earlier.
    pub(crate) fn until(&self, deadline: Instant) -> Record<'_> {
        let deadline = self.context.deadline.min(deadline);
        Record { context: BatchContext { deadline, ..self.context.clone() }, ..self.reborrowed() }
    }

    /// Returns the same record without copying its texts.
    fn reborrowed(&self) -> Record<'_> {
        fn some<'a>(text: &'a Option<Cow<'_, str>>) -> Option<Cow<'a, str>> {
            text.as_deref().map(Cow::Borrowed)
        }
        Record {
            id: Cow::Borrowed(&self.id),
            receipt_handle: Cow::Borrowed(&self.receipt_handle),
            body: Cow::Borrowed(&self.body),
            source: Cow::Borrowed(&self.source),
            attempt: self.attempt,
            group: some(&self.group),
            deduplication_id: some(&self.deduplication_id),
            sender_id: some(&self.sender_id),
            trace_header: some(&self.trace_header),
            sent: some(&self.sent),
            first_received: some(&self.first_received),
            attributes: self.attributes.clone(),
            origin_counts: self.origin_counts,
            context: self.context.clone(),
        }
    }

    pub(crate) fn has_attributes(&self) -> bool {
        self.attributes.as_ref().is_some_and(|attributes| !attributes.is_empty())
    }

    pub(crate) fn receipt_handle(&self) -> &str {
        &self.receipt_handle
    }

    pub(crate) const fn context(&self) -> &BatchContext {
        &self.context
    }

    #[cfg(test)]
    pub(crate) fn with_context(self, context: BatchContext) -> Self {
        Self { context, ..self }
    }
}

/// Omits the body.
impl fmt::Debug for Record<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Record").field("id", &self.id).field("attempt", &self.attempt).finish_non_exhaustive()
    }
}

/// The end of the year 9999 in milliseconds since the epoch: the last year that RFC 3339 can express.
const LATEST: u64 = 253_402_300_799_999;

/// Parses a time as SQS writes it: in milliseconds since the epoch.
fn timestamp(text: &str) -> Option<SystemTime> {
    let milliseconds = text.parse().ok().filter(|milliseconds| *milliseconds <= LATEST)?;
    Some(SystemTime::UNIX_EPOCH + Duration::from_millis(milliseconds))
}
