//! The state machine that follows batches. A Lambda batch and a worker are its two [machines](Machine).

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use super::batch::{Batch, EngineContext, GRACE, Message, Phase, Step, Worked};
use super::decide::Policy;
use super::keys::{BatchKey, LeaseKey, MessageKey};
use super::outbox::{Outbox, SettleCall};
use super::settlement::Outcome;
use super::worker::finished::Finished;
use super::{Command, Event, ExitReason, MessageMeta, Note, Secret, Shared, Time};

/// Follows batches from their messages to their reports.
#[derive(Debug, Clone)]
pub struct Engine<'a, F, M> {
    pub(crate) context: EngineContext<'a>,
    pub(crate) batches: BTreeMap<BatchKey, Batch<F>>,
    next_batch: u64,
    pub(crate) outbox: Outbox,
    pub(crate) commands: VecDeque<Command>,
    pub(crate) machine: M,
}

/// The differences between a Lambda batch and a worker.
pub trait Machine<F: MessageMeta>: Sized {
    /// Handles an event that only this machine gets.
    fn on(engine: &mut Engine<'_, F, Self>, event: Event<F>, now: Time);

    /// Prepares for an event.
    fn begin_event(_engine: &mut Engine<'_, F, Self>, _now: Time) {}

    /// Performs what is due before the timers of batches.
    fn begin_turn(_engine: &mut Engine<'_, F, Self>, _now: Time) {}

    /// Performs what is due after the calls.
    fn end_turn(_engine: &mut Engine<'_, F, Self>, _now: Time) {}

    /// Returns when the next timer of this machine is due.
    fn wake_at(_engine: &Engine<'_, F, Self>) -> Option<Time> {
        None
    }

    /// Notes a batch that is followed from now on.
    fn batch_begins(_engine: &mut Engine<'_, F, Self>, _key: BatchKey, _batch: &Batch<F>) {}

    /// Notes that handlers have ended, before the batch does.
    fn handlers_ended(_engine: &mut Engine<'_, F, Self>, _batch: BatchKey, _worked: &[Worked], _now: Time) {}

    /// Notes that handlers that still run were given up.
    fn gave_up(_engine: &mut Engine<'_, F, Self>, _now: Time) {}

    /// Returns the messages that are known to be over, if there are any.
    fn finished(&self) -> Option<&Finished> {
        None
    }

    /// Settles a message by a call of this kind, now or once that is possible.
    fn settle(engine: &mut Engine<'_, F, Self>, kind: SettleCall, key: MessageKey, now: Time);

    /// Sorts the entries of a call in the order in which SQS must carry them out.
    fn arrange(_engine: &Engine<'_, F, Self>, _keys: &mut [MessageKey]) {}

    /// Returns true if calls must not wait for more entries.
    fn flushes(engine: &Engine<'_, F, Self>) -> bool;

    /// Returns the visibility timeout for a message of a call, and when the call must have been answered for it. `None` if the
    /// call must not be made any more.
    fn entry(
        engine: &mut Engine<'_, F, Self>,
        kind: SettleCall,
        key: MessageKey,
        now: Time,
    ) -> Option<(Duration, Time)>;

    /// Returns true if a call that SQS did not confirm is made again.
    fn tries_again(
        _engine: &mut Engine<'_, F, Self>,
        _kind: SettleCall,
        _key: MessageKey,
        _now: Time,
    ) -> bool {
        false
    }

    /// Notes that the call for a message was answered, before the batch does.
    fn answered(_engine: &mut Engine<'_, F, Self>, _kind: SettleCall, _key: MessageKey, _confirmed: bool) {}

    /// Notes that a message is in its final state. `was_asked` is true if it waited for a call.
    fn message_ended(_engine: &mut Engine<'_, F, Self>, _key: MessageKey, _was_asked: bool) {}

    /// Notes that a batch has taken its steps and continues.
    fn batch_goes_on(_engine: &mut Engine<'_, F, Self>, _batch: BatchKey) {}

    /// Notes that all messages of a batch are in their final states.
    fn batch_ended(engine: &mut Engine<'_, F, Self>, key: BatchKey, batch: &Batch<F>);

    /// Ends the process once it has answered for all messages in hand. Returns false if it cannot be ended.
    fn end_process(engine: &mut Engine<'_, F, Self>, why: ExitReason, now: Time) -> bool;
}

impl<'a, F: MessageMeta, M: Machine<F>> Engine<'a, F, M> {
    /// Creates an engine whose calls wait for more entries for as long as `gathering`. It starts at `epoch` of the wall clock.
    pub(crate) fn new(
        policy: Policy<'a>,
        gathering: Duration,
        epoch: Time,
        (seed, secret): (u64, Secret),
        machine: M,
    ) -> Self {
        Self {
            context: EngineContext {
                policy,
                shared: Shared::new(secret),
                rng: fastrand::Rng::with_seed(seed),
                epoch,
                now: Time::ZERO,
                turned: Vec::new(),
                unneeded: Vec::new(),
                overload: None,
                ignored: Vec::new(),
            },
            batches: BTreeMap::new(),
            next_batch: 0,
            outbox: Outbox::gathering(gathering),
            commands: VecDeque::new(),
            machine,
        }
    }

    /// Runs `act` with the state that the batches of the process share.
    pub fn share<T>(&mut self, shared: &mut Shared, act: impl FnOnce(&mut Self) -> T) -> T {
        std::mem::swap(&mut self.context.shared, shared);
        let result = act(self);
        std::mem::swap(&mut self.context.shared, shared);
        result
    }

    /// Handles an event.
    pub fn on(&mut self, event: Event<F>, now: Time) {
        self.context.now = now;
        M::begin_event(self, now);
        match event {
            Event::Ended(worked) => self.ended(worked, now),
            Event::Idle(batch) => {
                if self.batches.get(&batch).is_some_and(Batch::is_open) {
                    self.give_up(batch);
                }
            }
            Event::GivenUp { batch, worked } => self.given_up(batch, worked, now),
            Event::Answered { call, answers, took } => self.answered(&call, &answers, took, now),
            event => M::on(self, event, now),
        }
    }

    /// Returns the next command, if one is due.
    pub fn next(&mut self, now: Time) -> Option<Command> {
        if self.commands.is_empty() {
            self.turn(now);
        }
        self.commands.pop_front()
    }

    /// Returns when the next timer is due.
    pub fn wake_at(&self) -> Option<Time> {
        let batches = self.batches.values().filter_map(Batch::due_at);
        batches.chain(self.outbox.due_at()).chain(M::wake_at(self)).min()
    }

    /// Fires the timers and makes the calls that are due.
    fn turn(&mut self, now: Time) {
        self.context.now = now;
        M::begin_turn(self, now);
        let is_due =
            |(key, batch): (&BatchKey, &Batch<F>)| batch.due_at().is_some_and(|at| at <= now).then_some(*key);
        let due: Vec<_> = self.batches.iter().filter_map(is_due).collect();
        for key in due {
            self.time_is_up(key, now);
        }
        self.call(now);
        M::end_turn(self, now);
    }

    pub(crate) fn note(&mut self, note: Note) {
        self.commands.push_back(Command::Note(note));
    }

    /// Begins a batch.
    pub(crate) fn begin(&mut self, batch: Batch<F>, order: Arc<[usize]>, leases: Vec<LeaseKey>) -> BatchKey {
        let (began, until) = (batch.began, batch.until);
        let key = self.insert(batch);
        self.commands.push_back(Command::Begin { batch: key, leases, order, until });
        self.with(key, began, Batch::begin);
        key
    }

    /// Follows a batch from now on.
    pub(crate) fn insert(&mut self, batch: Batch<F>) -> BatchKey {
        let key = self.next_key();
        self.next_batch += 1;
        M::batch_begins(self, key, &batch);
        self.batches.insert(key, batch);
        key
    }

    /// Returns the key of the next batch.
    pub(crate) const fn next_key(&self) -> BatchKey {
        BatchKey(self.next_batch)
    }

    /// Changes a batch, notes its findings and takes its steps.
    pub(crate) fn with(
        &mut self,
        key: BatchKey,
        now: Time,
        change: impl FnOnce(&mut Batch<F>, &mut EngineContext<'a>),
    ) {
        if let Some(batch) = self.batches.get_mut(&key) {
            change(batch, &mut self.context);
            self.note_findings(key);
            self.follow(key, now);
        }
    }

    /// Notes the findings of a batch: invalid attributes, dependencies that are down or work again, an overload.
    fn note_findings(&mut self, batch: BatchKey) {
        let ignored = self.context.ignored.drain(..);
        let note = |(id, warning)| Command::Note(Note::AttributeIgnored { batch, id, warning });
        self.commands.extend(ignored.map(note));
        let turned = self.context.turned.drain(..).map(|(dependency, error)| match error {
            Some(error) => Note::IsDown { dependency, error },
            None => Note::IsUp { dependency },
        });
        self.commands.extend(turned.map(Command::Note));
        let unneeded = self.context.unneeded.drain(..);
        let note = |(dependency, needed)| Command::Note(Note::IsNotNeeded { dependency, needed });
        self.commands.extend(unneeded.map(note));
        let overload = self.context.overload.take();
        self.commands
            .extend(overload.map(|(unstarted, all)| Command::Note(Note::Overloaded { unstarted, all })));
    }

    /// Takes the steps of a batch until it has no more.
    pub(crate) fn follow(&mut self, key: BatchKey, now: Time) {
        while let Some(batch) = self.batches.get_mut(&key) {
            if batch.steps.is_empty() && batch.begins_alone() {
                batch.begin_alone(&mut self.context);
                self.note_findings(key);
                continue;
            }
            let steps = std::mem::take(&mut batch.steps);
            if steps.is_empty() {
                break;
            }
            let (mut lanes, mut replayed) = (Vec::with_capacity(steps.len()), Vec::new());
            for step in steps {
                match step {
                    Step::Run(lane) => {
                        let next = self.first_unfinished(key, &lane);
                        replayed.extend(lane.start..next);
                        lanes.extend((next < lane.end).then_some(next..lane.end));
                    }
                    Step::Withdraw(places) => {
                        self.commands.push_back(Command::Withdraw { batch: key, places });
                    }
                    Step::Ask(at) => self.ask(MessageKey { batch: key, at }, now),
                    Step::End { at, was_asked } => {
                        M::message_ended(self, MessageKey { batch: key, at }, was_asked);
                    }
                }
            }
            if !lanes.is_empty() {
                self.commands.push_back(Command::Run { batch: key, lanes });
            }
            if !replayed.is_empty() {
                self.with(key, now, |batch, context| {
                    replayed.into_iter().for_each(|at| batch.replay(at, context))
                });
            }
        }
        if let Some(batch) = self.batches.get(&key) {
            if batch.left == 0 {
                self.report(key);
            } else if batch.is_stuck() {
                self.with(key, now, |batch, _| batch.leave_rest());
            } else if batch.running == 0 && batch.asking == 0 && batch.is_open() {
                // Only messages that could not be started are left.
                self.give_up(key);
            } else {
                M::batch_goes_on(self, key);
            }
        }
    }

    /// Returns the first message of a lane that is not known to be over.
    fn first_unfinished(&self, batch: BatchKey, lane: &Range<usize>) -> usize {
        let Some(finished) = self.machine.finished() else { return lane.start };
        let is_known = |at: &usize| {
            let message = self.message(MessageKey { batch, at: *at });
            message.is_some_and(|message| finished.contains(message.facts.id()))
        };
        lane.start + lane.clone().take_while(is_known).count()
    }

    fn report(&mut self, key: BatchKey) {
        let Some(batch) = self.batches.remove(&key) else { return };
        M::batch_ended(self, key, &batch);
        if !batch.is_silent {
            self.commands.push_back(Command::Report { batch: key, settled: batch.into_settled() });
        }
    }

    fn ended(&mut self, worked: Vec<Worked>, now: Time) {
        let mut rest = worked;
        while let Some(first) = rest.first() {
            let batch = first.key.batch;
            let count = rest.iter().take_while(|worked| worked.key.batch == batch).count();
            let others = rest.split_off(count);
            let together = std::mem::replace(&mut rest, others);
            M::handlers_ended(self, batch, &together, now);
            self.with(batch, now, |batch, context| batch.ended(together, context));
            self.check_streak(batch, now);
        }
    }

    /// Ends the process after too many panics in a row, and stops this batch.
    fn check_streak(&mut self, batch: BatchKey, now: Time) {
        if self.context.shared.streak.is_too_long()
            && M::end_process(self, ExitReason::Panics, now)
            && let Some(open) = self.batches.get_mut(&batch).filter(|batch| batch.phase == Phase::Open)
        {
            open.phase = Phase::Stopped;
            self.commands.push_back(Command::Stop(batch));
        }
    }

    /// Fires the timer of a batch: begins the messages that wait to run alone, cancels its handlers, or gives them up.
    fn time_is_up(&mut self, key: BatchKey, now: Time) {
        match self.batches.get(&key).map(|batch| batch.phase) {
            Some(Phase::Open) if self.batches[&key].until > now => {
                self.with(key, now, Batch::begin_all);
            }
            Some(Phase::Open | Phase::Stopped) => self.cancel(key, now),
            Some(Phase::Closing(_)) => self.give_up(key),
            Some(Phase::GivingUp | Phase::Over) | None => {}
        }
    }

    /// Cancels the running handlers of a batch, once.
    pub(crate) fn cancel(&mut self, key: BatchKey, now: Time) {
        if let Some(batch) = self.batches.get_mut(&key).filter(|batch| batch.may_close()) {
            batch.phase = Phase::Closing(now + GRACE);
            self.commands.push_back(Command::Cancel(key));
        }
    }

    pub(crate) fn give_up(&mut self, key: BatchKey) {
        if let Some(batch) = self.batches.get_mut(&key) {
            batch.phase = Phase::GivingUp;
            self.commands.push_back(Command::GiveUp(key));
        }
    }

    fn given_up(&mut self, key: BatchKey, worked: Vec<Worked>, now: Time) {
        let Some(batch) = self.batches.get(&key) else { return };
        let is_stuck = |worked: &Worked| matches!(worked.outcome, Outcome::Stuck | Outcome::TimedOut);
        let all_have_run = batch.running == worked.len() && !worked.iter().any(is_stuck);
        if !all_have_run {
            M::gave_up(self, now);
        }
        self.with(key, now, |batch, context| {
            batch.ended(worked, context);
            batch.release_untouched(context);
        });
        self.check_streak(key, now);
    }

    /// Returns the number of dependencies that are down and that no message may try yet.
    pub fn down(&self) -> usize {
        self.context.shared.breakers.down(self.context.wall())
    }

    /// Returns a message of a batch that is followed.
    pub fn message(&self, key: MessageKey) -> Option<&Message<F>> {
        self.batches.get(&key.batch)?.messages.get(key.at)
    }
}
