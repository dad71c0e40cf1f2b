//! A record, parsed once, at the door; and what a handler may ask to be given of it.

use std::borrow::Cow;
use std::fmt;
use std::time::{Duration, Instant, SystemTime};

use crate::attribute::Attributes;
use crate::dead_letter::{DeadLetter, ORIGIN_ATTRIBUTE, Origin};
use crate::event::{Borrowed, Entry, System, UserAttributes};

/// One record of an SQS event as it was received, borrowed from the invocation.
///
/// Handlers rarely see it: it is what a [`FromMessage`] of your own reads.
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
pub struct Record<'event> {
    id: Cow<'event, str>,
    receipt_handle: Cow<'event, str>,
    body: Cow<'event, str>,
    source: Cow<'event, str>,
    attempt: u32,
    system: System<'event>,
    attributes: Option<UserAttributes<'event>>,
    limits: Limits,
}

/// What the consumer knows of every message of a batch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) max_receive_count: Option<u32>,
    pub(crate) deadline: Instant,
}

impl<'event> Record<'event> {
    /// Nothing without a message id: such a record could not be reported as failed.
    pub(crate) fn new(entry: Entry<'event>, limits: Limits) -> Option<Self> {
        let text = |text: Option<Borrowed<'event>>| text.map_or(Cow::Borrowed(""), |text| text.0);
        let id = text(entry.message_id);
        if id.is_empty() {
            return None;
        }
        let system = entry.attributes.unwrap_or_default();
        let attempt = number(system.approximate_receive_count.as_ref()).unwrap_or(1);
        Some(Self {
            id,
            receipt_handle: text(entry.receipt_handle),
            body: text(entry.body),
            source: text(entry.source),
            attempt: u32::try_from(attempt).unwrap_or(u32::MAX).max(1),
            system,
            attributes: entry.message_attributes,
            limits,
        })
    }

    /// The message id that SQS gave.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The body as it was sent.
    #[must_use]
    pub fn body(&self) -> &str {
        &self.body
    }

    /// The receive count: 1 at the first delivery, and 1 where SQS did not say.
    #[must_use]
    pub const fn attempt(&self) -> u32 {
        self.attempt
    }

    /// The message group, on FIFO and fair queues.
    #[must_use]
    pub fn group(&self) -> Option<&str> {
        self.system.message_group_id.as_ref().map(|group| &*group.0)
    }

    /// The ARN of the queue that the message was received from.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The attributes that the sender set, read anew at each call.
    #[must_use]
    pub fn attributes(&self) -> Attributes {
        self.attributes.map(UserAttributes::read).unwrap_or_default()
    }

    /// The same record with another body: for envelopes that hand what is inside them to another [`FromMessage`].
    #[must_use]
    pub fn with_body<'inner>(&'inner self, body: &'inner str) -> Record<'inner> {
        Record {
            id: Cow::Borrowed(&self.id),
            receipt_handle: Cow::Borrowed(&self.receipt_handle),
            body: Cow::Borrowed(body),
            source: Cow::Borrowed(&self.source),
            attempt: self.attempt,
            system: self.system.clone(),
            attributes: self.attributes,
            limits: self.limits,
        }
    }

    pub(crate) fn has_attributes(&self) -> bool {
        self.attributes.is_some_and(|attributes| !attributes.is_empty())
    }

    pub(crate) fn receipt_handle(&self) -> &str {
        &self.receipt_handle
    }

    pub(crate) fn trace_header(&self) -> Option<&str> {
        self.system.trace_header.as_ref().map(|header| &*header.0)
    }

    pub(crate) fn sent_at(&self) -> Option<SystemTime> {
        timestamp(self.system.sent_timestamp.as_ref())
    }
}

/// Never the body.
impl fmt::Debug for Record<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Record").field("id", &self.id).field("attempt", &self.attempt).finish_non_exhaustive()
    }
}

fn number(text: Option<&Borrowed<'_>>) -> Option<u64> {
    text?.0.parse().ok()
}

/// The end of the year 9999, after which a time cannot be written by RFC 3339.
const LATEST: u64 = 253_402_300_799_999;

/// SQS writes times as milliseconds since the epoch.
fn timestamp(text: Option<&Borrowed<'_>>) -> Option<SystemTime> {
    let milliseconds = number(text).filter(|milliseconds| *milliseconds <= LATEST)?;
    Some(SystemTime::UNIX_EPOCH + Duration::from_millis(milliseconds))
}

/// A decoded message with everything that SQS says about it.
///
/// Take it instead of the bare body where the handler needs the attempt, the group, or a key for idempotency:
///
/// ```
/// use redrive::{Failure, Message};
///
/// #[derive(serde::Deserialize)]
/// struct Order { cents: u64 }
///
/// async fn charge(order: Message<Order>) -> Result<(), Failure> {
///     println!("attempt {} to charge {} under the key {}", order.attempt, order.body.cents, order.key());
///     Ok(())
/// }
/// # let consumer = redrive::Consumer::new(charge);
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Message<T> {
    /// What the body decoded to.
    pub body: T,
    /// The message id that SQS gave; a dead letter that is sent back gets a new one, see [`Message::key`].
    pub id: String,
    /// The receive count: 1 at the first delivery.
    pub attempt: u32,
    /// The queue's maxReceiveCount, where the function was told (`REDRIVE_MAX_RECEIVE_COUNT`).
    pub max_attempts: Option<u32>,
    /// The message group, on FIFO and fair queues.
    pub group: Option<String>,
    /// The deduplication id, on FIFO queues.
    pub deduplication_id: Option<String>,
    /// When it was sent.
    pub sent_at: Option<SystemTime>,
    /// When it was received for the first time.
    pub first_received_at: Option<SystemTime>,
    /// The attributes that the sender set.
    pub attributes: Attributes,
    /// The X-Ray trace header of the sender.
    pub trace_header: Option<String>,
    /// The ARN of the queue that the message was received from.
    pub source: String,
    /// When the batch ends: a handler that is still running then is cancelled, and its message retried.
    pub deadline: Instant,
    /// The note of an earlier life, where a dead letter came back with it.
    pub dead_letter: Option<DeadLetter>,
    /// Where the message began, if it was sent back from a dead-letter queue.
    pub origin: Option<Origin>,
}

impl<T> Message<T> {
    /// The same through all lives of a message, also after its dead letter was sent back: the key for idempotency.
    #[must_use]
    pub fn key(&self) -> &str {
        self.origin.as_ref().map_or(&self.id, |origin| &origin.message_id)
    }

    /// How often the message was sent back from a dead-letter queue.
    #[must_use]
    pub fn redrives(&self) -> u32 {
        self.origin.as_ref().map_or(0, |origin| origin.redrives)
    }

    /// Whether a failure now sends the message to the dead-letter queue.
    #[must_use]
    pub fn is_last_attempt(&self) -> bool {
        self.max_attempts.is_some_and(|max| self.attempt >= max)
    }
}

/// What a handler can take. One method; implement it for an envelope or an encoding of your own.
///
/// ```
/// use redrive::{BoxError, Consumer, Failure, FromMessage, Record};
///
/// /// Lines of `key=value`.
/// struct Pairs(Vec<(String, String)>);
///
/// impl FromMessage for Pairs {
///     fn from_message(record: &Record<'_>) -> Result<Self, BoxError> {
///         let pair = |line: &str| line.split_once('=').map(|(key, value)| (key.into(), value.into()));
///         Ok(Pairs(record.body().lines().map(pair).collect::<Option<_>>().ok_or("a line without `=`")?))
///     }
/// }
///
/// async fn handle(pairs: Pairs) -> Result<(), Failure> {
///     println!("{} pairs", pairs.0.len());
///     Ok(())
/// }
/// let consumer = Consumer::new(handle);
/// ```
pub trait FromMessage: Sized + Send + 'static {
    /// Decodes one record.
    ///
    /// # Errors
    /// An error dead-letters the message as `malformed` (see [`Consumer::on_malformed`](crate::Consumer::on_malformed)),
    /// unless it carries a [`Verdict`](crate::Verdict). Its text goes into the log and the dead letter: say what is
    /// wrong without quoting the body.
    fn from_message(record: &Record<'_>) -> Result<Self, crate::BoxError>;
}

impl<T: FromMessage> FromMessage for Message<T> {
    fn from_message(record: &Record<'_>) -> Result<Self, crate::BoxError> {
        let body = T::from_message(record)?;
        let attributes = record.attributes();
        let owned = |text: Option<&str>| text.map(str::to_owned);
        Ok(Self {
            body,
            id: record.id().to_owned(),
            attempt: record.attempt(),
            max_attempts: record.limits.max_receive_count,
            group: owned(record.group()),
            deduplication_id: record
                .system
                .message_deduplication_id
                .as_ref()
                .map(|id| id.0.clone().into_owned()),
            sent_at: record.sent_at(),
            first_received_at: timestamp(record.system.approximate_first_receive_timestamp.as_ref()),
            trace_header: owned(record.trace_header()),
            source: record.source().to_owned(),
            deadline: record.limits.deadline,
            dead_letter: DeadLetter::find(&attributes),
            origin: attributes.get(ORIGIN_ATTRIBUTE).and_then(Origin::read),
            attributes,
        })
    }
}
