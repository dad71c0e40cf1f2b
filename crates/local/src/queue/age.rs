//! The age of the oldest message, by CloudWatch's rules.

use std::time::SystemTime;

use super::Queue;

/// Receives after which a message of a standard queue that was not deleted no longer counts.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-available-cloudwatch-metrics.html>
const RECEIVED_TOO_OFTEN: u32 = 3;

impl Queue {
    /// Returns the time at which the oldest message that counts arrived.
    pub(crate) fn oldest(&self, now: SystemTime) -> Option<SystemTime> {
        let mut by_age = self.by_age.iter().filter(|(start, _)| *start + self.settings.retention > now);
        let counts =
            |number| self.settings.fifo || self.messages[number].receive_count() < RECEIVED_TOO_OFTEN;
        by_age.find(|(_, number)| counts(number)).map(|(start, _)| *start)
    }
}
