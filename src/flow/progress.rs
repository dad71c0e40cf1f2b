//! The state of each record of a batch, and the steps that follow from each event.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::SystemTime;

use redrive_sqs::DeadLetter;
use tracing::warn;

use super::streak::Streak;
use crate::Invocation;
use crate::batch::decide::{Case, Policy, decide_lane};
use crate::batch::plan::Plan;
use crate::batch::settle::{Change, Letter};
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
    something_finished: bool,
    is_closed: bool,
}

impl<'a> Progress<'a> {
    pub(super) fn new(
        records: &'a [Record<'a>],
        plan: &Plan,
        policy: Policy<'a>,
        invocation: &'a Invocation,
        streak: &'a Streak,
    ) -> Self {
        let untouched = || Settled {
            outcome: Outcome::NotStarted,
            action: Action::Leave,
            confirmed: false,
            delayed: false,
            ran: None,
            call: None,
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
            something_finished: false,
            is_closed: false,
        }
    }

    /// Records the outcomes of messages. Those of one call come together, and within a lane in order.
    pub(super) fn note(&mut self, worked: Vec<Worked>) {
        let mut failed = Vec::new();
        for Worked { at, mut outcome, ran } in worked {
            if let Outcome::Panicked { again, .. } = &mut outcome
                && !ran.is_some_and(|ran| ran.is_shared)
            {
                *again |= self.streak.panicked();
            }
            let goes_on = outcome.lets_the_lane_go_on();
            let settled = &mut self.settled[self.order[at]];
            (settled.outcome, settled.ran) = (outcome, ran);
            if goes_on {
                settled.action = Action::Ack;
                self.something_finished = true;
                self.streak.succeeded();
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
            self.stop(rest);
        }
    }

    /// SQS has answered the call for a letter.
    pub(super) fn letter_answered(&mut self, at: usize, confirmed: bool, call: Ran) {
        let settled = &mut self.settled[self.order[at]];
        (settled.confirmed, settled.call) = (confirmed, Some(call));
        if !confirmed {
            self.steps.push(Step::Change(at));
        }
        if self.never_ran(at) {
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
        } else if self.is_closed || !rest.clone().all(|at| self.never_ran(at)) {
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

    /// The visibility change of a message that is to come back.
    pub(super) fn change(&self, at: usize) -> Option<Change<'a>> {
        let index = self.order[at];
        let after = self.settled[index].action.back_after()?;
        Some(Change { index: at, record: &self.records[index], after })
    }

    /// The letter of a message that is to be dead-lettered.
    pub(super) fn letter(&self, at: usize) -> Option<Letter<'a>> {
        let index = self.order[at];
        let Settled { outcome, action: Action::DeadLetter { reason, .. }, .. } = &self.settled[index] else {
            return None;
        };
        let record = &self.records[index];
        let (error, exception) = outcome.describe();
        let failed_at = SystemTime::now();
        let mut note = DeadLetter::new(reason, failed_at, record.attempt(), record.id(), record.source());
        error.clone_into(&mut note.error);
        exception.clone_into(&mut note.exception);
        note.sent_at = record.sent_at();
        self.invocation.function().unwrap_or_default().clone_into(&mut note.function);
        self.invocation.request_id().unwrap_or_default().clone_into(&mut note.request_id);
        let mut attributes = record.attributes();
        if !note.attach(record.body(), &mut attributes) {
            warn!(
                message_id = record.id(),
                "the message has no room for the note, so its dead letter is written without one"
            );
        }
        Some(Letter { index: at, record, attributes })
    }
}
