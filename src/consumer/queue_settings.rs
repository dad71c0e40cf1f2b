//! The settings of one queue of several.

use std::num::NonZeroUsize;
use std::time::Duration;

use redrive_sqs::OriginSenders;

use crate::Backoff;
use crate::settings::{LastDelivery, OnFailure, Overrides, Settings};

/// The settings of one of several queues that feed a function, for [`Consumer::queue`](crate::Consumer::queue).
/// Each method works like the one of [`Consumer`](crate::Consumer) with the same name. redrive reads settings that
/// you leave out from the queue's entry in `REDRIVE_QUEUES`. If the entry lacks them too, the first three have no
/// value, and the others are the consumer's.
///
/// ```
/// # async fn place(order: String) -> Result<(), redrive::Failure> { Ok(()) }
/// use redrive::{Consumer, QueueSettings};
///
/// let of = |name: &str| format!("arn:aws:sqs:eu-central-1:123456789012:{name}");
/// let consumer = Consumer::new(place)
///     .queue(of("orders"), QueueSettings::default().max_receive_count(5))
///     .queue(of("returns"), QueueSettings::default().max_receive_count(3));
/// ```
#[derive(Debug, Clone, Default)]
pub struct QueueSettings(pub(crate) Settings);

impl QueueSettings {
    /// The queue for messages that cannot succeed.
    #[must_use]
    pub fn dead_letter_queue_url(mut self, url: impl Into<String>) -> Self {
        self.0.dead_letter_queue_url = self.0.keep(url.into());
        self
    }

    /// The queue's maxReceiveCount, 1 to 1,000.
    #[must_use]
    pub fn max_receive_count(mut self, count: u32) -> Self {
        self.0.max_receive_count = self.0.keep(count);
        self
    }

    /// The queue's visibility timeout, at most 36,000 s.
    #[must_use]
    pub fn visibility_timeout(mut self, timeout: Duration) -> Self {
        self.0.visibility_timeout = self.0.keep(timeout);
        self
    }

    /// How many messages of a batch run at a time.
    #[must_use]
    pub fn concurrency(mut self, messages: NonZeroUsize) -> Self {
        self.0.concurrency = Some(messages);
        self
    }

    /// How long the handler may take for one message.
    #[must_use]
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.0.time_limit = self.0.keep(limit);
        self
    }

    /// How long failed messages wait.
    #[must_use]
    pub fn backoff(mut self, backoff: Backoff) -> Self {
        self.0.backoff = Some(backoff);
        self
    }

    /// What a message may override with its attributes.
    #[must_use]
    pub fn overrides(mut self, allowed: Overrides) -> Self {
        self.0.overrides = Some(allowed);
        self
    }

    /// Which senders may set `redrive.origin`.
    #[must_use]
    pub fn origin_senders(mut self, ids: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.0.origin_senders = self.0.keep(OriginSenders::new(ids));
        self
    }

    /// What happens to a message whose handler panicked.
    #[must_use]
    pub fn on_panic(mut self, choice: OnFailure) -> Self {
        self.0.on_panic = Some(choice);
        self
    }

    /// What happens to a message whose body cannot be decoded.
    #[must_use]
    pub fn on_malformed(mut self, choice: OnFailure) -> Self {
        self.0.on_malformed = Some(choice);
        self
    }

    /// Whether the redrive policy or redrive dead-letters a message that failed on its last delivery.
    #[must_use]
    pub fn last_delivery(mut self, choice: LastDelivery) -> Self {
        self.0.last_delivery = Some(choice);
        self
    }
}
