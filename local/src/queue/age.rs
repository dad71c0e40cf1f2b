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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::testing::{at, queue, text};

    #[test]
    fn the_oldest_message_counts_until_it_was_received_three_times_or_expired() {
        let mut queue = queue(&[("MessageRetentionPeriod", "60")]);
        assert_eq!(queue.oldest(at(0)), None);
        queue.send(text("a"), "", at(0)).unwrap();
        for receive in 0..3 {
            assert_eq!(queue.oldest(at(receive)), Some(at(0)), "after {receive} receives");
            queue.receive(1, Some(Duration::ZERO), None, at(receive)).unwrap();
        }
        assert_eq!(queue.oldest(at(4)), None);
        queue.send(text("b"), "", at(5)).unwrap();
        assert_eq!(queue.oldest(at(13)), Some(at(5)));
        assert_eq!(queue.oldest(at(65)), None);
    }
}
