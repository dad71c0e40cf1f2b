//! Events of messages.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::queue::MessageAttribute;

/// An event of a message. `queue` is the queue's name.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum QueueEvent {
    /// The message was sent.
    Sent {
        /// The queue.
        queue: String,
        /// The message's new id.
        message_id: String,
        /// The message attributes.
        attributes: BTreeMap<String, MessageAttribute>,
    },
    /// The message was received.
    Received {
        /// The queue.
        queue: String,
        /// The message's id.
        message_id: String,
        /// Receives so far, including this one.
        receive_count: u32,
        /// How long the message is hidden.
        timeout: Duration,
    },
    /// The message's visibility timeout was changed.
    VisibilityChanged {
        /// The queue.
        queue: String,
        /// The message's id.
        message_id: String,
        /// The new timeout, from now on.
        timeout: Duration,
    },
    /// The message was deleted.
    Deleted {
        /// The queue.
        queue: String,
        /// The message's id.
        message_id: String,
    },
    /// The redrive policy moved the message, after this many receives.
    Moved {
        /// The queue.
        queue: String,
        /// The message's id.
        message_id: String,
        /// The dead-letter queue.
        to: String,
        /// Number of receives.
        receive_count: u32,
    },
    /// The message's retention period ended.
    Expired {
        /// The queue.
        queue: String,
        /// The message's id.
        message_id: String,
    },
}
