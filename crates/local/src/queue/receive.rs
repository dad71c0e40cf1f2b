//! Receives at most ten messages, and hides them.

use std::time::{Duration, SystemTime};

use redrive_sqs::{LONGEST_VISIBILITY, MAX_ENTRIES};

use super::handle::Handle;
use super::message::{Place, QueuedMessage, Received};
use super::{Queue, error};
use crate::protocol::AwsError;

/// The messages that one receive took.
#[derive(Debug, Default)]
pub(crate) struct ReceiveOutcome {
    pub(crate) received: Vec<Received>,
    /// Messages that were received as often as allowed. They have left the queue.
    pub(crate) exhausted: Vec<QueuedMessage>,
}

impl Queue {
    /// Receives up to `max` (1 to 10) messages, which stay hidden for the visibility timeout: the queue's own, or the given
    /// one of at most 12 h. A message that was received `max_receive_count` times already is handed out as exhausted instead,
    /// once, because policies in a circle would move it forever (AWS's behavior there is unverified).
    ///
    /// # Errors
    /// Returns an error for a number or a timeout out of range, and on a standard queue with 120,000 messages in flight. A
    /// FIFO queue returns no messages then.
    /// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html>
    pub(crate) fn receive(
        &mut self,
        max: usize,
        visibility_timeout: Option<Duration>,
        max_receive_count: Option<u32>,
        now: SystemTime,
    ) -> Result<ReceiveOutcome, AwsError> {
        let timeout = self.check_receive(max, visibility_timeout)?;
        self.catch_up(now);
        let max = max.min(self.most_in_flight.saturating_sub(self.in_flight.len()));
        if max == 0 && !self.settings.fifo {
            let message = format!("Too many messages of the queue {} are in flight.", self.name);
            return Err(error::OVER_LIMIT.error(message));
        }
        let mut taken = ReceiveOutcome::default();
        loop {
            let next = self.receive_order.next(max - taken.received.len());
            if next.is_empty() {
                self.traffic.receive(taken.received.len());
                return Ok(taken);
            }
            for number in next {
                let limited = self.messages.get(&number).zip(max_receive_count);
                let is_exhausted = |(held, limit): (&QueuedMessage, u32)| {
                    held.receive_count >= limit && !held.was_moved_from(&self.name)
                };
                if limited.is_some_and(is_exhausted) {
                    taken.exhausted.extend(self.remove(number));
                } else {
                    taken.received.extend(self.hand_out(number, timeout, now));
                }
            }
        }
    }

    #[cfg(test)]
    pub(crate) fn limit_in_flight(&mut self, most: usize) {
        self.most_in_flight = most;
    }

    /// Returns the visibility timeout of a receive.
    pub(super) fn check_receive(
        &self,
        max: usize,
        visibility_timeout: Option<Duration>,
    ) -> Result<Duration, AwsError> {
        if !(1..=MAX_ENTRIES).contains(&max) {
            let reason = format!("Must be between 1 and {MAX_ENTRIES}, if provided.");
            return Err(error::invalid("MaxNumberOfMessages", max, reason));
        }
        let timeout = visibility_timeout.unwrap_or(self.settings.visibility_timeout);
        if timeout > LONGEST_VISIBILITY {
            let reason = error::visibility_timeout();
            return Err(error::invalid("VisibilityTimeout", timeout.as_secs(), reason));
        }
        Ok(timeout)
    }

    /// Hides a message and returns it. Even with a timeout of zero it is in flight until the next look at the time, so that
    /// one receive does not return it twice.
    fn hand_out(&mut self, number: u64, timeout: Duration, now: SystemTime) -> Option<Received> {
        let held = self.messages.get_mut(&number)?;
        held.receive_count = held.receive_count.saturating_add(1);
        held.received_at = now;
        held.visibility_changed = false;
        held.first_received_at.get_or_insert(now);
        let handle = Handle { number, message_id: held.message_id.clone(), receive: held.receive_count };
        self.place(number, Place::InFlight { until: now + timeout });
        self.received(&handle)
    }

    /// Returns a message as the receive with this handle returns it.
    pub(super) fn received(&self, handle: &Handle) -> Option<Received> {
        let held = self.messages.get(&handle.number)?;
        Some(Received {
            message_id: held.message_id.clone(),
            receipt_handle: handle.write(&self.name),
            body: held.body.clone(),
            md5_of_body: held.md5_of_body.clone(),
            md5_of_attributes: held.md5_of_attributes.clone(),
            attributes: held.attributes.clone(),
            receive_count: held.receive_count,
            sent_at: held.sent_at,
            first_received_at: held.first_received_at?,
            sender_id: held.sender_id.clone(),
            group_id: held.group_id.clone(),
            deduplication_id: held.deduplication_id.clone(),
            sequence_number: held.sequence_number.clone(),
            trace_header: held.trace_header.clone(),
            dead_letter_source: held.dead_letter_source().cloned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{at, bodies, fifo, grouped, id, queue, receive, text};

    #[test]
    fn above_the_in_flight_limit_only_a_standard_queue_refuses() {
        let (mut standard, mut fifo) = (queue(&[]), fifo(&[]));
        assert_eq!((standard.most_in_flight, fifo.most_in_flight), (120_000, 120_000));
        standard.limit_in_flight(3);
        fifo.limit_in_flight(3);
        for body in ["a", "b", "c", "d"] {
            standard.send(text(body), id(), "", at(0)).unwrap();
            fifo.send(grouped(body, body), id(), "", at(0)).unwrap();
        }
        let received = receive(&mut standard, at(0));
        assert_eq!(bodies(&received), ["a", "b", "c"]);
        assert_eq!(standard.receive(1, None, None, at(1)).unwrap_err().code(), "OverLimit");
        assert_eq!((receive(&mut fifo, at(0)).len(), receive(&mut fifo, at(1)).len()), (3, 0));
        standard.delete(&received[0].receipt_handle, at(2)).unwrap();
        assert_eq!(bodies(&receive(&mut standard, at(2))), ["d"]);
    }
}
