//! Every decision about a message, without I/O: what runs, when SQS is called for what, what each answer means, and when it
//! ends. A shell tells the engine what has happened ([`Engine::on`]), does what it says ([`Engine::next`]), and comes back
//! when it wants to be woken ([`Engine::wake_at`]). Times count from the engine's start.
//!
//! `Flow` is the shell of a batch of Lambda's: it has an engine for each batch, whose lease is the deadline, and a message
//! is deleted by being absent from the response. `Drive` is the shell of a worker, with one engine for its life.

mod batch;
pub(crate) mod decide;
#[cfg(test)]
mod explorer;
mod guards;
mod intake;
pub(crate) mod keys;
mod outbox;
pub(crate) mod plan;
mod pollers;
mod settled;
mod settling;
mod streak;
mod worker;

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

pub(crate) use self::batch::Worked;
use self::batch::{Batch, Deletes, Phase, Rules, Step};
use self::decide::Policy;
pub(crate) use self::intake::{Arrival, Poll, Receiving};
use self::keys::{BatchKey, GroupKey, LeaseKey, MessageKey};
pub(crate) use self::outbox::Kind;
use self::outbox::Outbox;
#[cfg(any(test, redrive_bench))]
pub(crate) use self::settled::State;
pub(crate) use self::settled::{Action, Outcome, Ran, Settled};
pub(crate) use self::settling::{Call, Extension};
pub(crate) use self::streak::{MAX_PANICS, Streak};
use self::worker::Worker;
pub(crate) use self::worker::{Exit, Why};
use crate::overrides::Asked;

/// The time since the engine's start.
pub(crate) type Time = Duration;

/// How long the first entry of a call of a batch of Lambda's waits for others.
const GATHERING: Duration = Duration::from_millis(20);

/// What the engine asks of a message.
pub(crate) trait Facts {
    fn id(&self) -> &str;

    /// The receive count.
    fn attempt(&self) -> u32;

    fn group(&self) -> Option<&str>;

    /// What it asks for with its attributes, if anything.
    fn asked(&self, policy: &Policy<'_>) -> Option<Asked>;
}

impl<F: Facts> Facts for &F {
    fn id(&self) -> &str {
        (**self).id()
    }

    fn attempt(&self) -> u32 {
        (**self).attempt()
    }

    fn group(&self) -> Option<&str> {
        (**self).group()
    }

    fn asked(&self, policy: &Policy<'_>) -> Option<Asked> {
        (**self).asked(policy)
    }
}

impl<F: Facts> Facts for Arc<F> {
    fn id(&self) -> &str {
        (**self).id()
    }

    fn attempt(&self) -> u32 {
        (**self).attempt()
    }

    fn group(&self) -> Option<&str> {
        (**self).group()
    }

    fn asked(&self, policy: &Policy<'_>) -> Option<Asked> {
        (**self).asked(policy)
    }
}

/// What has happened.
#[derive(Debug, Clone)]
pub(crate) enum Event<F> {
    /// Handlers have ended. The messages of one call come together, and within a lane in order.
    Ended(Vec<Worked>),
    /// Nothing of a batch runs, of which no more messages are to begin.
    Idle(BatchKey),
    /// What ran of a batch was given up, with these outcomes. Says whether too many threads are blocked.
    GivenUp { batch: BatchKey, worked: Vec<Worked>, is_exhausted: bool },
    /// A handler has returned that blocked its thread when its batch was given up.
    Unblocked(BatchKey),
    /// SQS has confirmed a call for these messages, and not for its others.
    Answered { call: Call, confirmed: Vec<MessageKey>, took: Duration },
    /// A receive has brought messages.
    Received { poll: Poll, messages: Vec<Arrival<F>> },
    /// A receive has failed. `random` is from 0 to 1.
    NotReceived { poll: Poll, random: f64 },
    /// The call that extends leases was answered; `None` if it was not.
    Extended { asked: Time, leases: Vec<(LeaseKey, u64)>, answers: Option<Vec<(LeaseKey, Extension)>> },
    /// Whether too many threads are blocked for handlers to run.
    Exhausted(bool),
    /// Observers are being told of so many messages, of so many bytes, which are in memory until then.
    Telling { messages: usize, bytes: usize },
    /// The worker is told to end; the second time, at once.
    Stop,
}

/// What the shell is to do.
#[derive(Debug, Clone)]
pub(crate) enum Command<F> {
    /// Make a batch of the messages of these leases, in the order of their records: the `order` in which they begin, and
    /// when their handlers are to be canceled.
    Begin { batch: BatchKey, leases: Vec<LeaseKey>, order: Arc<[usize]>, until: Time },
    /// Run the messages of lanes, one after the other as long as each is done.
    Run { batch: BatchKey, lanes: Vec<Range<usize>> },
    /// Begin no more messages of a batch, and say when it is [idle](Event::Idle).
    Stop(BatchKey),
    /// Cancel what runs of a batch, too, and say when it is [idle](Event::Idle).
    Cancel(BatchKey),
    /// Give up what runs of a batch, and answer with [`Event::GivenUp`].
    GiveUp(BatchKey),
    /// Call SQS.
    Call(Call),
    /// Receive so many messages.
    Receive(Poll),
    /// Extend leases to so many seconds from now.
    Extend(Vec<(LeaseKey, u64)>),
    /// The message of this lease is no longer in hand.
    Forget(LeaseKey),
    /// Nothing more happens to the messages of a batch. In the order of their records.
    Report { batch: BatchKey, settled: Vec<Settled> },
    /// Tell whoever watches.
    Note(Note<F>),
    /// Handle no more batches, and end the process when all are answered.
    EndProcess(Why),
    /// End the worker.
    Exit(Exit),
}

/// What only those who watch need to know.
#[derive(Debug, Clone)]
pub(crate) enum Note<F> {
    /// The first of consecutive receives has failed.
    ReceivesFail,
    /// Receives succeed again, after so many errors.
    ReceivesSucceed(u32),
    /// A message, or another of its group, was received while its handler still runs. The second receive is ignored.
    ReceivedAgain(F),
    /// The lease of a message was lost.
    LeaseLost,
    /// The first of consecutive extensions has failed.
    ExtensionsFail,
    ExtensionsSucceed,
    /// The worker begins no more messages.
    Drains(Option<Why>),
    /// The drain time has passed.
    Cancels,
}

/// The state machine.
#[derive(Debug, Clone)]
pub(crate) struct Engine<'a, F> {
    policy: Policy<'a>,
    pub(crate) streak: Streak,
    rng: fastrand::Rng,
    batches: BTreeMap<BatchKey, Batch<F>>,
    next_batch: u64,
    outbox: Outbox,
    /// Whether SQS can be called.
    has_client: bool,
    /// When the last call of a batch of Lambda's must have been answered.
    settle_until: Time,
    /// Whether the process ends where it can handle no more messages.
    ends_process: bool,
    worker: Option<Worker<F>>,
    commands: VecDeque<Command<F>>,
}

impl<'a, F: Facts> Engine<'a, F> {
    /// Follows one batch of Lambda's until its handlers are canceled, and its calls until the response is due. Without a
    /// client, SQS is not called. Says whether the process can be ended.
    pub(crate) fn of_batch(
        messages: impl Iterator<Item = F>,
        is_fifo: bool,
        policy: Policy<'a>,
        (until, settle_until): (Time, Time),
        (has_client, ends_process): (bool, bool),
        seed: u64,
    ) -> Self {
        let mut engine = Self::new(policy, GATHERING, None, seed);
        (engine.has_client, engine.ends_process, engine.settle_until) =
            (has_client, ends_process, settle_until);
        let key = engine.next_key();
        engine.begin(
            key,
            messages.map(|facts| (facts, None)),
            is_fifo,
            (Time::ZERO, until),
            Deletes::ByLambda,
        );
        engine
    }

    fn new(policy: Policy<'a>, gathering: Duration, worker: Option<Worker<F>>, seed: u64) -> Self {
        Self {
            policy,
            streak: Streak::default(),
            rng: fastrand::Rng::with_seed(seed),
            batches: BTreeMap::new(),
            next_batch: 0,
            outbox: Outbox::gathering(gathering),
            has_client: true,
            settle_until: Time::MAX,
            ends_process: true,
            worker,
            commands: VecDeque::new(),
        }
    }

    /// Takes notice of what has happened.
    pub(crate) fn on(&mut self, event: Event<F>, now: Time) {
        match event {
            Event::Ended(worked) => self.ended(worked, now),
            Event::Idle(batch) => {
                if self.batches.get(&batch).is_some_and(Batch::is_open) {
                    self.give_up(batch);
                }
            }
            Event::GivenUp { batch, worked, is_exhausted } => self.given_up(batch, worked, is_exhausted, now),
            Event::Answered { call, confirmed, took } => self.answered(&call, &confirmed, took, now),
            Event::Unblocked(batch) => self.unblocked(batch),
            Event::Received { poll, messages } => self.received(poll, messages, now),
            Event::NotReceived { poll, random } => self.not_received(poll, random, now),
            Event::Extended { asked, leases, answers } => self.extended(asked, &leases, answers, now),
            Event::Exhausted(is_exhausted) => self.exhausted(is_exhausted, now),
            Event::Telling { messages, bytes } => {
                self.worker.iter_mut().for_each(|worker| worker.telling = (messages, bytes));
            }
            Event::Stop => self.told(now),
        }
    }

    /// The next thing to do, if there is something to do by now.
    pub(crate) fn next(&mut self, now: Time) -> Option<Command<F>> {
        if self.commands.is_empty() {
            self.turn(now);
        }
        self.commands.pop_front()
    }

    /// When there may be something to do although nothing happens.
    pub(crate) fn wake_at(&self) -> Option<Time> {
        let batches = self.batches.values().filter_map(Batch::due_at);
        let worker = self.worker.as_ref().and_then(|worker| self.worker_due_at(worker));
        batches.chain(self.outbox.due_at()).chain(worker).min()
    }

    /// What time alone brings.
    fn turn(&mut self, now: Time) {
        if self.worker.is_some() {
            self.keep_leases(now);
            self.poll(now);
        }
        let is_due =
            |(key, batch): (&BatchKey, &Batch<F>)| batch.due_at().is_some_and(|at| at <= now).then_some(*key);
        let due: Vec<_> = self.batches.iter().filter_map(is_due).collect();
        for key in due {
            self.time_is_up(key, now);
        }
        self.call(now);
        if self.worker.is_some() {
            self.end(now);
        }
    }

    /// Begins a batch.
    fn begin(
        &mut self,
        key: BatchKey,
        messages: impl Iterator<Item = (F, Option<LeaseKey>)>,
        is_fifo: bool,
        (began, until): (Time, Time),
        deletes: Deletes,
    ) {
        let (batch, order, lanes) = Batch::begin(messages, is_fifo, (began, until), deletes);
        self.place(key, &batch);
        let leases = if self.worker.is_some() { batch.leases() } else { Vec::new() };
        self.commands.push_back(Command::Begin { batch: key, leases, order, until });
        if !lanes.is_empty() {
            self.commands.push_back(Command::Run { batch: key, lanes });
        }
        self.insert(key, batch, began);
    }

    fn insert(&mut self, key: BatchKey, batch: Batch<F>, now: Time) {
        self.batches.insert(key, batch);
        self.follow(key, now);
    }

    /// Changes a batch, and does what follows from that.
    fn with(&mut self, key: BatchKey, now: Time, change: impl FnOnce(&mut Batch<F>, &mut Rules<'_, 'a>)) {
        let Some(batch) = self.batches.get_mut(&key) else { return };
        let (policy, streak, rng) = (&mut self.policy, &mut self.streak, &mut self.rng);
        change(batch, &mut Rules { policy, streak, rng });
        self.follow(key, now);
    }

    /// Takes the steps of a batch, until nothing follows.
    fn follow(&mut self, key: BatchKey, now: Time) {
        while let Some(batch) = self.batches.get_mut(&key) {
            let steps = std::mem::take(&mut batch.steps);
            if steps.is_empty() {
                break;
            }
            let mut lanes = Vec::new();
            for step in steps {
                match step {
                    Step::Run(lane) => lanes.push(lane),
                    Step::Ask(at) => self.ask(MessageKey { batch: key, at }, now),
                    Step::End { at, was_asked } => {
                        self.message_ended(MessageKey { batch: key, at }, was_asked)
                    }
                }
            }
            if !lanes.is_empty() {
                self.commands.push_back(Command::Run { batch: key, lanes });
            }
        }
        let Some(batch) = self.batches.get_mut(&key) else { return };
        if batch.left == 0 {
            self.report(key);
        } else if batch.running == 0 && batch.asking == 0 && batch.is_open() {
            // Only messages that could not be started are left.
            self.give_up(key);
        } else {
            self.stop_what_has_other_deliveries(key);
        }
    }

    fn report(&mut self, key: BatchKey) {
        let Some(batch) = self.batches.remove(&key) else { return };
        self.batch_ended(key, &batch);
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
            self.with(batch, now, |batch, rules| batch.ended(together, rules));
            self.check_streak(batch, now);
        }
    }

    /// Begins nothing more after too many panics in a row.
    fn check_streak(&mut self, batch: BatchKey, now: Time) {
        if self.ends_process && self.streak.is_too_long() {
            self.end_process(Why::Panics, now);
            self.stop_batch(batch);
        }
    }

    fn stop_batch(&mut self, key: BatchKey) {
        if let Some(batch) = self.batches.get_mut(&key)
            && batch.phase == Phase::Open
        {
            batch.phase = Phase::Stopped;
            self.commands.push_back(Command::Stop(key));
        }
    }

    /// A batch has run for as long as it may, or canceled handlers for their grace.
    fn time_is_up(&mut self, key: BatchKey, now: Time) {
        let Some(batch) = self.batches.get_mut(&key) else { return };
        match batch.phase {
            Phase::Open | Phase::Stopped => self.cancel(key, now),
            Phase::Closing(_) => self.give_up(key),
            Phase::GivingUp | Phase::Over => {}
        }
    }

    fn cancel(&mut self, key: BatchKey, now: Time) {
        if let Some(batch) = self.batches.get_mut(&key)
            && batch.may_close()
        {
            batch.close(now);
            self.commands.push_back(Command::Cancel(key));
        }
    }

    fn give_up(&mut self, key: BatchKey) {
        if let Some(batch) = self.batches.get_mut(&key) {
            batch.phase = Phase::GivingUp;
            self.commands.push_back(Command::GiveUp(key));
        }
    }

    fn given_up(&mut self, key: BatchKey, worked: Vec<Worked>, is_exhausted: bool, now: Time) {
        let Some(batch) = self.batches.get(&key) else { return };
        let is_stuck = |worked: &Worked| matches!(worked.outcome, Outcome::Stuck | Outcome::TimedOut);
        let all_have_run = batch.running == worked.len() && !worked.iter().any(is_stuck);
        if is_exhausted && !all_have_run && self.ends_process && self.worker.is_none() {
            self.policy.ends = true;
            self.end_process(Why::Blocked, now);
        }
        self.with(key, now, |batch, rules| {
            batch.ended(worked, rules);
            batch.release_untouched(rules);
        });
        self.check_streak(key, now);
    }

    fn end_process(&mut self, why: Why, now: Time) {
        if self.worker.is_some() {
            self.drain(Some(why), now);
        } else {
            self.commands.push_back(Command::EndProcess(why));
        }
    }

    /// What is sent for a message: its facts, its state, and the lease that it is held by.
    pub(crate) fn message(&self, key: MessageKey) -> Option<(&F, &Settled)> {
        let message = self.batches.get(&key.batch)?.messages.get(key.at)?;
        Some((&message.facts, &message.settled))
    }

    fn group_of(&self, key: MessageKey) -> GroupKey {
        let lane = self.batches.get(&key.batch).map_or(0, |batch| batch.lane_of(key.at));
        GroupKey { batch: key.batch, lane }
    }
}

impl<F: Facts> Batch<F> {
    /// Whether its handlers were not given up.
    const fn is_open(&self) -> bool {
        matches!(self.phase, Phase::Open | Phase::Stopped | Phase::Closing(_))
    }

    const fn due_at(&self) -> Option<Time> {
        match self.phase {
            Phase::Open | Phase::Stopped => Some(self.until),
            Phase::Closing(until) => Some(until),
            Phase::GivingUp | Phase::Over => None,
        }
    }
}

#[cfg(test)]
mod tests;
