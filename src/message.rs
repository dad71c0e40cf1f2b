//! The arguments that a handler can take.

pub(crate) mod bodies;
pub(crate) mod body;
pub mod envelope;
pub(crate) mod meta;
pub(crate) mod invocation;
pub(crate) mod received;
pub(crate) mod record;
pub(crate) mod record_fn;
pub(crate) mod records;
pub(crate) mod console_test;

use std::time::{Duration, Instant, SystemTime};

use redrive_sqs::{Attribute, Attributes, Origin};

use crate::message::invocation::{Invocation, remaining};
use crate::message::record::Record;
use redrive_engine::Deliveries;

/// A decoded message with its metadata from SQS.
///
/// Take it instead of the body if the handler needs the attempt, the group, or a key for idempotency:
///
/// ```
/// use redrive::{Failure, Message};
///
/// #[derive(serde::Deserialize)]
/// struct Order { cents: u64 }
///
/// async fn charge(order: Message<Order>) -> Result<(), Failure> {
///     tracing::info!(order.attempt, order.body.cents, key = order.key(), "charging");
///     Ok(())
/// }
/// # let consumer = redrive::Consumer::new(charge);
/// ```
///
/// A test creates one with [`Message::new`] and calls the handler like any function:
///
/// ```
/// use redrive::{Failure, Message};
///
/// async fn ship(to: Message<String>) -> Result<(), Failure> {
///     match to.body.as_str() {
///         "" => Err(Failure::reject("a parcel needs an address").with_reason("no-address")),
///         _ if to.attempt < 3 => Err("the carrier is down".into()),
///         _ => Ok(()),
///     }
/// }
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let failure = ship(Message::new(String::new())).await.unwrap_err();
/// assert!(failure.is_rejection());
/// assert_eq!(failure.reason(), Some("no-address"));
/// assert!(ship(Message::new("1 Main Street".into()).attempt(3)).await.is_ok());
/// # })
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Message<T> {
    /// The decoded body.
    pub body: T,
    /// The message id that SQS assigned. A retried dead letter gets a new one, see [`Message::key`].
    pub id: String,
    /// The receive count: 1 at the first delivery.
    pub attempt: u32,
    /// The queue's maxReceiveCount, if redrive knows it (`REDRIVE_MAX_RECEIVE_COUNT`), or the message's own
    /// `redrive.max-attempts` if that is less.
    pub max_attempts: Option<u32>,
    /// The message group, on FIFO and fair queues.
    pub group: Option<String>,
    /// The deduplication id, on FIFO queues.
    pub deduplication_id: Option<String>,
    /// The time at which the message was sent.
    pub sent_at: Option<SystemTime>,
    /// The time of the first receive.
    pub first_received_at: Option<SystemTime>,
    /// The attributes that the sender set.
    pub attributes: Attributes,
    /// The X-Ray trace header of the sender.
    pub trace_header: Option<String>,
    /// The ARN of the queue that the message was received from.
    pub source: String,
    /// The time at which redrive cancels a running handler and retries its message: the end of the batch, or the [time
    /// limit](crate::Consumer::time_limit) if that is earlier.
    ///
    /// This is a time of tokio's clock, which a test can pause. [`remaining`](Self::remaining) compares it with that clock.
    pub deadline: Instant,
    /// The invocation that delivered it.
    pub invocation: Invocation,
    /// The origin of the message, if it was retried from a dead-letter queue. The sender chooses it, see
    /// [`Message::key`].
    pub origin: Option<Origin>,
    deliveries: Deliveries,
}

impl<T> Message<T> {
    /// Returns the idempotency key. It stays the same when the message is retried from a dead-letter queue.
    ///
    /// It is the id in the attribute `redrive.origin`, otherwise the message id. `redrive dlq retry` writes that
    /// attribute, but so can anyone who may send to the queue. A message with another message's key can make a
    /// payment look done. If senders do not trust each other, or if you use [`Consumer::once`](crate::Consumer::once), set
    /// [`Consumer::origin_senders`](crate::Consumer::origin_senders). redrive then ignores the origin from any
    /// other sender, and the key is the message id, which SQS assigns.
    ///
    /// AWS's own redrive [assigns a new message
    /// id](https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-configure-dead-letter-queue-redrive.html)
    /// and writes no origin. A producer that sends twice creates two messages. In both cases, use your own id in the
    /// body.
    #[must_use]
    pub fn key(&self) -> &str {
        self.origin.as_ref().map_or(&self.id, |origin| &origin.message_id)
    }

    /// Returns the number of times that the message was retried from a dead-letter queue.
    #[must_use]
    pub fn redrives(&self) -> u32 {
        self.origin.as_ref().map_or(0, |origin| origin.redrives)
    }

    /// Returns the time left until [`deadline`](Self::deadline), or zero if it has passed.
    ///
    /// ```
    /// use redrive::Message;
    /// use std::time::Duration;
    ///
    /// assert!(Message::new("tea").remaining() > Duration::from_secs(890), "a message of a test has 15 minutes");
    /// ```
    #[must_use]
    pub fn remaining(&self) -> Duration {
        remaining(self.deadline)
    }

    /// Returns true if an error in this attempt ends the deliveries of the message: redrive writes a dead letter, or the
    /// queue's redrive policy moves the message.
    ///
    /// Returns false if redrive would retry, because it knows no limit, or because it would have to write the dead letter but
    /// has no dead-letter queue.
    #[must_use]
    pub fn is_last_attempt(&self) -> bool {
        self.deliveries.end_with(self.attempt, self.max_attempts)
    }
}

/// A type that a handler can receive. Implement it for your own envelope or encoding.
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
///     tracing::info!(pairs = pairs.0.len(), "handled");
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
        Ok(Self::of(record, T::from_message(record)?))
    }
}

impl<T> Message<T> {
    fn of(record: &Record<'_>, body: T) -> Self {
        let attributes = record.attributes();
        let owned = |text: Option<&str>| text.map(str::to_owned);
        Self {
            body,
            id: record.id().to_owned(),
            attempt: record.attempt(),
            max_attempts: record.context().max_attempts(&attributes),
            group: owned(record.group()),
            deduplication_id: owned(record.deduplication_id()),
            sent_at: record.sent_at(),
            first_received_at: record.first_received_at(),
            trace_header: owned(record.trace_header()),
            source: record.source().to_owned(),
            deadline: record.deadline(),
            invocation: record.invocation().clone(),
            origin: Origin::find(&attributes),
            attributes,
            deliveries: record.context().deliveries(),
        }
    }
}

/// For the tests of handlers.
impl<T> Message<T> {
    /// Creates a message for the test of a handler.
    ///
    /// By default, it is the first delivery of `test-message` from the standard queue `test-queue`, without
    /// attributes, with 15 minutes left to handle it.
    ///
    /// ```
    /// use redrive::Message;
    ///
    /// let message = Message::new(7_u32).attempt(3).max_attempts(3).group("acme").attribute("tenant", "acme");
    /// assert_eq!((message.body, message.attempt), (7, 3));
    /// assert!(message.is_last_attempt());
    /// ```
    #[must_use]
    pub fn new(body: T) -> Self {
        Self::of(&Record::builder().build(), body)
    }

    /// Sets `id`.
    #[must_use]
    pub fn id(self, id: impl Into<String>) -> Self {
        Self { id: id.into(), ..self }
    }

    /// Sets `attempt`.
    #[must_use]
    pub fn attempt(self, attempt: u32) -> Self {
        Self { attempt, ..self }
    }

    /// Sets `max_attempts`, as the maxReceiveCount of a queue that has a dead-letter queue.
    #[must_use]
    pub fn max_attempts(self, max: u32) -> Self {
        let deliveries = Deliveries { max_receive_count: Some(max), ..self.deliveries };
        Self { max_attempts: Some(max), deliveries, ..self }
    }

    /// Sets `group`.
    #[must_use]
    pub fn group(self, group: impl Into<String>) -> Self {
        Self { group: Some(group.into()), ..self }
    }

    /// Sets `deduplication_id`.
    #[must_use]
    pub fn deduplication_id(self, id: impl Into<String>) -> Self {
        Self { deduplication_id: Some(id.into()), ..self }
    }

    /// Sets `sent_at`.
    #[must_use]
    pub fn sent_at(self, at: SystemTime) -> Self {
        Self { sent_at: Some(at), ..self }
    }

    /// Sets `first_received_at`.
    #[must_use]
    pub fn first_received_at(self, at: SystemTime) -> Self {
        Self { first_received_at: Some(at), ..self }
    }

    /// Adds to `attributes`. A string becomes an attribute of the type `String`.
    #[must_use]
    pub fn attribute(mut self, name: impl Into<String>, value: impl Into<Attribute>) -> Self {
        self.attributes.insert(name.into(), value.into());
        self
    }

    /// Sets `trace_header`.
    #[must_use]
    pub fn trace_header(self, header: impl Into<String>) -> Self {
        Self { trace_header: Some(header.into()), ..self }
    }

    /// Sets `source`.
    #[must_use]
    pub fn source(self, arn: impl Into<String>) -> Self {
        Self { source: arn.into(), ..self }
    }

    /// Sets `deadline`.
    #[must_use]
    pub fn deadline(self, at: Instant) -> Self {
        Self { deadline: at, ..self }
    }

    /// Sets `invocation`.
    #[must_use]
    pub fn invocation(self, invocation: Invocation) -> Self {
        Self { invocation, ..self }
    }

    /// Sets `origin`, and with it the [`key`](Self::key).
    ///
    /// ```
    /// use redrive::{Message, Origin};
    ///
    /// let message = Message::new("again").origin(Origin::new("first-life", 1));
    /// assert_eq!((message.key(), message.redrives()), ("first-life", 1));
    /// ```
    #[must_use]
    pub fn origin(self, origin: Origin) -> Self {
        Self { origin: Some(origin), ..self }
    }
}
