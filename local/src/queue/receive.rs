//! Receiving: at most ten messages, hidden for a while.

use std::time::{Duration, SystemTime};

use redrive_sqs::{LONGEST_VISIBILITY, MAX_ENTRIES};

use super::handle::Handle;
use super::message::{Held, Place, Received};
use super::{Queue, error};
use crate::protocol::AwsError;

/// What one receive took.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    pub(crate) received: Vec<Received>,
    /// Messages that were received as often as they may be; they have left the queue.
    pub(crate) exhausted: Vec<Held>,
}

impl Queue {
    /// Receives up to `max` (1 to 10) messages, which stay hidden for the visibility timeout: the queue's own,
    /// or the given one of at most 12 h. Whatever was received `max_receive_count` times already is not
    /// received again but handed out as exhausted, once: policies that lead in a circle would move it for ever (what AWS
    /// does there is unverified).
    ///
    /// # Errors
    /// A number or a timeout out of range; on a standard queue, 120,000 messages in flight. A FIFO queue gives
    /// nothing more then.
    /// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html>
    pub(crate) fn receive(
        &mut self,
        max: usize,
        visibility_timeout: Option<Duration>,
        max_receive_count: Option<u32>,
        now: SystemTime,
    ) -> Result<Taken, AwsError> {
        let timeout = self.check_receive(max, visibility_timeout)?;
        self.catch_up(now);
        let max = max.min(self.most_in_flight.saturating_sub(self.in_flight.len()));
        if max == 0 && !self.settings.fifo {
            let message = format!("Too many messages of the queue {} are in flight.", self.name);
            return Err(error::OVER_LIMIT.error(message));
        }
        let mut taken = Taken::default();
        loop {
            let next = self.receive_order.next(max - taken.received.len());
            if next.is_empty() {
                self.traffic.receive(taken.received.len());
                return Ok(taken);
            }
            for number in next {
                let limited = self.messages.get(&number).zip(max_receive_count);
                let is_exhausted = |(held, limit): (&Held, u32)| {
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

    /// Gives the visibility timeout of a receive.
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

    /// Even with a timeout of zero the message is in flight until time is looked at again, so that one receive
    /// does not hand it out twice.
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

    /// A message as the receive with this handle hands it out.
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
    use super::super::testing::{at, bodies, fifo, grouped, queue, receive, seconds, text};

    #[test]
    fn a_received_message_is_hidden_until_its_visibility_timeout_ends() {
        let mut queue = queue(&[("VisibilityTimeout", "60")]);
        queue.send(text("a"), "", at(0)).unwrap();
        let first = receive(&mut queue, at(7)).remove(0);
        assert!(receive(&mut queue, at(66)).is_empty());
        let second = receive(&mut queue, at(67)).remove(0);
        assert_eq!((first.receive_count, second.receive_count), (1, 2));
        assert_eq!((first.first_received_at, second.first_received_at), (at(7), at(7)));
        assert_ne!(first.receipt_handle, second.receipt_handle);
    }

    #[test]
    fn a_receive_can_bring_its_own_visibility_timeout_zero_included() {
        let mut queue = queue(&[]);
        queue.send(text("a"), "", at(0)).unwrap();
        let taken = queue.receive(10, Some(seconds(0)), None, at(0)).unwrap();
        assert_eq!(taken.received.len(), 1, "once in one receive");
        let again = queue.receive(10, Some(seconds(43_200)), None, at(0)).unwrap().received;
        assert_eq!(again[0].receive_count, 2);
        assert!(receive(&mut queue, at(43_199)).is_empty());
        assert_eq!(receive(&mut queue, at(43_200)).len(), 1);
    }

    #[test]
    fn a_receive_takes_one_to_ten_messages_for_twelve_hours_at_most() {
        let mut queue = queue(&[]);
        for body in 0..15 {
            queue.send(text(&body.to_string()), "", at(0)).unwrap();
        }
        assert!(queue.receive(0, None, None, at(0)).is_err());
        assert!(queue.receive(11, None, None, at(0)).is_err());
        assert!(queue.receive(1, Some(seconds(43_201)), None, at(0)).is_err());
        assert_eq!(receive(&mut queue, at(0)).len(), 10);
        assert_eq!(receive(&mut queue, at(0)).len(), 5);
    }

    #[test]
    fn a_message_is_exhausted_on_the_receive_after_the_last_allowed() {
        let mut queue = queue(&[]);
        queue.send(text("a"), "", at(0)).unwrap();
        for time in [0, 30] {
            assert!(queue.receive(1, None, Some(2), at(time)).unwrap().exhausted.is_empty());
        }
        queue.send(text("b"), "", at(61)).unwrap();
        let taken = queue.receive(1, None, Some(2), at(61)).unwrap();
        assert_eq!(bodies(&taken.received), ["b"], "what is exhausted takes no one's place");
        let [exhausted] = &taken.exhausted[..] else { panic!("one message is exhausted") };
        assert_eq!((exhausted.body.as_str(), exhausted.receive_count), ("a", 2));
    }

    #[test]
    fn a_group_is_locked_while_one_of_its_messages_is_in_flight() {
        let mut queue = fifo(&[]);
        for body in ["a", "b", "c"] {
            queue.send(grouped("g", body), "", at(0)).unwrap();
        }
        let received = queue.receive(2, None, None, at(0)).unwrap().received;
        assert_eq!(bodies(&received), ["a", "b"]);
        assert!(receive(&mut queue, at(1)).is_empty());
        queue.delete(&received[0].receipt_handle, at(1)).unwrap();
        assert!(receive(&mut queue, at(1)).is_empty(), "deleting a part releases nothing");
        queue.delete(&received[1].receipt_handle, at(1)).unwrap();
        assert_eq!(bodies(&receive(&mut queue, at(1))), ["c"]);
    }

    #[test]
    fn a_receive_hands_out_several_groups_each_together() {
        let mut queue = fifo(&[]);
        for (group, body) in [("g1", "1a"), ("g2", "2a"), ("g1", "1b"), ("g1", "1c")] {
            queue.send(grouped(group, body), "", at(0)).unwrap();
        }
        assert_eq!(bodies(&receive(&mut queue, at(0))), ["1a", "1b", "1c", "2a"]);
    }

    #[test]
    fn the_group_goes_on_in_the_same_receive_after_an_exhausted_message() {
        let mut queue = fifo(&[]);
        queue.send(grouped("g", "a"), "", at(0)).unwrap();
        queue.receive(1, None, Some(1), at(0)).unwrap();
        queue.send(grouped("g", "b"), "", at(1)).unwrap();
        let taken = queue.receive(1, None, Some(1), at(30)).unwrap();
        assert_eq!((taken.exhausted.len(), bodies(&taken.received)), (1, vec!["b"]));
    }

    #[test]
    fn messages_of_a_standard_queue_with_a_group_run_side_by_side() {
        let mut queue = queue(&[]);
        queue.send(grouped("tenant", "a"), "", at(0)).unwrap();
        queue.send(grouped("tenant", "b"), "", at(0)).unwrap();
        assert_eq!(queue.receive(1, None, None, at(0)).unwrap().received.len(), 1);
        assert_eq!(receive(&mut queue, at(0)).len(), 1);
    }

    #[test]
    fn beyond_the_limit_in_flight_a_standard_queue_refuses_and_a_fifo_queue_is_silent() {
        let (mut standard, mut fifo) = (queue(&[]), fifo(&[]));
        assert_eq!((standard.most_in_flight, fifo.most_in_flight), (120_000, 120_000));
        standard.limit_in_flight(3);
        fifo.limit_in_flight(3);
        for body in ["a", "b", "c", "d"] {
            standard.send(text(body), "", at(0)).unwrap();
            fifo.send(grouped(body, body), "", at(0)).unwrap();
        }
        let received = receive(&mut standard, at(0));
        assert_eq!(bodies(&received), ["a", "b", "c"]);
        assert_eq!(standard.receive(1, None, None, at(1)).unwrap_err().code(), "OverLimit");
        assert_eq!((receive(&mut fifo, at(0)).len(), receive(&mut fifo, at(1)).len()), (3, 0));
        standard.delete(&received[0].receipt_handle, at(2)).unwrap();
        assert_eq!(bodies(&receive(&mut standard, at(2))), ["d"]);
    }
}
