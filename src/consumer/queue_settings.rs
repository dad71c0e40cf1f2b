//! The settings of one of several queues.

use std::time::Duration;

use redrive_sqs::OriginSenders;

use crate::settings::Settings;
use redrive_engine::{Backoff, LastDelivery, OnFailure, Overrides};

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
#[must_use]
pub struct QueueSettings(pub(crate) Settings);

impl QueueSettings {
    /// The queue for messages that cannot succeed.
    pub fn dead_letter_queue_url(self, url: impl Into<String>) -> Self {
        self.set(|settings| settings.dead_letter_queue_url = settings.keep(url.into()))
    }

    /// The queue's maxReceiveCount, 1 to 1,000.
    pub fn max_receive_count(self, count: u32) -> Self {
        self.set(|settings| settings.max_receive_count = settings.keep(count))
    }

    /// The queue's visibility timeout, at most 36,000 s.
    pub fn visibility_timeout(self, timeout: Duration) -> Self {
        self.set(|settings| settings.visibility_timeout = settings.keep(timeout))
    }

    /// The maximum number of messages of a batch that run at the same time, 1 to 10,000.
    pub fn concurrency(self, messages: usize) -> Self {
        self.set(|settings| settings.concurrency = settings.keep(messages))
    }

    /// The time that the handler may take for one message.
    pub fn time_limit(self, limit: Duration) -> Self {
        self.set(|settings| settings.time_limit = settings.keep(limit))
    }

    /// The delays before failed messages are retried.
    pub fn backoff(self, backoff: Backoff) -> Self {
        self.set(|settings| settings.backoff = Some(backoff))
    }

    /// The overrides that senders may set with message attributes.
    pub fn overrides(self, allowed: Overrides) -> Self {
        self.set(|settings| settings.overrides = Some(allowed))
    }

    /// The senders that may set `redrive.origin`.
    pub fn origin_senders(self, ids: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.set(|settings| settings.origin_senders = settings.keep(OriginSenders::new(ids)))
    }

    /// Dead-letters or retries a message whose handler panicked.
    pub fn on_panic(self, choice: OnFailure) -> Self {
        self.set(|settings| settings.on_panic = Some(choice))
    }

    /// Dead-letters or retries a message whose body cannot be decoded.
    pub fn on_malformed(self, choice: OnFailure) -> Self {
        self.set(|settings| settings.on_malformed = Some(choice))
    }

    /// Chooses who dead-letters a message that failed on its last delivery: the queue's redrive policy, or redrive.
    pub fn last_delivery(self, choice: LastDelivery) -> Self {
        self.set(|settings| settings.last_delivery = Some(choice))
    }

    fn set(mut self, set: impl FnOnce(&mut Settings)) -> Self {
        set(&mut self.0);
        self
    }
}
