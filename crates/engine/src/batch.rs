//! The messages of one batch: their states, and the steps that follow when a handler ends or SQS answers.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use super::breaker::{Admission, STORE, UNNAMED, each};
use super::decide::{Case, Policy, Unstarted, decide_lane};
use super::guards::{guard, require};
use super::keys::{LeaseKey, MessageKey};
use super::outbox::SettleCall;
use super::plan::{Plan, plan};
use super::settlement::{NextStep, Outcome, Ran, Settlement, State};
use super::{MessageMeta, Shared, Time};
use crate::choices::Overrides;
use crate::deliveries::DeliveryPosition;
use crate::error_summary::Disposition;
use crate::overrides::MessageOverrides;

/// The time for which a canceled handler may keep its thread.
pub const GRACE: Duration = Duration::from_millis(50);
/// Share of the batch's time in which messages that may end the process can run alone, and its maximum. The rest is for
/// handlers that need almost all of the time.
const ALONE: f64 = 0.25;
const LONGEST_ALONE: Duration = Duration::from_secs(5);
/// Share of a batch that a function may leave unstarted before it spreads these messages.
const MOST_OF_A_BATCH: f64 = 0.75;

/// The outcome of a message, and when its handler ran.
#[derive(Debug, Clone)]
pub struct Worked {
    pub key: MessageKey,
    pub outcome: Outcome,
    pub ran: Option<Ran>,
}

/// The deletion of messages that are over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Deletes {
    ByLambda,
    ByWorker,
    /// By a worker, and the next message of a lane begins once the one before it is deleted.
    InTurn,
}

/// The phases of a batch, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Phase {
    /// Messages begin.
    Open,
    /// No more messages begin.
    Stopped,
    /// Running handlers are canceled. Those that still run at this time are given up.
    Closing(Time),
    /// The shell gives up the running handlers.
    GivingUp,
    /// Nothing runs.
    Over,
}

/// A step that follows from an event.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Step {
    /// Run the messages of a lane.
    Run(Range<usize>),
    /// Withdraw those of these messages that still wait for a runner, because a dependency is down.
    Withdraw(Vec<usize>),
    /// Make the call that the state of this message asks for.
    Ask(usize),
    /// End this message of a worker, which is in its final state. `was_asked` is true if it waited for a call.
    End { at: usize, was_asked: bool },
}

#[derive(Debug, Clone)]
pub struct Message<F> {
    pub facts: F,
    pub settled: Settlement,
    /// Its place among the records of the batch.
    record: usize,
    /// The lease of a worker's message.
    pub(crate) lease: Option<LeaseKey>,
    overrides: Option<Box<MessageOverrides>>,
    /// True if it was admitted to try a dependency that is down.
    pub(crate) is_trial: bool,
    /// The number of calls that were made for its state.
    pub(crate) tries: u32,
    /// The time until which an unanswered call hides it at least, if SQS has carried it out.
    pub(crate) hidden_until: Option<Time>,
}

/// State that the decisions of all batches share.
#[derive(Debug, Clone)]
pub(crate) struct EngineContext<'a> {
    pub(crate) policy: Policy<'a>,
    pub shared: Shared,
    pub(crate) rng: fastrand::Rng,
    /// The start of the engine, since the epoch of the wall clock.
    pub(crate) epoch: Time,
    pub(crate) now: Time,
    /// Dependencies that have gone down, with the error, or work again.
    pub(crate) turned: Vec<(String, Option<String>)>,
    /// Dependencies that failures named although their messages need only the others.
    pub(crate) unneeded: Vec<(String, Vec<String>)>,
    /// The numbers of unstarted messages and of all, if time ran out for most of a batch.
    pub(crate) overload: Option<(usize, usize)>,
    /// Ids of messages, each with a warning about an invalid attribute.
    pub(crate) ignored: Vec<(String, String)>,
}

impl EngineContext<'_> {
    /// Returns the time since the epoch of the wall clock.
    pub(crate) fn wall(&self) -> Time {
        self.epoch + self.now
    }

    /// Notes, once for each name, that a failure named a dependency which its message does not need.
    fn note_unneeded(&mut self, named: &str, needed: &[String]) {
        if self.shared.unneeded.get(named).is_none() {
            let now = self.wall();
            self.shared.unneeded.get_or_insert(named, || now, |noted| *noted);
            self.unneeded.push((named.to_owned(), needed.to_vec()));
        }
    }
}

/// The speed of a function, by which it spreads the messages that it did not start: they return when it has time for them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    of_each: Duration,
    /// The number of messages that return before the next.
    before: u32,
}

#[derive(Debug, Clone)]
pub struct Batch<F> {
    /// The messages in the order in which they begin.
    pub(crate) messages: Vec<Message<F>>,
    lanes: Vec<Range<usize>>,
    /// Lanes of one message that run last and alone.
    alone: Vec<Range<usize>>,
    /// The time from which messages no longer wait to run alone. `None` if none has to.
    alone_until: Option<Time>,
    /// The next steps, in order.
    pub(crate) steps: Vec<Step>,
    pub(crate) phase: Phase,
    pub(crate) began: Time,
    /// The time at which its handlers are canceled.
    pub(crate) until: Time,
    pub(crate) deletes: Deletes,
    /// Messages that are not final yet.
    pub(crate) left: usize,
    /// Messages that wait for a call.
    pub(crate) asking: usize,
    /// Messages that wait for a call that sets their visibility timeout.
    delaying: usize,
    /// Messages that run or wait for a runner.
    pub(crate) running: usize,
    /// True if it is not reported, because no handler was to begin it.
    pub(crate) is_silent: bool,
    pub(crate) something_finished: bool,
    /// The pace of a function that could start only a small part of the batch.
    pub(crate) pace: Option<Pace>,
    /// True once the worker has stopped waiting for its handlers.
    pub(crate) is_interrupted: bool,
    /// True if messages must be withdrawn because dependencies are down. `withdrawn` names those for which this was done.
    pub(crate) withdraws: bool,
    pub(crate) withdrawn: Vec<String>,
}

impl<F: MessageMeta> Batch<F> {
    /// Creates a batch of messages, each with its lease if a worker received it. Also returns the places of the records in
    /// the order in which they begin.
    pub(crate) fn new(
        messages: impl Iterator<Item = (F, Option<LeaseKey>)>,
        is_fifo: bool,
        (began, until): (Time, Time),
        deletes: Deletes,
    ) -> (Self, Arc<[usize]>) {
        let message = |(record, (facts, lease))| Message {
            facts,
            settled: Settlement::default(),
            record,
            lease,
            overrides: None,
            is_trial: false,
            tries: 0,
            hidden_until: None,
        };
        let mut messages: Vec<_> = messages.enumerate().map(message).collect();
        let Plan { order, lanes } = plan(&messages, is_fifo, |message| &message.facts);
        if !order.is_sorted() {
            let mut places = vec![0; order.len()];
            order.iter().enumerate().for_each(|(at, &record)| places[record] = at);
            messages.sort_unstable_by_key(|message| places[message.record]);
        }
        let batch = Self {
            left: messages.len(),
            messages,
            lanes,
            alone: Vec::new(),
            alone_until: None,
            steps: Vec::new(),
            phase: Phase::Open,
            began,
            until,
            deletes,
            asking: 0,
            delaying: 0,
            running: 0,
            is_silent: false,
            something_finished: false,
            pace: None,
            is_interrupted: false,
            withdraws: false,
            withdrawn: Vec::new(),
        };
        (batch, order)
    }

    /// Lets messages that may have ended a process run last and alone. Others are deleted before them.
    pub(crate) fn isolate(&mut self, policy: &Policy<'_>) {
        if guard!(SuspectsRunAlone, self.messages.len() > 1 && self.has_suspects(policy)) {
            let time = self.until.saturating_sub(self.began).mul_f64(ALONE);
            self.alone_until = Some(self.began + time.min(LONGEST_ALONE));
        }
    }

    /// Returns true if one of its messages may have ended a process.
    fn has_suspects(&self, policy: &Policy<'_>) -> bool {
        self.messages.iter().any(|message| message.facts.attempt() >= policy.suspects_from)
    }

    /// Returns true if it has such messages and all of them ran.
    pub(crate) fn ran_suspects(&self, policy: &Policy<'_>) -> bool {
        let is_suspect = |at: &usize| self.messages[*at].facts.attempt() >= policy.suspects_from;
        self.has_suspects(policy) && (0..self.messages.len()).filter(is_suspect).all(|at| !self.never_ran(at))
    }

    /// Begins its messages.
    pub(crate) fn begin(&mut self, context: &mut EngineContext<'_>) {
        self.steps.reserve(self.lanes.len());
        for lane in self.lanes.clone() {
            self.begin_lane(lane, context);
        }
    }

    /// Begins the rest of a lane, or lets it wait until it can run alone.
    fn begin_lane(&mut self, rest: Range<usize>, context: &mut EngineContext<'_>) {
        let attempt = self.messages[rest.start].facts.attempt();
        if self.alone_until.is_some() && attempt >= context.policy.suspects_from {
            self.alone.push(rest);
        } else {
            self.admit(rest, context);
        }
    }

    /// Returns true if a message that runs alone is next: nothing runs, and done messages are deleted.
    pub(crate) fn begins_alone(&self) -> bool {
        let is_idle = self.running == 0 && self.asking == self.delaying;
        self.phase == Phase::Open && is_idle && !self.alone.is_empty()
    }

    /// Begins a message that runs alone. The order is random, so that others run before the one that ends the process if the
    /// same messages return together.
    pub(crate) fn begin_alone(&mut self, context: &mut EngineContext<'_>) {
        let next = context.rng.usize(..self.alone.len());
        let rest = self.alone.swap_remove(next);
        self.admit(rest, context);
    }

    /// Begins all messages that still wait to run alone, while there is time for them.
    pub(crate) fn begin_all(&mut self, context: &mut EngineContext<'_>) {
        self.alone.sort_unstable_by_key(|rest| rest.start);
        for rest in std::mem::take(&mut self.alone) {
            self.admit(rest, context);
        }
    }

    /// Creates a batch of a message that returns to the queue without being begun.
    pub(crate) fn returned(facts: F, lease: LeaseKey, after: Time, now: Time) -> Self {
        let message = std::iter::once((facts, Some(lease)));
        let (mut batch, _) = Self::new(message, false, (now, now), Deletes::ByWorker);
        (batch.phase, batch.is_silent) = (Phase::Over, true);
        batch.messages[0].settled.action = NextStep::Release { after };
        batch.ask(0, State::Delaying);
        batch
    }

    /// Creates a batch of a message that was received again although it is over.
    pub(crate) fn finished(facts: F, lease: LeaseKey, now: Time) -> Self {
        let message = std::iter::once((facts, Some(lease)));
        let (mut batch, _) = Self::new(message, false, (now, now), Deletes::ByWorker);
        (batch.phase, batch.is_silent) = (Phase::Over, true);
        let settled = &mut batch.messages[0].settled;
        (settled.state, settled.outcome, settled.action) = (State::Running, Outcome::Replayed, NextStep::Ack);
        batch.running = 1;
        batch.delete(0);
        batch
    }

    pub(crate) fn set(&mut self, at: usize, state: State) {
        let before = std::mem::replace(&mut self.messages[at].settled.state, state);
        debug_assert!(before == state || before.leads_to(state), "{before:?} does not lead to {state:?}");
        self.running -= usize::from(before == State::Running);
        self.running += usize::from(state == State::Running);
        self.asking -= usize::from(before.call().is_some());
        self.asking += usize::from(state.call().is_some());
        self.delaying -= usize::from(before == State::Delaying);
        self.delaying += usize::from(state == State::Delaying);
        if state.is_final() && !before.is_final() {
            self.left -= 1;
            if self.deletes != Deletes::ByLambda {
                self.steps.push(Step::End { at, was_asked: before.call().is_some() });
            }
        }
    }

    fn ask(&mut self, at: usize, state: State) {
        self.set(at, state);
        self.messages[at].tries = 0;
        self.steps.push(Step::Ask(at));
    }

    /// Returns the messages of a lane that may run now: only the first if each must be deleted before the next begins.
    fn head(&self, rest: Range<usize>) -> Range<usize> {
        let is_first_only = guard!(NextAfterDelete, self.deletes == Deletes::InTurn);
        if is_first_only { rest.start..rest.start + 1 } else { rest }
    }

    /// Runs the first messages of the rest of a lane, or returns all of it to the queue while a circuit breaker is open for them.
    fn admit(&mut self, rest: Range<usize>, context: &mut EngineContext<'_>) {
        let head = self.head(rest.clone());
        if guard!(NoneWhileDown, !context.shared.breakers.is_empty()) {
            let names = self.dependencies(head.clone(), context);
            let now = context.wall();
            match context.shared.breakers.admit(&names, now) {
                Admission::Free => {}
                Admission::Trial => self.messages[head.start].is_trial = true,
                Admission::Refused if self.have_more_deliveries(rest.clone(), context) => {
                    self.messages[rest.start].settled.outcome = Outcome::BreakerOpen;
                    return self.stop(rest, context);
                }
                Admission::Refused => {}
            }
        }
        self.run(head);
    }

    /// Returns the dependencies of these messages.
    fn dependencies(&self, range: Range<usize>, context: &EngineContext<'_>) -> Vec<String> {
        let mut names: Vec<_> =
            self.messages[range].iter().flat_map(|it| own_dependencies(&it.facts, &context.policy)).collect();
        if context.policy.has_store {
            names.extend(names.is_empty().then(|| UNNAMED.to_owned()));
            names.push(STORE.to_owned());
        }
        names
    }

    /// Returns true if each of these messages will certainly be delivered again.
    fn have_more_deliveries(&self, mut range: Range<usize>, context: &EngineContext<'_>) -> bool {
        range.all(|at| {
            let attempt = self.messages[at].facts.attempt();
            context.policy.deliveries().standing(attempt, None) == DeliveryPosition::More
        })
    }

    /// Counts the outcome of a message for its dependencies. `counted` has the outages that the same call has reported.
    fn note_outage(
        &mut self,
        at: usize,
        counted: &mut Vec<(Option<Ran>, String)>,
        context: &mut EngineContext<'_>,
    ) {
        if context.policy.has_store {
            self.note_store(at, context);
        }
        let Message { facts, settled: Settlement { outcome, ran, .. }, .. } = &self.messages[at];
        match outcome {
            Outcome::Failed(summary)
                if summary.disposition == Disposition::Outage && !summary.is_of_store =>
            {
                let needed = own_dependencies(facts, &context.policy);
                let is_it = |name: &&str| summary.dependency.as_deref().is_none_or(|only| only == *name);
                if let Some(named) = summary.dependency.as_deref()
                    && context.policy.names_dependencies
                    && !each(&needed).any(|name| name == named)
                {
                    context.note_unneeded(named, &needed);
                }
                for name in each(&needed).filter(is_it) {
                    let call = (ran.map(|ran| Ran { is_shared: false, ..ran }), name.to_owned());
                    if ran.is_some_and(|ran| ran.is_shared) && counted.contains(&call) {
                        continue;
                    }
                    let withdrawn = (&mut self.withdraws, &mut self.withdrawn);
                    count_outage(name, &summary.error, withdrawn, context);
                    counted.push(call);
                }
            }
            Outcome::Done | Outcome::Unrecorded if !context.shared.breakers.is_empty() => {
                let began = ran.map_or(context.now, |ran| self.began + ran.ended.saturating_sub(ran.took));
                for name in each(&own_dependencies(facts, &context.policy)) {
                    if context.shared.breakers.success(name, context.epoch + began) {
                        context.turned.push((name.to_owned(), None));
                    }
                }
            }
            outcome if proves_nothing(outcome) => self.end_trial(at, context),
            _ => {}
        }
    }

    /// Ends the trial of a message that proved nothing, so that the next message may try its dependencies.
    fn end_trial(&mut self, at: usize, context: &mut EngineContext<'_>) {
        let never_ran = self.never_ran(at);
        let message = &mut self.messages[at];
        if require!(TrialEndsRest, std::mem::take(&mut message.is_trial)) {
            let (names, now) = (own_dependencies(&message.facts, &context.policy), context.wall());
            context.shared.breakers.end_trial(&names, now);
            if never_ran {
                context.shared.breakers.end_trial(&[STORE.to_owned()], now);
            }
        }
    }

    /// Counts the outcome of a message for the idempotency store. Any answer to a claim proves that the store works.
    fn note_store(&mut self, at: usize, context: &mut EngineContext<'_>) {
        let Settlement { outcome, ran, .. } = &self.messages[at].settled;
        let answered = match (outcome, ran) {
            (Outcome::Failed(summary), _)
                if summary.is_of_store && summary.disposition == Disposition::Outage =>
            {
                let withdrawn = (&mut self.withdraws, &mut self.withdrawn);
                return count_outage(STORE, &summary.error, withdrawn, context);
            }
            (_, Some(ran)) => Some(self.began + ran.ended.saturating_sub(ran.took)),
            (Outcome::Failed(summary), None) if summary.is_of_store => Some(self.began),
            (Outcome::Replayed, None) => Some(self.began),
            _ => None,
        };
        if context.shared.breakers.is_empty() {
            return;
        }
        match answered {
            Some(began) if context.shared.breakers.success(STORE, context.epoch + began) => {
                context.turned.push((STORE.to_owned(), None));
            }
            None if proves_nothing(outcome) && self.messages[at].is_trial => {
                let wall = context.wall();
                context.shared.breakers.end_trial(&[STORE.to_owned()], wall);
            }
            Some(_) | None => {}
        }
    }

    /// Withdraws messages that still wait for a runner while a circuit breaker is open for them.
    fn withdraw(&mut self, context: &mut EngineContext<'_>) {
        let mut heads = Vec::new();
        for lane in self.lanes.clone() {
            let runs = |at: &usize| self.messages[*at].settled.state == State::Running;
            let Some(at) = lane.clone().find(runs) else { continue };
            let needed = self.dependencies(at..lane.end, context);
            if each(&needed).any(|name| context.shared.breakers.is_down(name, context.wall()))
                && self.have_more_deliveries(at..lane.end, context)
            {
                heads.push(at);
            }
        }
        if !heads.is_empty() {
            self.steps.push(Step::Withdraw(heads));
        }
    }

    fn run(&mut self, head: Range<usize>) {
        head.clone().for_each(|at| self.set(at, State::Running));
        self.steps.push(Step::Run(head));
    }

    /// Handles the end of handlers. The messages of one call are together, and those of a lane are in order.
    pub(crate) fn ended(&mut self, worked: Vec<Worked>, context: &mut EngineContext<'_>) {
        let (mut failed, mut counted) = (Vec::new(), Vec::new());
        for Worked { key: MessageKey { at, .. }, mut outcome, ran } in worked {
            if let Outcome::Panicked { again, is_early, .. } = &mut outcome
                && !ran.is_some_and(|ran| ran.is_shared)
            {
                *again |= context.shared.streak.panicked(*is_early);
            }
            let settled = &mut self.messages[at].settled;
            if matches!(outcome, Outcome::TimedOut) {
                outcome = match (settled.is_lost, self.is_interrupted) {
                    (true, _) => Outcome::LeaseLost,
                    (false, true) => Outcome::Interrupted,
                    (false, false) => Outcome::TimedOut,
                };
            }
            let (goes_on, has_run) = (outcome.lets_the_lane_go_on(), !outcome.never_ran());
            if goes_on {
                settled.action = NextStep::Ack;
                self.something_finished = true;
                if !matches!(outcome, Outcome::Replayed) {
                    context.shared.streak.succeeded();
                }
            }
            (settled.outcome, settled.ran) = (outcome, ran);
            self.note_outage(at, &mut counted, context);
            if goes_on {
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
                self.stop(at..lane.end, context);
            }
        }
        if guard!(NoneWhileDown, std::mem::take(&mut self.withdraws) && self.phase == Phase::Open) {
            self.withdraw(context);
        }
    }

    /// Stops the rest of a lane, which begins with a failed message or must not start.
    fn stop(&mut self, rest: Range<usize>, context: &mut EngineContext<'_>) {
        for at in rest.clone() {
            if self.messages[at].settled.state == State::Running {
                self.set(at, State::Waiting);
            }
            if self.never_ran(at) {
                self.end_trial(at, context);
            }
        }
        self.decide(rest.clone(), context);
        self.settle(rest);
    }

    /// Ends the batch and releases the messages that were not begun.
    pub(crate) fn release_untouched(&mut self, context: &mut EngineContext<'_>) {
        self.phase = Phase::Over;
        self.set_pace(context);
        for rest in std::mem::take(&mut self.alone) {
            self.stop(rest, context);
        }
        for lane in self.lanes.clone() {
            if let Some(next) = lane.clone().find(|&at| !self.is_over(at))
                && matches!(self.messages[next].settled.state, State::Running | State::Waiting)
            {
                self.stop(next..lane.end, context);
            }
        }
    }

    /// Sets the pace if time ran out for most of a Lambda batch. If those messages returned together, they would use up their
    /// deliveries before the function has time for them.
    fn set_pace(&mut self, context: &mut EngineContext<'_>) {
        let unstarted = (0..self.messages.len()).filter(|&at| self.is_unstarted(at)).count();
        let (all, ran) = (self.messages.len(), self.messages.len() - unstarted);
        let is_most = unstarted as f64 > MOST_OF_A_BATCH * all as f64;
        if self.deletes == Deletes::ByLambda && self.something_finished && is_most {
            let of_each =
                context.now.saturating_sub(self.began) / u32::try_from(ran).unwrap_or(u32::MAX).max(1);
            self.pace = Some(Pace { of_each, before: 0 });
            context.overload = Some((unstarted, all));
        }
    }

    /// Returns true if time ran out before a message was started.
    fn is_unstarted(&self, at: usize) -> bool {
        let settled = &self.messages[at].settled;
        let is_open = matches!(settled.state, State::Running | State::Waiting);
        is_open && matches!(settled.outcome, Outcome::NotStarted)
    }

    /// Decides when this many unstarted messages return.
    fn unstarted(&mut self, messages: usize) -> Unstarted {
        match &mut self.pace {
            Some(pace) => {
                let after = pace.of_each.saturating_mul(pace.before);
                pace.before = pace.before.saturating_add(u32::try_from(messages).unwrap_or(u32::MAX));
                Unstarted::After(after)
            }
            None if self.something_finished => Unstarted::AtOnce,
            None => Unstarted::Backoff,
        }
    }

    /// Returns true if the messages that are left wait for nothing: nothing runs, and no answer is due.
    pub(crate) fn is_stuck(&self) -> bool {
        self.phase == Phase::Over && self.left > 0 && self.running == 0 && self.asking == 0
    }

    /// Leaves the messages that wait for nothing.
    pub(crate) fn leave_rest(&mut self) {
        let is_left = |at: &usize| !self.messages[*at].settled.state.is_final();
        let left: Vec<_> = (0..self.messages.len()).filter(is_left).collect();
        debug_assert!(left.is_empty(), "{left:?} wait for nothing");
        left.into_iter().for_each(|at| self.set(at, State::Left));
    }

    /// Notes that a call for a message has ended. Its report names the call that delayed or dead-lettered it.
    pub(crate) fn called(&mut self, kind: SettleCall, at: usize, took: Duration, now: Time) {
        let settled = &mut self.messages[at].settled;
        if kind != SettleCall::Delete {
            let ended = now.saturating_sub(self.began);
            settled.call = Some(Ran { took, ended, is_shared: false });
        }
    }

    /// Handles the answer to the call for a message, or that it was not made because the lease is lost.
    pub(crate) fn answered(
        &mut self,
        kind: SettleCall,
        at: usize,
        confirmed: bool,
        context: &mut EngineContext<'_>,
    ) {
        match kind {
            SettleCall::DeadLetter => {
                self.messages[at].settled.has_letter = confirmed;
                if require!(LetterIsConfirmed, confirmed) {
                    self.delete(at);
                } else {
                    self.ask(at, State::Delaying);
                }
                self.after_letter(at, confirmed, context);
            }
            SettleCall::ChangeVisibility => self.set(at, if confirmed { State::Back } else { State::Left }),
            SettleCall::Delete => {
                let is_gone = confirmed || self.deletes == Deletes::ByLambda;
                self.set(at, if is_gone { State::Gone } else { State::Left });
                self.after_delete(at, is_gone, context);
            }
        }
    }

    fn after_letter(&mut self, at: usize, confirmed: bool, context: &mut EngineContext<'_>) {
        let lane = self.lanes[self.lane_of(at)].clone();
        let all_are_over = (lane.start..at + 1).all(|at| self.is_over(at));
        let goes_on_later = confirmed && self.deletes == Deletes::InTurn;
        if self.never_ran(at) || goes_on_later {
            return;
        }
        if all_are_over {
            self.go_on(at + 1..lane.end, context);
        } else {
            self.settle(at + 1..lane.end);
        }
    }

    fn after_delete(&mut self, at: usize, confirmed: bool, context: &mut EngineContext<'_>) {
        if self.deletes != Deletes::InTurn || self.never_ran(at) {
            return;
        }
        let is_done = matches!(self.messages[at].settled.action, NextStep::Ack);
        let rest = at + 1..self.lanes[self.lane_of(at)].end;
        match (confirmed, is_done) {
            (true, _) => self.go_on(rest, context),
            (false, true) => self.stop(rest, context),
            (false, false) => self.settle(rest),
        }
    }

    /// Begins the rest of a lane, or decides on it, once all messages before it are over.
    fn go_on(&mut self, rest: Range<usize>, context: &mut EngineContext<'_>) {
        let Some(next) = rest.clone().find(|&at| !self.is_over(at)) else { return };
        let rest = next..rest.end;
        let is_lost = self.messages[next].settled.is_lost;
        if self.phase == Phase::Open && !is_lost && rest.clone().all(|at| self.never_ran(at)) {
            self.begin_lane(rest, context);
        } else {
            self.stop(rest, context);
        }
    }

    /// Deletes a message that is over. Lambda does so by itself, unless the process may not live to respond.
    fn delete(&mut self, at: usize) {
        let is_early = self.phase == Phase::Open && !self.alone.is_empty();
        if self.deletes == Deletes::ByLambda && !is_early {
            self.set(at, State::Gone);
        } else if !matches!(self.messages[at].settled.state, State::Deleting | State::Gone | State::Left) {
            self.ask(at, State::Deleting);
        }
    }

    /// Decides on the rest of a lane, from the message at which it stopped.
    fn decide(&mut self, rest: Range<usize>, context: &mut EngineContext<'_>) {
        for at in rest.clone() {
            self.read_overrides(at, context);
        }
        let nothing = MessageOverrides::default();
        let unstarted = self.unstarted(rest.len());
        let messages = self.messages[rest.clone()].iter();
        let cases = messages.map(|message| Case {
            outcome: &message.settled.outcome,
            attempt: message.facts.attempt(),
            overrides: message.overrides.as_deref().unwrap_or(&nothing),
            age: message.facts.first_received().map_or(Time::ZERO, |at| context.wall().saturating_sub(at)),
            random: context.rng.f64(),
        });
        let cases: Vec<_> = cases.collect();
        let actions = decide_lane(&cases, &context.policy, unstarted);
        for (at, action) in rest.zip(actions) {
            self.messages[at].settled.action = action;
        }
    }

    /// Settles the rest of a lane. Messages behind one that ran and gets a letter wait until that is written.
    fn settle(&mut self, rest: Range<usize>) {
        for at in rest {
            self.settle_one(at);
            let has_letter = matches!(self.messages[at].settled.action, NextStep::DeadLetter { .. });
            if guard!(FollowersWait, has_letter && !self.never_ran(at)) {
                return;
            }
        }
    }

    fn settle_one(&mut self, at: usize) {
        let settled = &mut self.messages[at].settled;
        if settled.state.call().is_some() || settled.state.is_final() {
            return;
        }
        if guard!(LostIsLeft, settled.is_lost) {
            settled.action = NextStep::Leave;
        }
        match settled.action {
            NextStep::DeadLetter { .. } => self.ask(at, State::Writing),
            NextStep::Retry { .. } | NextStep::Release { .. } | NextStep::ByRedrivePolicy => {
                self.ask(at, State::Delaying)
            }
            NextStep::Ack | NextStep::Leave => self.set(at, State::Left),
        }
    }

    /// Reads the overrides of a message, once.
    fn read_overrides(&mut self, at: usize, context: &mut EngineContext<'_>) {
        let message = &mut self.messages[at];
        if context.policy.overrides != Overrides::Off
            && message.overrides.is_none()
            && let Some((asked, warnings)) = message.facts.overrides(&context.policy)
        {
            message.overrides = Some(Box::new(asked));
            let id = message.facts.id();
            context.ignored.extend(warnings.into_iter().map(|warning| (id.to_owned(), warning)));
        }
    }

    /// Stops the batch of a worker that ends, unless a message would have no delivery left. Its messages then return at once.
    pub(crate) fn stops_unless_one_is_last(&mut self, context: &EngineContext<'_>) -> bool {
        let deliveries = context.policy.deliveries();
        let is_last = |at: usize| deliveries.end_with(self.messages[at].facts.attempt(), None);
        if (0..self.messages.len()).any(|at| self.never_ran(at) && is_last(at)) {
            return false;
        }
        (self.something_finished, self.phase) = (true, Phase::Stopped);
        true
    }

    /// Returns true if its handlers were not canceled yet.
    pub(crate) const fn may_close(&self) -> bool {
        matches!(self.phase, Phase::Open | Phase::Stopped)
    }

    /// Returns true if its handlers were not given up.
    pub(crate) const fn is_open(&self) -> bool {
        matches!(self.phase, Phase::Open | Phase::Stopped | Phase::Closing(_))
    }

    pub(crate) fn due_at(&self) -> Option<Time> {
        match self.phase {
            Phase::Open => {
                let alone = self.alone_until.filter(|_| !self.alone.is_empty());
                alone.into_iter().chain([self.until]).min()
            }
            Phase::Stopped => Some(self.until),
            Phase::Closing(until) => Some(until),
            Phase::GivingUp | Phase::Over => None,
        }
    }

    /// Returns true if a message with this id must not begin beside the lane of the message `at`. Delayed messages of the lane do
    /// not count, nor do others that are being deleted: SQS may deliver the next of a FIFO group before it answers the delete.
    pub(crate) fn holds(&self, at: usize, id: &str) -> bool {
        self.lanes[self.lane_of(at)].clone().any(|at| {
            let Message { facts, settled, .. } = &self.messages[at];
            let is_held = !settled.state.is_final() && settled.state != State::Delaying;
            is_held && (settled.state != State::Deleting || facts.id() == id)
        })
    }

    /// Returns true if a handler of the lane of this message blocks its thread.
    pub(crate) fn is_blocked(&self, at: usize) -> bool {
        let mut lane = self.lanes[self.lane_of(at)].clone();
        lane.any(|at| matches!(self.messages[at].settled.outcome, Outcome::Stuck))
    }

    /// Deletes a message that is known to be over, without running it.
    pub(crate) fn replay(&mut self, at: usize, context: &mut EngineContext<'_>) {
        self.end_trial(at, context);
        let settled = &mut self.messages[at].settled;
        (settled.outcome, settled.action) = (Outcome::Replayed, NextStep::Ack);
        self.delete(at);
    }

    /// Returns the number of unfinished messages that do not wait for a call.
    pub(crate) const fn unasked(&self) -> usize {
        self.left - self.asking
    }

    /// Notes that the worker has stopped waiting for handlers.
    pub(crate) fn interrupt(&mut self) {
        (self.something_finished, self.is_interrupted) = (true, true);
    }

    /// Notes that the worker has lost the lease of this message. Returns true if all running messages have lost theirs.
    pub(crate) fn lost(&mut self, at: usize) -> bool {
        self.messages[at].settled.is_lost = true;
        let runs = |message: &&Message<F>| message.settled.state == State::Running;
        self.running > 0 && self.messages.iter().filter(runs).all(|message| message.settled.is_lost)
    }

    pub(crate) fn lane_of(&self, at: usize) -> usize {
        self.lanes.partition_point(|lane| lane.end <= at)
    }

    fn is_over(&self, at: usize) -> bool {
        self.messages[at].settled.is_over()
    }

    fn never_ran(&self, at: usize) -> bool {
        self.messages[at].settled.outcome.never_ran()
    }

    /// Returns the settlements of all messages, in the order of the records.
    pub(crate) fn into_settled(self) -> Vec<Settlement> {
        let mut messages = self.messages;
        if !messages.is_sorted_by_key(|message| message.record) {
            messages.sort_unstable_by_key(|message| message.record);
        }
        messages.into_iter().map(|message| message.settled).collect()
    }
}

/// Returns the dependencies that the user's function names for a message. The name of the store is reserved.
pub(crate) fn own_dependencies(facts: &impl MessageMeta, policy: &Policy<'_>) -> Vec<String> {
    let mut names = facts.dependencies();
    let is_reserved = |name: &&mut String| policy.has_store && *name == STORE;
    names.iter_mut().filter(is_reserved).for_each(|name| name.push('\''));
    names
}

/// Counts an outage of a dependency. If it is down, its messages are withdrawn, once for each batch.
fn count_outage(
    name: &str,
    error: &str,
    (withdraws, withdrawn): (&mut bool, &mut Vec<String>),
    context: &mut EngineContext<'_>,
) {
    let opens = context.shared.breakers.outage(name, context.wall());
    if opens {
        context.turned.push((name.to_owned(), Some(error.to_owned())));
    }
    let is_known = withdrawn.iter().any(|known| known == name);
    if opens || !is_known && context.shared.breakers.is_down(name, context.wall()) {
        *withdraws = true;
        withdrawn.extend((!is_known).then(|| name.to_owned()));
    }
}

/// Returns true if an outcome proves nothing about the dependencies, which the message may not even have called.
fn proves_nothing(outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Failed(summary) if summary.is_of_store => true,
        Outcome::Failed(summary) => {
            matches!(summary.disposition, Disposition::Discard | Disposition::Reject | Disposition::Malformed)
        }
        Outcome::Replayed | Outcome::Panicked { .. } => true,
        _ => false,
    }
}
