//! What goes into a queue, what comes out, and how a message is held in between.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use serde::Serialize;

/// A typed attribute beside the body of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageAttribute {
    /// `String`, `Number` or `Binary`, with a custom suffix at will: `Number.int`.
    pub data_type: String,
    /// The value, which is binary exactly if the type is.
    pub value: AttributeValue,
}

impl MessageAttribute {
    /// An attribute of type `String`.
    #[must_use]
    pub fn text(value: &str) -> Self {
        Self { data_type: "String".to_owned(), value: AttributeValue::Text(value.to_owned()) }
    }
}

/// The value of a [`MessageAttribute`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "SQS has no other")]
pub enum AttributeValue {
    /// Of a `String` or a `Number`.
    Text(String),
    /// Of a `Binary`.
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
    /// 1 byte to 1 MiB, attributes included.
    pub body: String,
    /// At most ten.
    pub attributes: BTreeMap<String, MessageAttribute>,
    /// `AWSTraceHeader`, which counts towards no limit.
    pub trace_header: Option<String>,
    /// Required by a FIFO queue; on a standard queue it makes the queue fair and orders nothing.
    pub group_id: Option<String>,
    /// For FIFO queues only: the same id within five minutes is the same message.
    pub deduplication_id: Option<String>,
    /// 0 to 900 s; the queue's own if absent. A FIFO queue takes none per message.
    pub delay: Option<Duration>,
}

/// What SQS says to a sender.
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
    /// With which it can be deleted.
    pub receipt_handle: String,
    pub(crate) body: String,
    pub(crate) md5_of_body: String,
    /// Of all attributes; a caller that asked for some of them needs another.
    pub(crate) md5_of_attributes: Option<String>,
    pub(crate) attributes: BTreeMap<String, MessageAttribute>,
    /// Across all queues, this receive included.
    pub receive_count: u32,
    pub(crate) sent_at: SystemTime,
    pub(crate) first_received_at: SystemTime,
    pub(crate) sender_id: String,
    pub(crate) group_id: Option<String>,
    pub(crate) deduplication_id: Option<String>,
    pub(crate) sequence_number: Option<String>,
    pub(crate) trace_header: Option<String>,
    /// The ARN of the queue that a redrive policy took it from.
    pub(crate) dead_letter_source: Option<String>,
}

/// How many messages a queue holds. They are exact, unlike SQS's approximate ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Counts {
    /// Neither in flight nor delayed; those that wait behind their FIFO group count too.
    pub visible: usize,
    /// Received, and hidden until their visibility timeout.
    pub in_flight: usize,
    /// Sent with a delay that has not passed.
    pub delayed: usize,
}

/// Where a message of a queue stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing<'q> {
    /// Its id.
    pub id: &'q str,
    /// How often it was received.
    pub receive_count: u32,
    /// Until when it is hidden, or else since when it is visible.
    pub hidden: Result<SystemTime, SystemTime>,
}

/// A message in a queue, with everything that survives a move to the dead-letter queue.
#[derive(Debug, Clone)]
pub(crate) struct Held {
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
    /// The ARNs of the queues that a redrive policy took it from, the latest last.
    pub(super) dead_letter_sources: Vec<String>,
    pub(super) sent_at: SystemTime,
    /// Where the retention period starts.
    pub(super) enqueued_at: SystemTime,
    pub(super) receive_count: u32,
    pub(super) first_received_at: Option<SystemTime>,
    /// The latest receive, where the twelve hours start.
    pub(super) received_at: SystemTime,
    /// Whether the visibility timeout was changed since.
    pub(super) visibility_changed: bool,
    pub(super) place: Place,
}

impl Held {
    pub(crate) fn message_id(&self) -> &str {
        &self.message_id
    }

    /// The group that orders it on a FIFO queue.
    pub(super) fn group(&self) -> &str {
        self.group_id.as_deref().unwrap_or_default()
    }

    pub(super) fn dead_letter_source(&self) -> Option<&String> {
        self.dead_letter_sources.last()
    }

    /// Whether the redrive policy of this queue has moved it before, and others have moved it back.
    pub(super) fn was_moved_from(&self, queue: &str) -> bool {
        self.dead_letter_sources.iter().any(|arn| redrive_sqs::queue_name(arn) == queue)
    }

    pub(crate) fn receive_count(&self) -> u32 {
        self.receive_count
    }
}

/// Where a message stands. A time of `until` that has come means visible.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Visible { since: SystemTime },
    Delayed { until: SystemTime },
    InFlight { until: SystemTime },
}
