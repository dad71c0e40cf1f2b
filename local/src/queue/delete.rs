//! Deleting one message, or all.

use std::time::{Duration, SystemTime};

use super::Queue;
use super::error;
use super::handle::Handle;
use super::receive_order::ReceiveOrder;
use crate::protocol::AwsError;

/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_PurgeQueue.html>
const BETWEEN_PURGES: Duration = Duration::from_secs(60);

impl Queue {
    /// Deletes a message and gives its id, or nothing if the handle is not of the latest receive, or the message
    /// is gone: SQS reports that as a success too.
    ///
    /// # Errors
    /// If the handle is no handle; and on a FIFO queue if the message is there but no longer in flight by it.
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

    /// Deletes all messages, those in flight too, and forgets their deduplication ids.
    ///
    /// # Errors
    /// If the last purge is less than a minute ago.
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

#[cfg(test)]
mod tests {
    use super::super::Counts;
    use super::super::testing::{at, bodies, fifo, grouped, queue, receive, seconds, text};

    #[test]
    fn a_deleted_message_never_comes_back_and_deleting_it_again_succeeds() {
        let mut queue = queue(&[]);
        queue.send(text("a"), "", at(0)).unwrap();
        let message = receive(&mut queue, at(0)).remove(0);
        assert_eq!(queue.delete(&message.receipt_handle, at(1)).unwrap(), Some(message.message_id));
        assert_eq!(queue.delete(&message.receipt_handle, at(1)).unwrap(), None);
        assert!(receive(&mut queue, at(99)).is_empty());
        assert_eq!(queue.delete("garbage", at(1)).unwrap_err().code(), "ReceiptHandleIsInvalid");
    }

    #[test]
    fn a_standard_queue_deletes_after_the_timeout_but_not_by_the_handle_of_an_older_receive() {
        let mut queue = queue(&[]);
        queue.send(text("a"), "", at(0)).unwrap();
        let old = receive(&mut queue, at(0)).remove(0);
        let new = receive(&mut queue, at(30)).remove(0);
        assert_eq!(queue.delete(&old.receipt_handle, at(31)).unwrap(), None);
        assert_eq!(queue.counts(at(31)).in_flight, 1);
        assert!(queue.delete(&new.receipt_handle, at(61)).unwrap().is_some(), "expired, not received again");
    }

    #[test]
    fn a_fifo_queue_refuses_to_delete_once_the_handle_has_expired() {
        let mut queue = fifo(&[]);
        queue.send(grouped("g", "a"), "", at(0)).unwrap();
        let message = receive(&mut queue, at(0)).remove(0);
        let error = queue.delete(&message.receipt_handle, at(30)).unwrap_err();
        assert_eq!(error.code(), "InvalidParameterValue");
        assert!(error.to_string().ends_with("Reason: The receipt handle has expired."));
        let again = receive(&mut queue, at(30)).remove(0);
        assert!(queue.delete(&message.receipt_handle, at(31)).is_err());
        queue.change_visibility(&again.receipt_handle, seconds(60), at(31)).unwrap();
        assert!(queue.delete(&again.receipt_handle, at(90)).unwrap().is_some());
        assert_eq!(queue.delete(&message.receipt_handle, at(91)).unwrap(), None, "gone is gone");
    }

    #[test]
    fn deleting_the_head_releases_its_group() {
        let mut queue = fifo(&[]);
        queue.send(grouped("g", "a"), "", at(0)).unwrap();
        let head = receive(&mut queue, at(0)).remove(0);
        queue.send(grouped("g", "b"), "", at(1)).unwrap();
        assert!(receive(&mut queue, at(1)).is_empty());
        queue.delete(&head.receipt_handle, at(2)).unwrap();
        assert_eq!(bodies(&receive(&mut queue, at(2))), ["b"]);
    }

    #[test]
    fn a_purge_empties_the_queue_once_a_minute() {
        let mut queue = fifo(&[("DelaySeconds", "5")]);
        queue.send(grouped("g", "a"), "", at(0)).unwrap();
        receive(&mut queue, at(5));
        queue.send(grouped("g", "b"), "", at(5)).unwrap();
        queue.purge(at(6)).unwrap();
        assert_eq!(queue.counts(at(6)), Counts::default());
        let error = queue.purge(at(65)).unwrap_err();
        assert_eq!(error.code(), "AWS.SimpleQueueService.PurgeQueueInProgress");
        queue.purge(at(66)).unwrap();
        assert!(queue.send(grouped("g", "a"), "", at(66)).unwrap().is_new, "no deduplication id is left");
        assert_eq!(bodies(&receive(&mut queue, at(71))), ["a"], "no lock is left behind");
    }
}
