//! Repeats a receive under the same `ReceiveRequestAttemptId`, for a client that lost the answer.

use std::time::{Duration, SystemTime};

use super::Queue;
use super::accept::{check_fifo_only, check_id};
use super::handle::Handle;
use super::message::{Place, Received};
use super::receive::ReceiveOutcome;
use crate::protocol::AwsError;

impl Queue {
    /// Receives as [`receive`](Self::receive) does. If a receive under this id took messages within the last five minutes,
    /// and nobody touched them since, this returns the same messages with the same handles, hidden anew.
    ///
    /// A repetition does not count as a receive, and a deletion or visibility change ends the id. Both are unverified.
    ///
    /// # Errors
    /// Returns an error for an invalid id, for an id on a standard queue (unverified), and for everything that `receive`
    /// refuses.
    /// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/using-receiverequestattemptid-request-parameter.html>
    pub(crate) fn receive_attempt(
        &mut self,
        id: &str,
        max: usize,
        visibility_timeout: Option<Duration>,
        max_receive_count: Option<u32>,
        now: SystemTime,
    ) -> Result<ReceiveOutcome, AwsError> {
        check_id("ReceiveRequestAttemptId", id)?;
        check_fifo_only("ReceiveRequestAttemptId", id, &self.settings)?;
        let timeout = self.check_receive(max, visibility_timeout)?;
        self.catch_up(now);
        if let Some(received) = self.replay(id, timeout, now) {
            return Ok(ReceiveOutcome { received, exhausted: Vec::new() });
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
    use super::super::testing::{at, queue};

    #[test]
    fn an_attempt_id_is_for_fifo_queues() {
        assert!(queue(&[]).receive_attempt("x", 1, None, None, at(0)).is_err());
    }
}
