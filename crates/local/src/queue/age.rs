//! How old the oldest message is, as CloudWatch sees it.

use std::time::SystemTime;

use super::Queue;

/// Received as often without having been deleted, a message of a standard queue no longer counts.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-available-cloudwatch-metrics.html>
const RECEIVED_TOO_OFTEN: u32 = 3;

impl Queue {
    /// Since when the oldest message that counts has been there.
    pub(crate) fn oldest(&self, now: SystemTime) -> Option<SystemTime> {
        let mut by_age = self.by_age.iter().filter(|(start, _)| *start + self.settings.retention > now);
        let counts =
            |number| self.settings.fifo || self.messages[number].receive_count() < RECEIVED_TOO_OFTEN;
        by_age.find(|(_, number)| counts(number)).map(|(start, _)| *start)
    }
}
