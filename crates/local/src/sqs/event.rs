//! What happens to messages, for whoever tells of it.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::queue::MessageAttribute;

/// Something that happened to a message; `queue` is the queue's name.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum QueueEvent {
    /// It was sent.
    Sent {
        /// Where to.
        queue: String,
        /// The id that it got.
        message_id: String,
        /// What stands beside the body.
        attributes: BTreeMap<String, MessageAttribute>,
    },
    /// It was received.
    Received {
        /// Where from.
        queue: String,
        /// Which.
        message_id: String,
        /// How often by now.
        receive_count: u32,
        /// For so long it is hidden.
        timeout: Duration,
    },
    /// Its visibility timeout was changed.
    VisibilityChanged {
        /// Where it is.
        queue: String,
        /// Which.
        message_id: String,
        /// From now on.
        timeout: Duration,
    },
    /// It was deleted.
    Deleted {
        /// Where from.
        queue: String,
        /// Which.
        message_id: String,
    },
    /// The redrive policy moved it, after so many receives.
    Moved {
        /// Where from.
        queue: String,
        /// Which.
        message_id: String,
        /// The dead-letter queue.
        to: String,
        /// How many.
        receive_count: u32,
    },
    /// Its retention period ended.
    Expired {
        /// Where it was.
        queue: String,
        /// Which.
        message_id: String,
    },
}
