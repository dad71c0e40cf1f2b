//! The messages of one batch: which state each is in, and what follows when a handler ends or SQS answers.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use super::decide::{Case, Policy, decide_lane};
use super::guards::{Guard, holds};
use super::keys::{LeaseKey, MessageKey};
use super::outbox::Kind;
use super::plan::{Plan, plan};
use super::settled::{Action, Outcome, Ran, Settled, State};
use super::streak::Streak;
use super::{Facts, Time};
use crate::overrides::Asked;
use crate::settings::Overrides;

/// How long a canceled handler may keep its thread.
pub(crate) const GRACE: Duration = Duration::from_millis(50);

/// The outcome of a message, and when its handler ran.
#[derive(Debug, Clone)]
pub(crate) struct Worked {
    pub(crate) key: MessageKey,
    pub(crate) outcome: Outcome,
    pub(crate) ran: Option<Ran>,
}

/// Who deletes what is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Deletes {
    ByLambda,
    ByWorker {
        /// The next message of a lane runs once the one before it is deleted.
        one_by_one: bool,
    },
}

/// How far a batch has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Phase {
    /// Messages begin.
    Open,
    /// No more messages begin.
    Stopped,
    /// Those that run are canceled. Whatever still runs at this time is given up.
    Closing(Time),
    /// The shell gives up what runs.
    GivingUp,
    /// Nothing runs.
    Over,
}

/// What follows from an event.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Step {
    /// Run the messages of a lane.
    Run(Range<usize>),
    /// Make the call that the state of this message asks for.
    Ask(usize),
    /// Nothing more happens to this message of a worker's. Says whether SQS was asked for anything.
    End { at: usize, was_asked: bool },
}

#[derive(Debug, Clone)]
pub(super) struct Message<F> {
    pub(super) facts: F,
    pub(super) settled: Settled,
    /// Its place among the records of the batch.
    record: usize,
    /// Of a worker's message.
    pub(super) lease: Option<LeaseKey>,
    asked: Option<Box<Asked>>,
    /// How often SQS was called for what its state asks for.
    pub(super) tries: u32,
}

/// What the decisions of all batches share.
pub(super) struct Rules<'e, 'a> {
    pub(super) policy: &'e mut Policy<'a>,
    pub(super) streak: &'e mut Streak,
    pub(super) rng: &'e mut fastrand::Rng,
}

#[derive(Debug, Clone)]
pub(super) struct Batch<F> {
    /// In the order in which they begin.
    pub(super) messages: Vec<Message<F>>,
    lanes: Vec<Range<usize>>,
    /// What follows next, in order.
    pub(super) steps: Vec<Step>,
    pub(super) phase: Phase,
    pub(super) began: Time,
    /// When its handlers are canceled.
    pub(super) until: Time,
    pub(super) deletes: Deletes,
    /// So many messages are not final.
    pub(super) left: usize,
    /// So many messages wait for a call.
    pub(super) asking: usize,
    /// So many messages run, or will next.
    pub(super) running: usize,
    /// Nobody is told of it: nothing of it was begun.
    pub(super) is_silent: bool,
    something_finished: bool,
    is_interrupted: bool,
}

impl<F: Facts> Batch<F> {
    /// Begins messages, each with its lease if a worker received it. Also returns the places of the records in the order in
    /// which they begin, and the lanes that run first.
    pub(super) fn begin(
        messages: impl Iterator<Item = (F, Option<LeaseKey>)>,
        is_fifo: bool,
        (began, until): (Time, Time),
        deletes: Deletes,
    ) -> (Self, Arc<[usize]>, Vec<Range<usize>>) {
        let message = |(record, (facts, lease))| Message {
            facts,
            settled: Settled::new(),
            record,
            lease,
            asked: None,
            tries: 0,
        };
        let mut messages: Vec<_> = messages.enumerate().map(message).collect();
        let Plan { order, lanes } = plan(&messages, is_fifo);
        if !order.is_sorted() {
            let mut places = vec![0; order.len()];
            order.iter().enumerate().for_each(|(at, &record)| places[record] = at);
            messages.sort_unstable_by_key(|message| places[message.record]);
        }
        let mut batch = Self {
            left: messages.len(),
            messages,
            lanes,
            steps: Vec::new(),
            phase: Phase::Open,
            began,
            until,
            deletes,
            asking: 0,
            running: 0,
            is_silent: false,
            something_finished: false,
            is_interrupted: false,
        };
        let heads: Vec<_> = batch.lanes.iter().map(|lane| batch.head(lane.clone())).collect();
        heads.iter().flat_map(Clone::clone).for_each(|at| batch.set(at, State::Running));
        (batch, order, heads)
    }

    /// A message that goes back without having been begun.
    pub(super) fn returned(facts: F, lease: LeaseKey, now: Time) -> Self {
        let deletes = Deletes::ByWorker { one_by_one: false };
        let message = std::iter::once((facts, Some(lease)));
        let (mut batch, ..) = Self::begin(message, false, (now, now), deletes);
        (batch.phase, batch.is_silent) = (Phase::Over, true);
        batch.set(0, State::Waiting);
        batch.messages[0].settled.action = Action::Release { after: Duration::ZERO };
        batch.ask(0, State::Delaying);
        batch
    }

    fn set(&mut self, at: usize, state: State) {
        let before = std::mem::replace(&mut self.messages[at].settled.state, state);
        debug_assert!(before == state || before.leads_to(state), "{before:?} does not lead to {state:?}");
        self.running -= usize::from(before == State::Running);
        self.running += usize::from(state == State::Running);
        self.asking -= usize::from(before.is_asking());
        self.asking += usize::from(state.is_asking());
        if state.is_final() && !before.is_final() {
            self.left -= 1;
            if self.deletes != Deletes::ByLambda {
                self.steps.push(Step::End { at, was_asked: before.is_asking() });
            }
        }
    }

    /// SQS cannot be called for a message.
    pub(super) fn leave(&mut self, at: usize) {
        self.set(at, State::Left);
    }

    fn ask(&mut self, at: usize, state: State) {
        self.set(at, state);
        self.messages[at].tries = 0;
        self.steps.push(Step::Ask(at));
    }

    /// What of the rest of a lane may run before something of it is settled.
    fn head(&self, rest: Range<usize>) -> Range<usize> {
        let is_first_only = self.deletes.one_by_one() && holds(Guard::NextAfterDelete);
        if is_first_only { rest.start..rest.start + 1 } else { rest }
    }

    fn run(&mut self, rest: Range<usize>) {
        let head = self.head(rest);
        head.clone().for_each(|at| self.set(at, State::Running));
        self.steps.push(Step::Run(head));
    }

    /// Handlers have ended. The messages of one call come together, and within a lane in order.
    pub(super) fn ended(&mut self, worked: Vec<Worked>, rules: &mut Rules<'_, '_>) {
        let mut failed = Vec::new();
        for Worked { key: MessageKey { at, .. }, mut outcome, ran } in worked {
            if let Outcome::Panicked { again, is_early, .. } = &mut outcome
                && !ran.is_some_and(|ran| ran.is_shared)
            {
                *again |= rules.streak.panicked(*is_early);
            }
            let settled = &mut self.messages[at].settled;
            if matches!(outcome, Outcome::TimedOut) {
                match (settled.is_lost, self.is_interrupted) {
                    (true, _) => outcome = Outcome::LeaseLost,
                    (false, true) => outcome = Outcome::Interrupted,
                    (false, false) => {}
                }
            }
            let (goes_on, has_run) = (outcome.lets_the_lane_go_on(), !matches!(outcome, Outcome::NotStarted));
            (settled.outcome, settled.ran) = (outcome, ran);
            if goes_on {
                settled.action = Action::Ack;
                self.something_finished = true;
                rules.streak.succeeded();
                self.delete(at);
            } else {
                self.set(at, if has_run { State::Ended } else { State::Waiting });
                failed.push(at);
            }
        }
        let mut lane = 0..0;
        for at in failed {
            if !lane.contains(&at) {
                lane = self.lanes[self.lane_of(at)].clone();
                self.stop(at..lane.end, rules);
            }
        }
    }

    /// A lane, or the rest of one, begins with a failed message.
    fn stop(&mut self, rest: Range<usize>, rules: &mut Rules<'_, '_>) {
        for at in rest.clone() {
            if self.messages[at].settled.state == State::Running {
                self.set(at, State::Waiting);
            }
        }
        self.decide(rest.clone(), rules);
        self.settle(rest);
    }

    /// A lane, or the rest of one, was not started and will not be.
    fn release(&mut self, rest: Range<usize>, rules: &mut Rules<'_, '_>) {
        if !rest.is_empty() {
            let end = self.lanes[self.lane_of(rest.start)].end;
            self.stop(rest.start..end, rules);
        }
    }

    /// Nothing runs any more: releases what was not begun.
    pub(super) fn release_untouched(&mut self, rules: &mut Rules<'_, '_>) {
        self.phase = Phase::Over;
        for lane in self.lanes.clone() {
            if let Some(next) = lane.clone().find(|&at| !self.is_over(at))
                && self.messages[next].settled.state == State::Running
            {
                self.release(next..lane.end, rules);
            }
        }
        if self.asking == 0 {
            // Nothing will be answered that others could wait for.
            let is_left = |at: &usize| !self.messages[*at].settled.state.is_final();
            let left: Vec<_> = (0..self.messages.len()).filter(is_left).collect();
            debug_assert!(left.is_empty(), "{left:?} wait for nothing");
            left.into_iter().for_each(|at| self.set(at, State::Left));
        }
    }

    /// SQS has answered the call for a message.
    pub(super) fn answered(
        &mut self,
        kind: Kind,
        at: usize,
        confirmed: bool,
        call: Ran,
        rules: &mut Rules<'_, '_>,
    ) {
        let settled = &mut self.messages[at].settled;
        match kind {
            Kind::Letters => {
                (settled.has_letter, settled.call) = (confirmed, Some(call));
                if confirmed || !holds(Guard::LetterIsConfirmed) {
                    self.delete(at);
                } else {
                    self.ask(at, State::Delaying);
                }
                self.after_letter(at, confirmed, rules);
            }
            Kind::Changes => {
                settled.call = Some(call);
                self.set(at, if confirmed { State::Back } else { State::Left });
            }
            Kind::Deletes => {
                settled.call = settled.call.or(Some(call));
                self.set(at, if confirmed { State::Gone } else { State::Left });
                self.after_delete(at, confirmed, rules);
            }
        }
    }

    fn after_letter(&mut self, at: usize, confirmed: bool, rules: &mut Rules<'_, '_>) {
        if self.never_ran(at) || (confirmed && self.deletes.one_by_one()) {
            return;
        }
        let lane = self.lanes[self.lane_of(at)].clone();
        if (lane.start..at + 1).all(|at| self.is_over(at)) {
            self.go_on(at + 1..lane.end, rules);
        } else {
            self.settle(at + 1..lane.end);
        }
    }

    fn after_delete(&mut self, at: usize, confirmed: bool, rules: &mut Rules<'_, '_>) {
        if !self.deletes.one_by_one() || self.never_ran(at) {
            return;
        }
        let is_done = matches!(self.messages[at].settled.action, Action::Ack);
        let rest = at + 1..self.lanes[self.lane_of(at)].end;
        match (confirmed, is_done) {
            (true, _) => self.go_on(rest, rules),
            (false, true) => self.release(rest, rules),
            (false, false) => self.settle(rest),
        }
    }

    /// All before the rest of a lane is over.
    fn go_on(&mut self, rest: Range<usize>, rules: &mut Rules<'_, '_>) {
        let Some(next) = rest.clone().find(|&at| !self.is_over(at)) else { return };
        let rest = next..rest.end;
        if !self.never_ran(next) {
            self.stop(rest, rules);
        } else if self.phase != Phase::Open
            || self.messages[next].settled.is_lost
            || !rest.clone().all(|at| self.never_ran(at))
        {
            self.release(rest, rules);
        } else {
            self.run(rest);
        }
    }

    /// Deletes what is over, which is Lambda's business but for a worker.
    fn delete(&mut self, at: usize) {
        if self.deletes == Deletes::ByLambda {
            self.set(at, State::Gone);
        } else if !matches!(self.messages[at].settled.state, State::Deleting | State::Gone | State::Left) {
            self.ask(at, State::Deleting);
        }
    }

    /// Decides on the rest of a lane, from the message at which it stopped.
    fn decide(&mut self, rest: Range<usize>, rules: &mut Rules<'_, '_>) {
        for at in rest.clone() {
            self.read_asked(at, rules.policy);
        }
        let nothing = Asked::default();
        let messages = self.messages[rest.clone()].iter();
        let cases = messages.map(|message| Case {
            outcome: &message.settled.outcome,
            attempt: message.facts.attempt(),
            asked: message.asked.as_deref().unwrap_or(&nothing),
            random: rules.rng.f64(),
        });
        let cases: Vec<_> = cases.collect();
        let actions = decide_lane(&cases, rules.policy, self.something_finished);
        for (at, action) in rest.zip(actions) {
            self.messages[at].settled.action = action;
        }
    }

    /// Settles the rest of a lane. Behind a message that ran and gets a letter, the others wait until that is written.
    fn settle(&mut self, rest: Range<usize>) {
        for at in rest {
            self.settle_one(at);
            let has_letter = matches!(self.messages[at].settled.action, Action::DeadLetter { .. });
            if has_letter && !self.never_ran(at) && holds(Guard::FollowersWait) {
                return;
            }
        }
    }

    fn settle_one(&mut self, at: usize) {
        let settled = &mut self.messages[at].settled;
        if settled.state.is_asking() || settled.state.is_final() {
            return;
        }
        if settled.is_lost && holds(Guard::LostIsLeft) {
            settled.action = Action::Leave;
        }
        match settled.action {
            Action::DeadLetter { .. } => self.ask(at, State::Writing),
            Action::Retry { .. } | Action::Release { .. } | Action::GiveUp => self.ask(at, State::Delaying),
            Action::Ack | Action::Leave => self.set(at, State::Left),
        }
    }

    /// Reads what a message asks for, once.
    fn read_asked(&mut self, at: usize, policy: &Policy<'_>) {
        let message = &mut self.messages[at];
        if policy.overrides != Overrides::Off && message.asked.is_none() {
            message.asked = message.facts.asked(policy).map(Box::new);
        }
    }

    /// The worker was told to end: what never ran goes back at once, unless it would have no delivery left.
    pub(super) fn hand_back(&mut self, policy: &Policy<'_>) -> bool {
        let places = 0..self.messages.len();
        let mut never_ran = places.filter(|&at| self.never_ran(at)).collect::<Vec<_>>().into_iter();
        let is_last = |at: usize| {
            self.read_asked(at, policy);
            let message = &self.messages[at];
            let own = message.asked.as_deref().and_then(|asked| asked.max_attempts);
            policy.deliveries().end_with(message.facts.attempt(), own)
        };
        if never_ran.any(is_last) {
            return false;
        }
        self.something_finished = true;
        self.phase = Phase::Stopped;
        true
    }

    /// Cancels what runs.
    pub(super) fn close(&mut self, now: Time) {
        self.phase = Phase::Closing(now + GRACE);
    }

    /// Whether nothing of it was canceled yet.
    pub(super) const fn may_close(&self) -> bool {
        matches!(self.phase, Phase::Open | Phase::Stopped)
    }

    /// The worker waits for handlers no longer.
    pub(super) fn interrupt(&mut self) {
        (self.something_finished, self.is_interrupted) = (true, true);
    }

    /// The worker has lost the lease of this message. Says whether all that may be running is lost.
    pub(super) fn lost(&mut self, at: usize) -> bool {
        self.messages[at].settled.is_lost = true;
        let is_lost = |at: usize| self.messages[at].settled.is_lost;
        self.lanes.iter().all(|lane| lane.clone().find(|&at| !self.is_over(at)).is_none_or(is_lost))
    }

    pub(super) fn lane_of(&self, at: usize) -> usize {
        self.lanes.partition_point(|lane| lane.end <= at)
    }

    fn is_over(&self, at: usize) -> bool {
        self.messages[at].settled.is_over()
    }

    fn never_ran(&self, at: usize) -> bool {
        matches!(self.messages[at].settled.outcome, Outcome::NotStarted)
    }

    /// Of the messages, in the order of the records.
    pub(super) fn leases(&self) -> Vec<LeaseKey> {
        let mut leases: Vec<_> =
            self.messages.iter().map(|message| (message.record, message.lease)).collect();
        leases.sort_unstable_by_key(|(record, _)| *record);
        leases.into_iter().filter_map(|(_, lease)| lease).collect()
    }

    #[cfg(test)]
    pub(super) const fn flags(&self) -> (bool, bool, bool) {
        (self.is_silent, self.something_finished, self.is_interrupted)
    }

    /// What happened to each message, in the order of the records.
    pub(super) fn into_settled(self) -> Vec<Settled> {
        let mut messages = self.messages;
        if !messages.is_sorted_by_key(|message| message.record) {
            messages.sort_unstable_by_key(|message| message.record);
        }
        messages.into_iter().map(|message| message.settled).collect()
    }
}

impl<F: Facts> Facts for Message<F> {
    fn id(&self) -> &str {
        self.facts.id()
    }

    fn attempt(&self) -> u32 {
        self.facts.attempt()
    }

    fn group(&self) -> Option<&str> {
        self.facts.group()
    }

    fn asked(&self, policy: &Policy<'_>) -> Option<Asked> {
        self.facts.asked(policy)
    }
}

impl Deletes {
    const fn one_by_one(self) -> bool {
        matches!(self, Self::ByWorker { one_by_one: true })
    }
}
