//! What a worker adds: it deletes what is over, may lose messages, and is told to end.

use super::{Progress, Step};
use crate::batch::{Action, Outcome, Ran};

/// Who deletes what is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::flow) enum Deletes {
    ByLambda,
    ByWorker {
        /// The next message of a lane runs once the one before it is deleted.
        one_by_one: bool,
    },
}

impl Deletes {
    pub(in crate::flow) const fn one_by_one(self) -> bool {
        matches!(self, Self::ByWorker { one_by_one: true })
    }
}

impl Progress<'_> {
    /// The worker was told to end: what never ran goes back at once.
    pub(in crate::flow) fn hand_back(&mut self) {
        self.is_closed = true;
        self.something_finished = true;
    }

    pub(in crate::flow) fn is_of_worker(&self) -> bool {
        self.deletes != Deletes::ByLambda
    }

    /// Releases lanes that a runner took and was kept from beginning.
    pub(in crate::flow) fn release_untouched(&mut self) {
        for lane in self.lanes.clone() {
            let next = lane.clone().find(|&at| !self.is_over(at));
            let is_untouched = |at: &usize| {
                let settled = &self.settled[self.order[*at]];
                self.never_ran(*at) && settled.action == Action::Leave && !settled.is_lost
            };
            if let Some(next) = next.filter(is_untouched) {
                self.release(next..lane.end);
            }
        }
    }

    /// The worker waits for handlers no longer.
    pub(in crate::flow) fn interrupt(&mut self) {
        self.hand_back();
        self.is_interrupted = true;
    }

    /// Whether one that never ran would have no delivery left if it went back.
    pub(in crate::flow) fn has_a_last_attempt(&self) -> bool {
        let never_ran = |index: &usize| matches!(self.settled[*index].outcome, Outcome::NotStarted);
        (0..self.records.len()).filter(never_ran).any(|index| self.records[index].is_last_attempt())
    }

    /// The worker has lost the lease of this record. Says whether all that may be running is lost.
    pub(in crate::flow) fn lost(&mut self, index: usize) -> bool {
        self.settled[index].is_lost = true;
        let is_lost = |at: usize| self.settled[self.order[at]].is_lost;
        self.lanes.iter().all(|lane| lane.clone().find(|&at| !self.is_over(at)).is_none_or(is_lost))
    }

    pub(super) fn delete(&mut self, at: usize) {
        let settled = &mut self.settled[self.order[at]];
        if self.deletes != Deletes::ByLambda && settled.deleted.is_none() {
            settled.deleted = Some(false);
            self.steps.push(Step::Delete(at));
        }
    }

    /// SQS has answered the call that deletes a message, or the worker has given up.
    pub(in crate::flow) fn delete_answered(&mut self, at: usize, confirmed: bool, call: Ran) {
        let settled = &mut self.settled[self.order[at]];
        (settled.deleted, settled.call) = (Some(confirmed), settled.call.or(Some(call)));
        let is_done = matches!(settled.action, Action::Ack);
        if !self.deletes.one_by_one() || self.never_ran(at) {
            return;
        }
        let rest = at + 1..self.lanes[self.lane_of(at)].end;
        match (confirmed, is_done) {
            (true, _) => self.go_on(rest),
            (false, true) => self.release(rest),
            (false, false) => self.settle(rest),
        }
    }
}
