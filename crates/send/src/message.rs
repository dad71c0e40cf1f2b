//! [`NewMessage`]: a message and what its sender chooses for it.

mod stored;

use std::time::Duration;

use aws_sdk_sqs::primitives::Blob;
use aws_sdk_sqs::types::{
    MessageAttributeValue, MessageSystemAttributeNameForSends, MessageSystemAttributeValue,
    SendMessageBatchRequestEntry,
};
use redrive_engine::{Backoff, MessageOverrides};
use redrive_sqs::{Attribute, Attributes, MAX_BYTES, Outgoing, size};
use serde::Serialize;

use crate::SendError;

/// A message to send, with options that are for this message alone.
///
/// ```
/// use redrive_send::{Backoff, NewMessage};
/// use std::time::Duration;
///
/// let message = NewMessage::json(&["a", "b"])?
///     .group("customer-7")
///     .max_attempts(3)
///     .backoff(&Backoff::fixed(Duration::from_secs(60))?);
/// assert_eq!(message.body(), r#"["a","b"]"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[must_use = "it is not sent yet"]
pub struct NewMessage {
    pub(crate) body: String,
    pub(crate) attributes: Attributes,
    pub(crate) group: Option<String>,
    pub(crate) deduplication: Option<String>,
    pub(crate) delay: Option<Duration>,
    pub(crate) trace: Option<String>,
}

/// What a [`Sender`](crate::Sender) takes: any value that serde can write, which becomes a body of JSON, or a [`NewMessage`].
pub trait ToMessage {
    /// Returns the message.
    ///
    /// # Errors
    /// The value cannot be written as JSON.
    fn to_message(self) -> Result<NewMessage, serde_json::Error>;
}

impl<T: Serialize> ToMessage for T {
    fn to_message(self) -> Result<NewMessage, serde_json::Error> {
        NewMessage::json(&self)
    }
}

impl ToMessage for NewMessage {
    fn to_message(self) -> Result<NewMessage, serde_json::Error> {
        Ok(self)
    }
}

impl NewMessage {
    /// Creates a message whose body is the value as JSON, as redrive's handlers read it.
    ///
    /// # Errors
    /// The value cannot be written as JSON.
    pub fn json(value: &(impl Serialize + ?Sized)) -> Result<Self, serde_json::Error> {
        serde_json::to_string(value).map(Self::text)
    }

    /// Creates a message with this body.
    pub fn text(body: impl Into<String>) -> Self {
        let attributes = Attributes::new();
        Self { body: body.into(), attributes, group: None, deduplication: None, delay: None, trace: None }
    }

    /// Sets an attribute. A message has at most ten, those of [`max_attempts`](Self::max_attempts) and [`backoff`](Self::backoff)
    /// among them.
    pub fn attribute(mut self, name: impl Into<String>, value: impl Into<Attribute>) -> Self {
        self.attributes.insert(name.into(), value.into());
        self
    }

    /// The number of times that a consumer tries the message, at least 1. The queue's `maxReceiveCount` is a limit too.
    pub fn max_attempts(self, attempts: u32) -> Self {
        let (name, value) = MessageOverrides::attempts_attribute(attempts.max(1));
        self.attribute(name, value)
    }

    /// The delays between the attempts. By default, a consumer grants only longer delays than its own (`REDRIVE_OVERRIDES`).
    pub fn backoff(self, backoff: &Backoff) -> Self {
        let (name, value) = MessageOverrides::backoff_attribute(backoff);
        self.attribute(name, value)
    }

    /// The time until the message can be received, in whole seconds, at most 15 minutes. Default: the queue's own delay. A FIFO
    /// queue has one delay for all messages. With `Schedules` of the cargo feature `schedules`, any delay on any queue.
    pub const fn delay(mut self, delay: Duration) -> Self {
        self.delay = Some(delay);
        self
    }

    /// The message group. A FIFO queue requires one, and keeps the order of its messages. On a standard queue it names whose message
    /// this is, and SQS lets no group delay the others.
    /// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-fair-queues.html>
    pub fn group(mut self, id: impl Into<String>) -> Self {
        self.group = Some(id.into());
        self
    }

    /// The deduplication id, for FIFO queues: SQS accepts a second message with the same id within five minutes, and drops it. A queue
    /// without content-based deduplication requires one. For a message with a schedule, on any queue: it is scheduled once for each id,
    /// until it is sent.
    pub fn deduplication(mut self, id: impl Into<String>) -> Self {
        self.deduplication = Some(id.into());
        self
    }

    /// The trace header of X-Ray, for SQS's own attribute `AWSTraceHeader`, which does not count as one of the ten. With the cargo
    /// feature `opentelemetry`, the default is the current span.
    pub fn trace_header(mut self, header: impl Into<String>) -> Self {
        self.trace = Some(header.into());
        self
    }

    /// Adds the trace header of the current span, unless there is one.
    pub(crate) fn traced(self) -> Self {
        #[cfg(feature = "opentelemetry")]
        let trace = self.trace.clone().or_else(crate::trace::header);
        #[cfg(not(feature = "opentelemetry"))]
        let trace = self.trace.clone();
        Self { trace, ..self }
    }

    /// Returns the body.
    #[must_use]
    pub fn body(&self) -> &str {
        &self.body
    }

    /// Returns the size in bytes, as SQS counts it.
    pub(crate) fn size(&self) -> usize {
        size(&self.body, &self.attributes)
    }

    /// Returns the reason why SQS would refuse the message, if there is one.
    pub(crate) fn check_for(&self, is_fifo: bool) -> Result<(), SendError> {
        let outgoing = Outgoing {
            body: &self.body,
            attributes: &self.attributes,
            group_id: self.group.as_deref(),
            deduplication_id: self.deduplication.as_deref(),
            delay: self.delay,
        };
        outgoing.validate(is_fifo, MAX_BYTES).map_or(Ok(()), |fault| Err(SendError::Invalid(fault)))
    }

    pub(crate) fn entry(&self, number: usize, is_fifo: bool) -> SendMessageBatchRequestEntry {
        // Even a delay of 0 is refused on a FIFO queue.
        let delay = self.delay.filter(|_| !is_fifo);
        let seconds = delay.map(|delay| delay.as_secs() + u64::from(delay.subsec_nanos() > 0));
        let mut entry = SendMessageBatchRequestEntry::builder()
            .id(number.to_string())
            .message_body(&self.body)
            .set_message_group_id(self.group.clone())
            .set_message_deduplication_id(self.deduplication.clone())
            .set_delay_seconds(seconds.and_then(|seconds| i32::try_from(seconds).ok()));
        for (name, attribute) in &self.attributes {
            entry = entry.message_attributes(name, to_sdk(attribute));
        }
        if let Some(header) = &self.trace {
            let value = MessageSystemAttributeValue::builder().data_type("String").string_value(header);
            let value = value.build().expect("the type is given");
            entry =
                entry.message_system_attributes(MessageSystemAttributeNameForSends::AwsTraceHeader, value);
        }
        entry.build().expect("id and body are given")
    }
}

fn to_sdk(attribute: &Attribute) -> MessageAttributeValue {
    let value = MessageAttributeValue::builder().data_type(attribute.data_type());
    let value = match attribute.as_str() {
        Some(text) => value.string_value(text),
        None => value.binary_value(Blob::new(attribute.as_bytes())),
    };
    value.build().expect("the type is given")
}
