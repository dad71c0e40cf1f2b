//! The queue that a worker reads, whose attributes fill the gaps of the settings.

use std::sync::Arc;
use std::time::Duration;

use redrive_sqs::{QueueArn, RedrivePolicy, is_fifo};

use crate::settings::{InvalidSetting, LONGEST_VISIBILITY_TIMEOUT, Settings, Value, VisibilityTimeout};

/// The shortest visibility timeout. The shortest poll takes a second, and the lease of its messages must last longer.
const SHORTEST: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(super) struct SourceQueue {
    pub(super) url: String,
    pub(super) arn: Arc<str>,
    pub(super) is_fifo: bool,
    /// The visibility timeout that each receive requests, because the queue's own may change.
    pub(super) visibility: Duration,
}

/// The attributes of a queue.
#[derive(Debug)]
pub(super) struct Attributes {
    pub(super) arn: String,
    pub(super) visibility: Option<Duration>,
    pub(super) policy: Option<RedrivePolicy>,
}

impl SourceQueue {
    /// Returns the queue, and the settings completed with its attributes.
    ///
    /// # Errors
    /// The settings are not for this queue.
    pub(super) fn new(
        url: &str,
        attributes: &Attributes,
        settings: &Settings,
    ) -> Result<(Self, Settings), InvalidSetting> {
        let arn = attributes.arn.as_str();
        let mut settings = settings.of_queue(arn)?.into_owned();
        let set = settings.visibility_timeout.as_deref().copied();
        let visibility = set.or(attributes.visibility).unwrap_or_else(|| settings.visibility_timeout());
        if visibility < SHORTEST {
            let allowed = "at least 2 s for a worker: set REDRIVE_VISIBILITY_TIMEOUT";
            return Err(InvalidSetting::new(VisibilityTimeout::NAME, format!("{visibility:?}"), allowed));
        }
        settings.visibility_timeout = settings.keep(visibility.min(LONGEST_VISIBILITY_TIMEOUT));
        if let Some(policy) = &attributes.policy {
            if settings.max_receive_count.is_none() {
                settings.max_receive_count = settings.keep(policy.max_receive_count);
            }
            if settings.dead_letter_queue_url.is_none() {
                let dead = QueueArn::parse(&policy.dead_letter_target_arn);
                settings.dead_letter_queue_url = dead.and_then(|dead| settings.keep(beside(url, &dead)));
            }
        }
        settings.check_dead_letter_queue(arn)?;
        let queue = Self { url: url.to_owned(), arn: arn.into(), is_fifo: is_fifo(arn), visibility };
        Ok((queue, settings))
    }
}

/// Returns the URL of another queue at the same endpoint. A redrive policy names a queue of the same account and region.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-dead-letter-queues.html>
fn beside(url: &str, other: &QueueArn<'_>) -> String {
    match url.rsplit_once('/') {
        Some((front, _)) => format!("{front}/{}", other.name),
        None => other.url(),
    }
}
