//! Changing how long a received message stays hidden.

use std::time::{Duration, SystemTime};

use redrive_sqs::LONGEST_VISIBILITY;

use super::Queue;
use super::error;
use super::handle::Handle;
use super::message::{Held, Place};
use crate::protocol::AwsError;

impl Queue {
    /// Hides a message for `timeout` from now on, zero for not at all, and gives its id.
    ///
    /// # Errors
    /// If the timeout is above 12 h, or ends 12 h after the receive or later; if the message is gone; and on a
    /// FIFO queue if it is in flight no more, or again. A standard queue does not mind an old handle, nor that the
    /// timeout is over: AWS was seen to accept that, and that the message is hidden again is unverified. Nobody is
    /// known to have seen the documented `MessageNotInflight`.
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

/// From the receive to the end of the timeout. SQS counts whole seconds and refuses even 43,200 right after the
/// receive.
fn hidden_in_all(held: &Held, timeout: Duration, now: SystemTime) -> Duration {
    let elapsed = now.duration_since(held.received_at).unwrap_or_default();
    timeout + Duration::from_secs(elapsed.as_secs() + u64::from(elapsed.subsec_nanos() > 0))
}

impl Held {
    /// Whether the receive that gave this handle still hides the message.
    pub(super) fn is_held_by(&self, handle: &Handle) -> bool {
        self.receive_count == handle.receive && matches!(self.place, Place::InFlight { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{at, bodies, fifo, grouped, queue, receive, seconds, text};
    use super::super::{Queue, Received};
    use super::*;

    /// Sends the bodies to one group and receives them all, for 30 s.
    fn received(mut queue: Queue, bodies: &[&str]) -> (Queue, Vec<Received>) {
        for body in bodies {
            queue.send(grouped("g", body), "", at(0)).unwrap();
        }
        let received = receive(&mut queue, at(0));
        (queue, received)
    }

    fn change(queue: &mut Queue, message: &Received, timeout: u64, now: u64) -> Result<String, AwsError> {
        queue.change_visibility(&message.receipt_handle, seconds(timeout), at(now))
    }

    #[test]
    fn a_new_timeout_counts_from_the_change() {
        let (mut queue, messages) = received(queue(&[]), &["a"]);
        assert_eq!(change(&mut queue, &messages[0], 100, 20).unwrap(), messages[0].message_id);
        assert!(receive(&mut queue, at(119)).is_empty());
        let again = receive(&mut queue, at(120)).remove(0);
        assert_eq!(queue.next_change(at(120)), Some(at(150)), "the next receive is back to the queue's own");
        change(&mut queue, &again, 0, 121).unwrap();
        assert_eq!(receive(&mut queue, at(121)).len(), 1);
    }

    #[test]
    fn a_message_stays_hidden_for_less_than_twelve_hours_since_its_receive() {
        let (mut queue, messages) = received(queue(&[]), &["a"]);
        let error = change(&mut queue, &messages[0], 43_200, 0).unwrap_err();
        assert_eq!(
            error.to_string(),
            "Value 43200 for parameter VisibilityTimeout is invalid. Reason: Total VisibilityTimeout for the \
             message is beyond the limit [43200 seconds]"
        );
        assert_eq!(error.code(), "InvalidParameterValue");
        change(&mut queue, &messages[0], 43_199, 0).unwrap();
        change(&mut queue, &messages[0], 43_195, 4).unwrap();
        assert!(change(&mut queue, &messages[0], 43_196, 4).is_err());
        assert!(change(&mut queue, &messages[0], 43_201, 0).is_err());
        let fraction = at(4) + Duration::from_millis(1);
        let handle = &messages[0].receipt_handle;
        assert!(
            queue.change_visibility(handle, seconds(43_195), fraction).is_err(),
            "seconds are rounded up"
        );
        assert!(queue.change_visibility(handle, seconds(43_194), fraction).is_ok());
    }

    #[test]
    fn a_standard_queue_accepts_a_change_after_the_timeout_and_with_an_old_handle() {
        let (mut queue, messages) = received(queue(&[]), &["a"]);
        change(&mut queue, &messages[0], 30, 40).unwrap();
        assert!(receive(&mut queue, at(69)).is_empty());
        let again = receive(&mut queue, at(70));
        assert_eq!(again[0].receive_count, 2);
        change(&mut queue, &messages[0], 0, 71).unwrap();
        assert_eq!(receive(&mut queue, at(71)).len(), 1);
    }

    #[test]
    fn a_change_on_a_deleted_message_is_refused_as_sqs_refuses_it() {
        let (mut queue, messages) = received(queue(&[]), &["a"]);
        queue.delete(&messages[0].receipt_handle, at(1)).unwrap();
        let error = change(&mut queue, &messages[0], 5, 2).unwrap_err();
        assert_eq!(error.code(), "InvalidParameterValue");
        assert!(
            error.to_string().ends_with(
                "Reason: Message does not exist or is not available for visibility timeout change."
            )
        );
        let error = queue.change_visibility("garbage", seconds(5), at(2)).unwrap_err();
        assert_eq!(error.code(), "ReceiptHandleIsInvalid");
    }

    #[test]
    fn a_fifo_queue_refuses_a_change_after_the_timeout() {
        let (mut queue, messages) = received(fifo(&[]), &["a"]);
        change(&mut queue, &messages[0], 30, 29).unwrap();
        assert_eq!(change(&mut queue, &messages[0], 30, 59).unwrap_err().code(), "InvalidParameterValue");
    }

    #[test]
    fn only_messages_before_the_one_that_stays_hidden_are_receivable() {
        for (index, expected) in [(0, vec![]), (1, vec!["a"]), (2, vec!["a", "b"])] {
            let (mut queue, messages) = received(fifo(&[]), &["a", "b", "c"]);
            change(&mut queue, &messages[index], 100, 0).unwrap();
            assert_eq!(bodies(&receive(&mut queue, at(30))), expected, "{index}");
        }
    }

    #[test]
    fn a_shortened_head_comes_back_alone() {
        let (mut queue, messages) = received(fifo(&[]), &["a", "b"]);
        change(&mut queue, &messages[0], 2, 0).unwrap();
        assert_eq!(bodies(&receive(&mut queue, at(2))), ["a"]);
        assert!(receive(&mut queue, at(30)).is_empty(), "b waits behind a");
    }

    #[test]
    fn a_visible_message_can_be_hidden_and_counted_as_such() {
        let mut queue = queue(&[]);
        queue.send(text("a"), "", at(0)).unwrap();
        let messages = receive(&mut queue, at(0));
        change(&mut queue, &messages[0], 0, 1).unwrap();
        assert_eq!(queue.counts(at(1)).visible, 1);
        change(&mut queue, &messages[0], 9, 1).unwrap();
        assert_eq!(queue.counts(at(1)).in_flight, 1);
    }
}
