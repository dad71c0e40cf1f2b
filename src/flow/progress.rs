//! The state of each record of a batch, and the steps that follow from each event.

mod deletes;
mod entries;

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use tracing::warn;

pub(in crate::flow) use self::deletes::Deletes;
use super::streak::Streak;
use crate::Invocation;
use crate::batch::decide::{Case, Policy, decide_lane};
use crate::batch::plan::Plan;
use crate::batch::work::Worked;
use crate::batch::{Action, Outcome, Ran, Settled};
use crate::overrides::Asked;
use crate::record::Record;
use crate::settings::Overrides;

/// What to do next. `at` is a message's place in the order of the plan.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Write its letter; the letters of a lane are written in this order.
    Letter { at: usize, lane: usize },
    /// Set its visibility timeout.
    Change(usize),
    /// Delete it, which is Lambda's business but for a worker.
    Delete(usize),
    /// Run the rest of a lane.
    GoOn(Range<usize>),
}

/// What is known of each record so far, and the steps that follow from it.
pub(super) struct Progress<'a> {
    pub(super) records: &'a [Record<'a>],
    pub(super) settled: Vec<Settled>,
    /// The steps to take next, in order.
    pub(super) steps: Vec<Step>,
    order: Arc<[usize]>,
    lanes: Vec<Range<usize>>,
    /// What messages ask for, of those about which something was decided.
    asked: HashMap<usize, Asked>,
    policy: Policy<'a>,
    invocation: &'a Invocation,
    streak: &'a Streak,
    deletes: Deletes,
    something_finished: bool,
    is_closed: bool,
    is_interrupted: bool,
}

impl<'a> Progress<'a> {
    pub(super) fn new(
        records: &'a [Record<'a>],
        plan: &Plan,
        policy: Policy<'a>,
        invocation: &'a Invocation,
        streak: &'a Streak,
        deletes: Deletes,
    ) -> Self {
        let untouched = || Settled {
            outcome: Outcome::NotStarted,
            action: Action::Leave,
            confirmed: false,
            delayed: false,
            ran: None,
            call: None,
            deleted: None,
            is_lost: false,
        };
        Self {
            records,
            settled: records.iter().map(|_| untouched()).collect(),
            steps: Vec::new(),
            order: Arc::clone(&plan.order),
            lanes: plan.lanes.clone(),
            asked: HashMap::new(),
            policy,
            invocation,
            streak,
            deletes,
            something_finished: false,
            is_closed: false,
            is_interrupted: false,
        }
    }

    /// Records the outcomes of messages. Those of one call come together, and within a lane in order.
    pub(super) fn note(&mut self, worked: Vec<Worked>) {
        let mut failed = Vec::new();
        for Worked { at, mut outcome, ran } in worked {
            if let Outcome::Panicked { again, is_early, .. } = &mut outcome
                && !ran.is_some_and(|ran| ran.is_shared)
            {
                *again |= self.streak.panicked(*is_early);
            }
            let settled = &mut self.settled[self.order[at]];
            if matches!(outcome, Outcome::TimedOut) {
                match (settled.is_lost, self.is_interrupted) {
                    (true, _) => outcome = Outcome::LeaseLost,
                    (false, true) => outcome = Outcome::Interrupted,
                    (false, false) => {}
                }
            }
            let goes_on = outcome.lets_the_lane_go_on();
            (settled.outcome, settled.ran) = (outcome, ran);
            if goes_on {
                settled.action = Action::Ack;
                self.something_finished = true;
                self.streak.succeeded();
                self.delete(at);
            } else {
                failed.push(at);
            }
        }
        let mut lane = 0..0;
        for at in failed {
            if !lane.contains(&at) {
                lane = self.lanes[self.lane_of(at)].clone();
                self.stop(at..lane.end);
            }
        }
    }

    /// A lane, or the rest of one, begins with a failed message.
    fn stop(&mut self, rest: Range<usize>) {
        self.decide(rest.clone());
        self.settle(rest);
    }

    /// No more messages are started, so a lane ends even if the letter of its head is confirmed later.
    pub(super) fn close(&mut self) {
        self.is_closed = true;
    }

    /// The process ends after this batch, and blocked handlers with it.
    pub(super) fn end_process(&mut self) {
        self.policy.ends = true;
    }

    /// A lane, or the rest of one, was not started and will not be.
    pub(super) fn release(&mut self, rest: Range<usize>) {
        if !rest.is_empty() {
            let end = self.lanes[self.lane_of(rest.start)].end;
            self.stop(rest.start..end);
        }
    }

    /// SQS has answered the call for a letter.
    pub(super) fn letter_answered(&mut self, at: usize, confirmed: bool, call: Ran) {
        let settled = &mut self.settled[self.order[at]];
        (settled.confirmed, settled.call) = (confirmed, Some(call));
        if confirmed {
            self.delete(at);
        } else {
            self.steps.push(Step::Change(at));
        }
        if self.never_ran(at) || (confirmed && self.deletes.one_by_one()) {
            return;
        }
        let lane = self.lanes[self.lane_of(at)].clone();
        if (lane.start..at + 1).all(|at| self.is_over(at)) {
            self.go_on(at + 1..lane.end);
        } else {
            self.settle(at + 1..lane.end);
        }
    }

    /// All before the rest of a lane is over.
    fn go_on(&mut self, rest: Range<usize>) {
        let Some(next) = rest.clone().find(|&at| !self.is_over(at)) else { return };
        let rest = next..rest.end;
        if !self.never_ran(next) {
            self.stop(rest);
        } else if self.is_closed
            || self.settled[self.order[next]].is_lost
            || !rest.clone().all(|at| self.never_ran(at))
        {
            self.release(rest);
        } else {
            self.steps.push(Step::GoOn(rest));
        }
    }

    /// SQS has answered the call for a visibility timeout. A letter stays unconfirmed, whatever becomes of its message's
    /// timeout.
    pub(super) fn change_answered(&mut self, at: usize, confirmed: bool, call: Ran) {
        let settled = &mut self.settled[self.order[at]];
        (settled.call, settled.delayed) = (Some(call), confirmed);
        settled.confirmed = confirmed && !matches!(settled.action, Action::DeadLetter { .. });
    }

    /// What of the rest of a lane may run before something of it is settled.
    pub(super) fn head(&self, rest: Range<usize>) -> Range<usize> {
        if self.deletes.one_by_one() { rest.start..rest.start + 1 } else { rest }
    }

    pub(super) fn lane_of(&self, at: usize) -> usize {
        self.lanes.partition_point(|lane| lane.end <= at)
    }

    fn is_over(&self, at: usize) -> bool {
        self.settled[self.order[at]].is_over()
    }

    fn never_ran(&self, at: usize) -> bool {
        matches!(self.settled[self.order[at]].outcome, Outcome::NotStarted)
    }

    /// Decides on the rest of a lane, from the message at which it stopped.
    fn decide(&mut self, rest: Range<usize>) {
        for at in rest.clone() {
            self.read_asked(self.order[at]);
        }
        let nothing = Asked::default();
        let case = |&index: &usize| Case {
            outcome: &self.settled[index].outcome,
            attempt: self.records[index].attempt(),
            asked: self.asked.get(&index).unwrap_or(&nothing),
            random: fastrand::f64(),
        };
        let cases: Vec<_> = self.order[rest.clone()].iter().map(case).collect();
        let actions = decide_lane(&cases, &self.policy, self.something_finished);
        for (at, action) in rest.zip(actions) {
            self.settled[self.order[at]].action = action;
        }
    }

    /// Settles the rest of a lane. Behind a message that ran and gets a letter, the others wait until that is written.
    fn settle(&mut self, rest: Range<usize>) {
        for at in rest {
            self.settle_one(at);
            let has_letter = matches!(self.settled[self.order[at]].action, Action::DeadLetter { .. });
            if has_letter && !self.never_ran(at) {
                return;
            }
        }
    }

    fn settle_one(&mut self, at: usize) {
        let settled = &mut self.settled[self.order[at]];
        if settled.is_lost {
            settled.action = Action::Leave;
        }
        let action = &self.settled[self.order[at]].action;
        if matches!(action, Action::DeadLetter { .. }) {
            self.steps.push(Step::Letter { at, lane: self.lane_of(at) });
        } else if action.back_after().is_some() {
            self.steps.push(Step::Change(at));
        }
    }

    /// Reads what a message asks for, once.
    fn read_asked(&mut self, index: usize) {
        let record = &self.records[index];
        let is_off = self.policy.overrides == Overrides::Off;
        if is_off || !record.has_attributes() || self.asked.contains_key(&index) {
            return;
        }
        let max = self.policy.max_receive_count;
        let (asked, warnings) = Asked::read(&record.attributes(), self.policy.backoff, max);
        for warning in warnings {
            warn!(message_id = record.id(), warning, "an attribute of the message was ignored");
        }
        self.asked.insert(index, asked);
    }
}
