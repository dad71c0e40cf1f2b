//! Receiving again under the same `ReceiveRequestAttemptId`, for a client that has lost the answer.

use std::time::{Duration, SystemTime};

use super::Queue;
use super::accept::{check_fifo_only, check_id};
use super::handle::Handle;
use super::message::{Place, Received};
use super::receive::Taken;
use crate::protocol::AwsError;

impl Queue {
    /// Receives as [`receive`](Self::receive) does, unless a receive under this id within the last five minutes took
    /// messages that nobody has touched since: then those again, by the same handles, hidden anew.
    ///
    /// That does not count as a receive, and after a deletion or a visibility change the id is as good as new; both
    /// are unverified.
    ///
    /// # Errors
    /// An id that is none, or is for a standard queue (unverified); whatever `receive` refuses.
    /// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/using-receiverequestattemptid-request-parameter.html>
    pub(crate) fn receive_attempt(
        &mut self,
        id: &str,
        max: usize,
        visibility_timeout: Option<Duration>,
        max_receive_count: Option<u32>,
        now: SystemTime,
    ) -> Result<Taken, AwsError> {
        check_id("ReceiveRequestAttemptId", id)?;
        check_fifo_only("ReceiveRequestAttemptId", id, &self.settings)?;
        let timeout = self.check_receive(max, visibility_timeout)?;
        self.catch_up(now);
        if let Some(received) = self.replay(id, timeout, now) {
            return Ok(Taken { received, exhausted: Vec::new() });
        }
        let taken = self.receive(max, visibility_timeout, max_receive_count, now)?;
        if !taken.received.is_empty() {
            let handles = taken.received.iter().map(|it| Handle::read(&it.receipt_handle, &self.name));
            self.attempts.insert(id.to_owned(), handles.collect::<Result<_, _>>()?, now);
        }
        Ok(taken)
    }

    fn replay(&mut self, id: &str, timeout: Duration, now: SystemTime) -> Option<Vec<Received>> {
        let handles: Vec<Handle> = self.attempts.get(&id.to_owned())?.clone();
        let is_untouched = |handle: &Handle| {
            let held = self.messages.get(&handle.number);
            held.is_some_and(|held| held.is_held_by(handle) && !held.visibility_changed)
        };
        if !handles.iter().all(is_untouched) {
            return None;
        }
        for handle in &handles {
            self.place(handle.number, Place::InFlight { until: now + timeout });
        }
        Some(handles.iter().filter_map(|handle| self.received(handle)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{at, bodies, fifo, grouped, queue};
    use super::*;

    fn attempt(queue: &mut Queue, id: &str, now: u64) -> Vec<Received> {
        queue.receive_attempt(id, 10, None, None, at(now)).unwrap().received
    }

    /// A queue with the groups `g` (a, b) and `h` (c), of which the first is received under the id `x`.
    fn received() -> (Queue, Vec<Received>) {
        let mut queue = fifo(&[]);
        for (group, body) in [("g", "a"), ("g", "b"), ("h", "c")] {
            queue.send(grouped(group, body), "", at(0)).unwrap();
        }
        let received = queue.receive_attempt("x", 2, None, None, at(0)).unwrap().received;
        assert_eq!(bodies(&received), ["a", "b"]);
        (queue, received)
    }

    #[test]
    fn the_same_id_gives_the_same_messages_by_the_same_handles_and_hides_them_anew() {
        let (mut queue, first) = received();
        assert_eq!(attempt(&mut queue, "x", 20), first);
        assert!(queue.receive(10, None, None, at(49)).unwrap().received.iter().all(|it| it.body == "c"));
        assert_eq!(bodies(&attempt(&mut queue, "y", 50)), ["a", "b"], "30 s after the retry");
    }

    #[test]
    fn an_id_has_up_to_128_visible_characters_and_a_fifo_queue() {
        let mut fifo = fifo(&[]);
        for id in ["", "a b", "é", &"a".repeat(129)] {
            let error = fifo.receive_attempt(id, 1, None, None, at(0)).unwrap_err();
            assert_eq!(error.code(), "InvalidParameterValue", "{id}");
        }
        assert!(fifo.receive_attempt(&"a".repeat(128), 1, None, None, at(0)).is_ok());
        assert!(queue(&[]).receive_attempt("x", 1, None, None, at(0)).is_err());
    }
}
