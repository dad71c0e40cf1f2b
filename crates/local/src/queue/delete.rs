//! Deletes one message, or all messages.

use std::time::{Duration, SystemTime};

use super::Queue;
use super::error;
use super::handle::Handle;
use super::receive_order::ReceiveOrder;
use crate::protocol::AwsError;

/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_PurgeQueue.html>
const BETWEEN_PURGES: Duration = Duration::from_secs(60);

impl Queue {
    /// Deletes a message and returns its id. Returns None if the handle is not of the latest receive or the message is gone,
    /// which SQS reports as a success too.
    ///
    /// # Errors
    /// Returns an error if the handle is invalid, and on a FIFO queue if the receive of this handle no longer hides the
    /// message.
    /// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_DeleteMessage.html>
    pub(crate) fn delete(
        &mut self,
        receipt_handle: &str,
        now: SystemTime,
    ) -> Result<Option<String>, AwsError> {
        let handle = Handle::read(receipt_handle, &self.name)?;
        self.catch_up(now);
        let held = self.messages.get(&handle.number).filter(|held| held.message_id == handle.message_id);
        let Some(held) = held else { return Ok(None) };
        if self.settings.fifo && !held.is_held_by(&handle) {
            let reason = "The receipt handle has expired.";
            return Err(error::invalid("ReceiptHandle", receipt_handle, reason));
        }
        if held.receive_count != handle.receive {
            return Ok(None);
        }
        self.traffic.delete();
        Ok(self.remove(handle.number).map(|held| held.message_id))
    }

    /// Deletes all messages, including those in flight, and forgets their deduplication ids.
    ///
    /// # Errors
    /// Returns an error if the last purge was less than a minute ago.
    pub(crate) fn purge(&mut self, now: SystemTime) -> Result<(), AwsError> {
        if self.purged_at.is_some_and(|purged_at| now < purged_at + BETWEEN_PURGES) {
            let name = &self.name;
            let message = format!("Only one PurgeQueue operation on {name} is allowed every 60 seconds.");
            return Err(error::PURGE_QUEUE_IN_PROGRESS.error(message));
        }
        self.catch_up(now);
        self.purged_at = Some(now);
        self.messages.clear();
        self.delayed.clear();
        self.in_flight.clear();
        self.by_age.clear();
        self.deduplication.clear();
        self.attempts.clear();
        self.receive_order = if self.settings.fifo { ReceiveOrder::fifo() } else { ReceiveOrder::standard() };
        Ok(())
    }
}
