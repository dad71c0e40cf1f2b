//! Every decision about a message, without I/O: what runs, when SQS is called for what, what each answer means, and when it
//! ends. A shell tells the engine what has happened ([`Engine::on`]), does what it says ([`Engine::next`]), and comes back
//! when it wants to be woken ([`Engine::wake_at`]). Times count from the engine's start.
//!
//! `Flow` is the shell of a batch of Lambda's: it has an engine for each batch, whose lease is the deadline, and a message
//! is deleted by being absent from the response. `Drive` is the shell of a worker, with one engine for its life.

#![expect(missing_docs, reason = "its fields are for redrive alone")]
#![expect(clippy::must_use_candidate, reason = "redrive uses all that it asks for")]

mod backoff;
mod batch;
pub mod breaker;
mod choices;
pub mod decide;
mod deliveries;
#[cfg(all(test, debug_assertions))]
mod explorer;
mod fault;
#[doc(hidden)]
pub mod guards;
pub mod keys;
mod names;
mod outbox;
mod overrides;
mod pacing;
mod panics;
pub mod plan;
mod settled;
mod settling;
#[cfg(test)]
mod testing;
mod worker;

use std::collections::{BTreeMap, VecDeque};
use std::ops::{Deref, Range};
use std::sync::Arc;
use std::time::Duration;

pub use self::backoff::{Backoff, InvalidBackoff, Jitter, parse_backoff};
use self::batch::{Batch, Deletes, Phase, Rules, Step};
pub use self::batch::{GRACE, Message, Worked};
use self::breaker::Breakers;
pub use self::choices::{LastDelivery, OnFailure, Overrides};
use self::decide::Policy;
pub use self::deliveries::Deliveries;
pub use self::fault::{Fault, Ruling};
use self::guards::{Guard, holds};
use self::keys::{BatchKey, LeaseKey, MessageKey};
pub use self::names::Secret;
pub use self::outbox::Kind;
use self::outbox::Outbox;
pub use self::overrides::{Asked, max_attempts};
pub use self::pacing::rate::{ALLOWED, Rate};
pub use self::pacing::tokens::{Bucket, Lease};
pub use self::panics::{MAX_PANICS, Streak};
pub use self::settled::{Action, Description, Outcome, Ran, Settled, State};
pub use self::settling::{Call, Confirmation, Extension};
use self::worker::Worker;
pub use self::worker::intake::{Arrival, Poll, Receiving};
pub use self::worker::{Exit, Why};
use redrive_sqs::lease::LONGEST;

/// The time since the engine's start.
pub type Time = Duration;

/// How long the first entry of a call of a batch of Lambda's waits for others.
const GATHERING: Duration = Duration::from_millis(20);

/// What the engine asks of a message.
pub trait Facts {
    fn id(&self) -> &str;

    /// The receive count.
    fn attempt(&self) -> u32;

    fn group(&self) -> Option<&str>;

    /// What it asks for with its attributes, if anything, and what of these cannot be read.
    fn asked(&self, policy: &Policy<'_>) -> Option<(Asked, Vec<String>)>;

    /// When it was received for the first time, since the epoch of the wall clock.
    fn first_received(&self) -> Option<Time>;

    /// The dependencies that the user's function names for it.
    fn dependencies(&self) -> Vec<String>;

    /// Which messages it shares a rate with, as the user's function says.
    fn rate_key(&self) -> Option<String>;
}

impl<P: Deref<Target: Facts>> Facts for P {
    fn id(&self) -> &str {
        (**self).id()
    }

    fn attempt(&self) -> u32 {
        (**self).attempt()
    }

    fn group(&self) -> Option<&str> {
        (**self).group()
    }

    fn asked(&self, policy: &Policy<'_>) -> Option<(Asked, Vec<String>)> {
        (**self).asked(policy)
    }

    fn first_received(&self) -> Option<Time> {
        (**self).first_received()
    }

    fn dependencies(&self) -> Vec<String> {
        (**self).dependencies()
    }

    fn rate_key(&self) -> Option<String> {
        (**self).rate_key()
    }
}

/// What has happened.
#[derive(Debug, Clone)]
pub enum Event<F> {
    /// Handlers have ended. The messages of one call come together, and within a lane in order.
    Ended(Vec<Worked>),
    /// Nothing of a batch runs, of which no more messages are to begin.
    Idle(BatchKey),
    /// What ran of a batch was given up, with these outcomes. [`Self::Exhausted`] comes before it.
    GivenUp { batch: BatchKey, worked: Vec<Worked> },
    /// The handlers of a worker's messages still run although they were canceled at their time limit.
    Overdue(Vec<MessageKey>),
    /// A handler has returned that blocked its thread when its batch was given up.
    Unblocked(BatchKey),
    /// A call has ended. SQS may have carried it out for a message without an answer.
    Answered { call: Call, answers: Vec<(MessageKey, Confirmation)>, took: Duration },
    /// A receive has brought messages.
    Received { poll: Poll, messages: Vec<Arrival<F>> },
    /// A receive has failed. `random` is from 0 to 1.
    NotReceived { poll: Poll, random: f64, error: String },
    /// Tokens of the shared rate, or why there are none.
    Leased(Result<Lease, String>),
    /// The call that extends leases was answered, or why it was not.
    Extended {
        asked: Time,
        leases: Vec<(LeaseKey, u64)>,
        answers: Result<Vec<(LeaseKey, Extension)>, String>,
    },
    /// Whether too many threads are blocked for handlers to run.
    Exhausted(bool),
    /// Hooks and the observer run for so many messages, of so many bytes, which are in memory until then.
    Reporting { messages: usize, bytes: usize },
    /// A signal came: the worker ends. The second one ends it at once.
    Stop,
}

/// What the shell is to do.
#[derive(Debug, Clone)]
pub enum Command {
    /// Make a batch of the messages of these leases, in the order of their records: the `order` in which they begin, and
    /// when their handlers are to be canceled.
    Begin { batch: BatchKey, leases: Vec<LeaseKey>, order: Arc<[usize]>, until: Time },
    /// Run the messages of lanes, one after the other as long as each is done.
    Run { batch: BatchKey, lanes: Vec<Range<usize>> },
    /// Take lanes back that begin with one of these and wait for a runner, and answer with [`Event::Ended`].
    Withdraw { batch: BatchKey, places: Vec<usize> },
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
    /// Lease up to so many tokens of the shared rate, and answer with [`Event::Leased`].
    Lease(u32),
    /// Extend leases to so many seconds from now.
    Extend(Vec<(LeaseKey, u64)>),
    /// The message of this lease is no longer in hand.
    Forget(LeaseKey),
    /// Nothing more happens to the messages of a batch. In the order of their records.
    Report { batch: BatchKey, settled: Vec<Settled> },
    /// Log or count this.
    Note(Note),
    /// Handle no more batches, and end the process when all are answered.
    EndProcess(Why),
    /// End the worker.
    Exit(Exit),
}

/// What is only for the log and the metrics.
#[derive(Debug, Clone)]
pub enum Note {
    /// The first of consecutive receives has failed.
    ReceivesFail(String),
    /// Receives succeed again, after so many errors.
    ReceivesSucceed(u32),
    /// A message, or another of this group, was received while its handler still runs. The second receive is ignored.
    ReceivedAgain(String),
    /// An attribute of this message cannot be read.
    AttributeIgnored {
        batch: BatchKey,
        id: String,
        warning: String,
    },
    /// A dependency is down: several outages in a row.
    IsDown {
        dependency: String,
        error: String,
    },
    /// It works again.
    IsUp {
        dependency: String,
    },
    /// Time ran out for most messages of a batch, which were not started.
    Overloaded {
        unstarted: usize,
        all: usize,
    },
    /// The first of consecutive leases of tokens has failed.
    TokensFail(String),
    TokensSucceed,
    /// The lease of a message was lost.
    LeaseLost,
    /// The first of consecutive extensions has failed.
    ExtensionsFail(String),
    ExtensionsSucceed,
    /// The worker begins no more messages.
    Drains(Option<Why>),
    /// The drain time has passed.
    Cancels,
}

/// What the batches of a process share.
#[derive(Debug, Clone)]
pub struct Shared {
    /// Of the hashes of names.
    pub secret: Secret,
    pub streak: Streak,
    pub breakers: Breakers,
    /// A function's process has outlived all suspects of a batch, so it isolates those of later batches no longer.
    pub outlived_suspects: bool,
}

impl Shared {
    pub fn new(secret: Secret) -> Self {
        Self { secret, streak: Streak::default(), breakers: Breakers::new(secret), outlived_suspects: false }
    }
}

#[cfg(test)]
impl Default for Shared {
    fn default() -> Self {
        Self::new(Secret::FOR_TESTS)
    }
}

/// What an invocation sets for its batch.
#[derive(Debug, Clone, Copy)]
pub struct BatchLimits {
    /// When it began, since the epoch of the wall clock.
    pub epoch: Time,
    /// When its handlers are canceled.
    pub until: Time,
    /// When the last call to SQS must have been answered.
    pub settle_until: Time,
    /// Whether SQS can be called.
    pub has_client: bool,
    /// Whether the process can be ended when it can handle no more messages.
    pub ends_process: bool,
}

/// The state machine.
#[derive(Debug, Clone)]
pub struct Engine<'a, F> {
    pub rules: Rules<'a>,
    batches: BTreeMap<BatchKey, Batch<F>>,
    next_batch: u64,
    outbox: Outbox,
    /// `None` in a worker's engine.
    limits: Option<BatchLimits>,
    /// In the engine of a batch of Lambda's it receives nothing.
    worker: Worker<F>,
    commands: VecDeque<Command>,
}

impl<'a, F: Facts> Engine<'a, F> {
    /// Follows one batch of Lambda's until its handlers are canceled, and its calls until the response is due.
    pub fn of_batch(
        messages: impl Iterator<Item = F>,
        is_fifo: bool,
        policy: Policy<'a>,
        limits: BatchLimits,
        shared: &mut Shared,
        seed: u64,
    ) -> Self {
        let chance = (seed, shared.secret);
        let mut engine =
            Self::new(policy, GATHERING, (Some(limits), limits.epoch), Receiving::NOTHING, chance);
        let messages = messages.map(|facts| (facts, None));
        let (mut batch, order) = Batch::new(messages, is_fifo, (Time::ZERO, limits.until), Deletes::ByLambda);
        if limits.has_client && !is_fifo && !shared.outlived_suspects {
            batch.isolate(&engine.rules.policy);
        }
        engine.share(shared, |engine| engine.begin(batch, order, Vec::new()));
        engine
    }

    /// Follows all messages of a worker, which starts at this time since the epoch of the wall clock.
    pub fn of_worker(
        receiving: Receiving,
        policy: Policy<'a>,
        epoch: Time,
        (seed, secret): (u64, Secret),
    ) -> Self {
        Self::new(policy, worker::GATHERING, (None, epoch), receiving, (seed, secret))
    }

    fn new(
        policy: Policy<'a>,
        gathering: Duration,
        (limits, epoch): (Option<BatchLimits>, Time),
        receiving: Receiving,
        (seed, secret): (u64, Secret),
    ) -> Self {
        Self {
            rules: Rules {
                policy,
                shared: Shared::new(secret),
                rng: fastrand::Rng::with_seed(seed),
                epoch,
                now: Time::ZERO,
                turned: Vec::new(),
                overload: None,
                ignored: Vec::new(),
            },
            batches: BTreeMap::new(),
            next_batch: 0,
            outbox: Outbox::gathering(gathering),
            limits,
            worker: Worker::new(receiving, secret),
            commands: VecDeque::new(),
        }
    }

    /// Acts with what the batches of the process share.
    pub fn share<T>(&mut self, shared: &mut Shared, act: impl FnOnce(&mut Self) -> T) -> T {
        std::mem::swap(&mut self.rules.shared, shared);
        let result = act(self);
        std::mem::swap(&mut self.rules.shared, shared);
        result
    }

    /// Takes notice of what has happened.
    pub fn on(&mut self, event: Event<F>, now: Time) {
        self.rules.now = now;
        if holds(Guard::LeasesEndFirst) {
            self.expire_leases(now);
        }
        match event {
            Event::Ended(worked) => self.ended(worked, now),
            Event::Idle(batch) => {
                if self.batches.get(&batch).is_some_and(Batch::is_open) {
                    self.give_up(batch);
                }
            }
            Event::GivenUp { batch, worked } => self.given_up(batch, worked, now),
            Event::Overdue(messages) => self.let_go(&messages),
            Event::Unblocked(batch) => self.worker.unblocked(batch, &self.batches),
            Event::Answered { call, answers, took } => self.answered(&call, &answers, took, now),
            Event::Received { poll, messages } => self.received(poll, messages, now),
            Event::NotReceived { poll, random, error } => {
                if self.worker.pollers.failed(poll.messages, poll.sent, now, random) == 1 {
                    self.note(Note::ReceivesFail(error));
                }
            }
            Event::Leased(answer) => self.leased(answer, now),
            Event::Extended { asked, leases, answers } => self.extended(asked, &leases, answers, now),
            Event::Exhausted(is_exhausted) => self.exhausted(is_exhausted, now),
            Event::Reporting { messages, bytes } => self.worker.reporting = (messages, bytes),
            Event::Stop => self.on_signal(now),
        }
    }

    /// The next thing to do, if there is something to do by now.
    pub fn next(&mut self, now: Time) -> Option<Command> {
        if self.commands.is_empty() {
            self.turn(now);
        }
        self.commands.pop_front()
    }

    /// When there may be something to do although nothing happens.
    pub fn wake_at(&self) -> Option<Time> {
        let batches = self.batches.values().filter_map(Batch::due_at);
        batches.chain(self.outbox.due_at()).chain(self.worker_due_at()).min()
    }

    /// What time alone brings.
    fn turn(&mut self, now: Time) {
        self.rules.now = now;
        self.keep_leases(now);
        self.start_waiting(now);
        self.poll(now);
        let is_due =
            |(key, batch): (&BatchKey, &Batch<F>)| batch.due_at().is_some_and(|at| at <= now).then_some(*key);
        let due: Vec<_> = self.batches.iter().filter_map(is_due).collect();
        for key in due {
            self.time_is_up(key, now);
        }
        self.call(now);
        self.end(now);
    }

    fn note(&mut self, note: Note) {
        self.commands.push_back(Command::Note(note));
    }

    /// Begins a batch.
    fn begin(&mut self, batch: Batch<F>, order: Arc<[usize]>, leases: Vec<LeaseKey>) -> BatchKey {
        let (began, until) = (batch.began, batch.until);
        let key = self.insert(batch);
        self.commands.push_back(Command::Begin { batch: key, leases, order, until });
        self.with(key, began, Batch::begin);
        key
    }

    /// Follows a batch from now on, and notes which message each lease is of.
    fn insert(&mut self, batch: Batch<F>) -> BatchKey {
        let key = BatchKey(self.next_batch);
        self.next_batch += 1;
        for (at, message) in batch.messages.iter().enumerate() {
            if let Some(held) = message.lease.and_then(|lease| self.worker.held.get_mut(&lease)) {
                held.key = Some(MessageKey { batch: key, at });
            }
        }
        self.batches.insert(key, batch);
        key
    }

    /// Changes a batch, and does what follows from that.
    fn with(&mut self, key: BatchKey, now: Time, change: impl FnOnce(&mut Batch<F>, &mut Rules<'a>)) {
        if let Some(batch) = self.batches.get_mut(&key) {
            change(batch, &mut self.rules);
            self.note_rules(key);
            self.follow(key, now);
        }
    }

    /// Notes what the batch has noticed: attributes that could not be read, dependencies that are down or work again, an overload.
    fn note_rules(&mut self, batch: BatchKey) {
        let ignored = self.rules.ignored.drain(..);
        let note = |(id, warning)| Command::Note(Note::AttributeIgnored { batch, id, warning });
        self.commands.extend(ignored.map(note));
        let turned = self.rules.turned.drain(..).map(|(dependency, error)| match error {
            Some(error) => Note::IsDown { dependency, error },
            None => Note::IsUp { dependency },
        });
        self.commands.extend(turned.map(Command::Note));
        let overload = self.rules.overload.take();
        self.commands
            .extend(overload.map(|(unstarted, all)| Command::Note(Note::Overloaded { unstarted, all })));
    }

    /// Takes the steps of a batch, until nothing follows.
    fn follow(&mut self, key: BatchKey, now: Time) {
        while let Some(batch) = self.batches.get_mut(&key) {
            if batch.steps.is_empty() && batch.begins_alone() {
                batch.begin_alone(&mut self.rules);
                self.note_rules(key);
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
                        self.message_ended(MessageKey { batch: key, at }, was_asked)
                    }
                }
            }
            if !lanes.is_empty() {
                self.commands.push_back(Command::Run { batch: key, lanes });
            }
            if !replayed.is_empty() {
                self.with(key, now, |batch, rules| {
                    replayed.into_iter().for_each(|at| batch.replay(at, rules))
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
                self.stop_what_has_other_deliveries(key);
            }
        }
    }

    /// The first message of a lane that is not known to be over.
    fn first_unfinished(&self, batch: BatchKey, lane: &Range<usize>) -> usize {
        let is_known = |at: &usize| {
            let message = self.message(MessageKey { batch, at: *at });
            message.is_some_and(|message| self.worker.finished.contains(message.facts.id()))
        };
        let known =
            if self.worker.finished.is_empty() { 0 } else { lane.clone().take_while(is_known).count() };
        lane.start + known
    }

    fn report(&mut self, key: BatchKey) {
        let Some(batch) = self.batches.remove(&key) else { return };
        self.worker.batch_ended(key, &batch);
        self.rules.shared.outlived_suspects |=
            self.limits.is_some() && batch.ran_suspects(&self.rules.policy);
        if !batch.is_silent {
            self.commands.push_back(Command::Report { batch: key, settled: batch.into_settled() });
        }
    }

    /// Leaves running messages to their next receivers: their leases are not extended any more.
    fn let_go(&mut self, messages: &[MessageKey]) {
        for &key in messages {
            let message = self.message(key).filter(|it| it.settled.state == settled::State::Running);
            if let Some(lease) = message.and_then(|message| message.lease) {
                self.worker.leases.settle(lease);
            }
        }
    }

    fn ended(&mut self, worked: Vec<Worked>, now: Time) {
        let mut rest = worked;
        while let Some(first) = rest.first() {
            let batch = first.key.batch;
            let count = rest.iter().take_while(|worked| worked.key.batch == batch).count();
            let others = rest.split_off(count);
            let together = std::mem::replace(&mut rest, others);
            self.adapt(batch, &together, now);
            self.with(batch, now, |batch, rules| batch.ended(together, rules));
            self.check_streak(batch, now);
        }
    }

    /// Begins nothing more after too many panics in a row.
    fn check_streak(&mut self, batch: BatchKey, now: Time) {
        if self.ends_process() && self.rules.shared.streak.is_too_long() {
            self.end_process(Why::Panics, now);
            if let Some(open) = self.batches.get_mut(&batch).filter(|batch| batch.phase == Phase::Open) {
                open.phase = Phase::Stopped;
                self.commands.push_back(Command::Stop(batch));
            }
        }
    }

    fn ends_process(&self) -> bool {
        self.limits.is_none_or(|limits| limits.ends_process)
    }

    fn end_process(&mut self, why: Why, now: Time) {
        match self.limits {
            Some(_) => self.commands.push_back(Command::EndProcess(why)),
            None => self.drain(Some(why), now),
        }
    }

    /// A batch has run for as long as it may, or canceled handlers for their grace.
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

    /// Cancels what runs of a batch, once.
    fn cancel(&mut self, key: BatchKey, now: Time) {
        if let Some(batch) = self.batches.get_mut(&key).filter(|batch| batch.may_close()) {
            batch.phase = Phase::Closing(now + GRACE);
            self.commands.push_back(Command::Cancel(key));
        }
    }

    fn give_up(&mut self, key: BatchKey) {
        if let Some(batch) = self.batches.get_mut(&key) {
            batch.phase = Phase::GivingUp;
            self.commands.push_back(Command::GiveUp(key));
        }
    }

    fn given_up(&mut self, key: BatchKey, worked: Vec<Worked>, now: Time) {
        let Some(batch) = self.batches.get(&key) else { return };
        let is_stuck = |worked: &Worked| matches!(worked.outcome, Outcome::Stuck | Outcome::TimedOut);
        let all_have_run = batch.running == worked.len() && !worked.iter().any(is_stuck);
        if self.worker.blocked_since.is_some()
            && !all_have_run
            && self.limits.is_some_and(|limits| limits.ends_process)
        {
            self.rules.policy.ends = true;
            self.end_process(Why::Blocked, now);
        }
        self.with(key, now, |batch, rules| {
            batch.ended(worked, rules);
            batch.release_untouched(rules);
        });
        self.check_streak(key, now);
    }

    /// Until when the handlers of a worker's batch may go on without another look at their leases: the first of these ends then.
    /// `None` if none is held.
    pub fn held_until(&self, batch: BatchKey) -> Option<Time> {
        if !holds(Guard::PollWhileLeased) {
            return Some(self.rules.now + LONGEST);
        }
        let messages = self.batches.get(&batch)?.messages.iter();
        let running = messages.filter(|message| message.settled.state == settled::State::Running);
        running.filter_map(|message| self.worker.leases.until(message.lease?)).min()
    }

    /// A message that is followed.
    pub fn message(&self, key: MessageKey) -> Option<&Message<F>> {
        self.batches.get(&key.batch)?.messages.get(key.at)
    }
}

#[cfg(test)]
mod tests;
