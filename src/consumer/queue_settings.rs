//! The settings of one of several queues.

use crate::settings::Settings;

/// The settings of one of several queues that feed a function, for [`Consumer::queue`](crate::Consumer::queue).
/// redrive reads settings that
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
    pub(crate) fn setting(mut self, set: impl FnOnce(&mut Settings)) -> Self {
        set(&mut self.0);
        self
    }
}
