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

use redrive_sqs::{Attributes, Origin};

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
/// A test creates one with [`Message::new`], or with [`Record::builder`] if it needs more than a body, and calls the handler like
/// any function:
///
/// ```
/// use redrive::{Failure, Message, Record};
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
/// assert!(ship(Record::builder().attempt(3).message("1 Main Street".into())).await.is_ok());
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
    /// Creates a message for the test of a handler: the first delivery of `test-message` from the standard queue `test-queue`,
    /// without attributes, with 15 minutes left to handle it. [`RecordBuilder`](crate::testing::RecordBuilder) creates others.
    #[must_use]
    pub fn new(body: T) -> Self {
        Record::builder().message(body)
    }

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
    pub(crate) fn of(record: &Record<'_>, body: T) -> Self {
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
