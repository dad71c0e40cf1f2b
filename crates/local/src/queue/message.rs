//! Messages to send, messages in a queue, and received messages.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

/// A typed attribute beside the body of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageAttribute {
    /// `String`, `Number` or `Binary`, optionally with a custom suffix: `Number.int`.
    pub data_type: String,
    /// The value, which must be binary if and only if the type is.
    pub value: AttributeValue,
}

impl MessageAttribute {
    /// Creates an attribute of type `String`.
    #[must_use]
    pub fn text(value: &str) -> Self {
        Self { data_type: "String".to_owned(), value: AttributeValue::Text(value.to_owned()) }
    }
}

/// The value of a [`MessageAttribute`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::exhaustive_enums, reason = "SQS has no other")]
pub enum AttributeValue {
    /// The value of a `String` or a `Number`.
    Text(String),
    /// The value of a `Binary`.
    Binary(Vec<u8>),
}

impl AttributeValue {
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Binary(bytes) => bytes,
        }
    }
}

/// A message to send. The default has an empty body, which SQS refuses.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewMessage {
    /// The body: 1 byte to 1 MiB, attributes included.
    pub body: String,
    /// The message attributes, at most ten.
    pub attributes: BTreeMap<String, MessageAttribute>,
    /// `AWSTraceHeader`, which does not count toward any limit.
    pub trace_header: Option<String>,
    /// The message group. A FIFO queue requires one. On a standard queue it makes the queue fair, without an order.
    pub group_id: Option<String>,
    /// The deduplication id, for FIFO queues only: the same id within five minutes is the same message.
    pub deduplication_id: Option<String>,
    /// The delay: 0 to 900 s, by default that of the queue. A FIFO queue does not accept it.
    pub delay: Option<Duration>,
}

/// SQS's answer to a sender.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Sent {
    /// The message's id.
    pub message_id: String,
    #[serde(rename = "MD5OfMessageBody")]
    pub(crate) md5_of_body: String,
    #[serde(rename = "MD5OfMessageAttributes", skip_serializing_if = "Option::is_none")]
    pub(crate) md5_of_attributes: Option<String>,
    #[serde(rename = "MD5OfMessageSystemAttributes", skip_serializing_if = "Option::is_none")]
    pub(crate) md5_of_system_attributes: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) sequence_number: Option<String>,
}

/// A message as one receive hands it out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    /// Its id.
    pub message_id: String,
    /// The handle with which the message can be deleted.
    pub receipt_handle: String,
    pub(crate) body: String,
    pub(crate) md5_of_body: String,
    /// Digest of all attributes. A caller that requested some of them needs a different one.
    pub(crate) md5_of_attributes: Option<String>,
    pub(crate) attributes: BTreeMap<String, MessageAttribute>,
    /// Receives so far in all queues, including this one.
    pub receive_count: u32,
    pub(crate) sent_at: SystemTime,
    pub(crate) first_received_at: SystemTime,
    pub(crate) sender_id: String,
    pub(crate) group_id: Option<String>,
    pub(crate) deduplication_id: Option<String>,
    pub(crate) sequence_number: Option<String>,
    pub(crate) trace_header: Option<String>,
    /// The ARN of the queue from which a redrive policy moved the message.
    pub(crate) dead_letter_source: Option<String>,
}

/// Numbers of messages in a queue. They are exact, unlike SQS's approximate ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Counts {
    /// Messages neither in flight nor delayed, including those that wait behind their FIFO group.
    pub visible: usize,
    /// Messages that were received, and are hidden until their visibility timeout.
    pub in_flight: usize,
    /// Messages with a delay that has not passed.
    pub delayed: usize,
}

/// The position of a message in its queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryPosition<'q> {
    /// Its id.
    pub id: &'q str,
    /// How often it was received.
    pub receive_count: u32,
    /// The time until which the message is hidden, or as the error the time since which it is visible.
    pub hidden: Result<SystemTime, SystemTime>,
}

/// A message in a queue, with everything that survives a move to the dead-letter queue.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct QueuedMessage {
    pub(super) message_id: String,
    pub(super) body: String,
    pub(super) md5_of_body: String,
    pub(super) attributes: BTreeMap<String, MessageAttribute>,
    pub(super) md5_of_attributes: Option<String>,
    pub(super) trace_header: Option<String>,
    pub(super) group_id: Option<String>,
    pub(super) deduplication_id: Option<String>,
    pub(super) sequence_number: Option<String>,
    pub(super) sender_id: String,
    /// The ARNs of the queues from which redrive policies moved the message, the latest last.
    pub(super) dead_letter_sources: Vec<String>,
    pub(super) sent_at: SystemTime,
    /// Start of the retention period.
    pub(super) enqueued_at: SystemTime,
    pub(super) receive_count: u32,
    pub(super) first_received_at: Option<SystemTime>,
    /// Time of the latest receive, from which the twelve hours count.
    pub(super) received_at: SystemTime,
    /// True if the visibility timeout was changed since.
    pub(super) visibility_changed: bool,
    pub(super) place: Place,
}

impl QueuedMessage {
    pub(crate) fn message_id(&self) -> &str {
        &self.message_id
    }

    /// Returns the group that orders the message on a FIFO queue.
    pub(super) fn group(&self) -> &str {
        self.group_id.as_deref().unwrap_or_default()
    }

    pub(super) fn dead_letter_source(&self) -> Option<&String> {
        self.dead_letter_sources.last()
    }

    /// Returns true if the redrive policy of this queue moved the message before, and others moved it back.
    pub(super) fn was_moved_from(&self, queue: &str) -> bool {
        self.dead_letter_sources.iter().any(|arn| redrive_sqs::queue_name(arn) == queue)
    }

    pub(crate) fn receive_count(&self) -> u32 {
        self.receive_count
    }
}

/// The visibility of a message. If `until` has passed, the message is visible.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Place {
    Visible { since: SystemTime },
    Delayed { until: SystemTime },
    InFlight { until: SystemTime },
}
