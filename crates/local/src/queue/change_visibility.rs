//! Changes how long a received message stays hidden.

use std::time::{Duration, SystemTime};

use redrive_sqs::LONGEST_VISIBILITY;

use super::Queue;
use super::error;
use super::handle::Handle;
use super::message::{Place, QueuedMessage};
use crate::protocol::AwsError;

impl Queue {
    /// Hides a message for `timeout` from now on, or shows it for zero, and returns its id.
    ///
    /// # Errors
    /// Returns an error if the timeout is above 12 h or ends 12 h after the receive or later, and if the message is gone. A
    /// FIFO queue also refuses if the receive of this handle no longer hides the message. A standard queue accepts old
    /// handles and ended timeouts, as AWS was observed to do. It is unverified that AWS hides the message again. Nobody is
    /// known to have observed the documented `MessageNotInflight`.
    /// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_ChangeMessageVisibility.html>
    pub(crate) fn change_visibility(
        &mut self,
        receipt_handle: &str,
        timeout: Duration,
        now: SystemTime,
    ) -> Result<String, AwsError> {
        let seconds = timeout.as_secs();
        if timeout > LONGEST_VISIBILITY {
            let reason = error::visibility_timeout();
            return Err(error::invalid("VisibilityTimeout", seconds, reason));
        }
        let handle = Handle::read(receipt_handle, &self.name)?;
        self.catch_up(now);
        let held = self.messages.get(&handle.number).filter(|held| held.message_id == handle.message_id);
        let held = held.filter(|held| !self.settings.fifo || held.is_held_by(&handle));
        let Some(held) = held else {
            let message = format!(
                "Value {receipt_handle} for parameter ReceiptHandle is invalid. Reason: Message does not exist or \
                 is not available for visibility timeout change."
            );
            return Err(error::MESSAGE_NOT_AVAILABLE.error(message));
        };
        if hidden_in_all(held, timeout, now) >= LONGEST_VISIBILITY {
            let limit = LONGEST_VISIBILITY.as_secs();
            let reason =
                format!("Total VisibilityTimeout for the message is beyond the limit [{limit} seconds]");
            return Err(error::invalid("VisibilityTimeout", seconds, reason));
        }
        let message_id = held.message_id.clone();
        if let Some(held) = self.messages.get_mut(&handle.number) {
            held.visibility_changed = true;
        }
        self.place(handle.number, Place::InFlight { until: now + timeout });
        Ok(message_id)
    }
}

/// Returns the time from the receive to the end of the timeout. SQS counts whole seconds and refuses even 43,200 right after
/// the receive.
fn hidden_in_all(held: &QueuedMessage, timeout: Duration, now: SystemTime) -> Duration {
    let elapsed = now.duration_since(held.received_at).unwrap_or_default();
    timeout + Duration::from_secs(elapsed.as_secs() + u64::from(elapsed.subsec_nanos() > 0))
}

impl QueuedMessage {
    /// Returns true if the receive that returned this handle still hides the message.
    pub(super) fn is_held_by(&self, handle: &Handle) -> bool {
        self.receive_count == handle.receive && matches!(self.place, Place::InFlight { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{at, id, queue, receive, text};
    use super::*;

    #[test]
    fn the_seconds_since_the_receive_are_rounded_up() {
        let mut queue = queue(&[]);
        queue.send(text("a"), id(), "", at(0)).unwrap();
        let handle = receive(&mut queue, at(0)).remove(0).receipt_handle;
        let later = at(4) + Duration::from_millis(1);
        let mut change = |seconds| queue.change_visibility(&handle, Duration::from_secs(seconds), later);
        assert!(change(43_195).is_err() && change(43_194).is_ok());
    }
}
