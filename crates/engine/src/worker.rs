//! The machine of a worker: its messages in hand, their leases, its signals and its end.

pub(crate) mod finished;
pub(crate) mod receive;
mod leases;
pub(crate) mod pollers;
mod shutdown;
mod timers;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use self::finished::Finished;
use self::pollers::Pollers;
use self::receive::{Arrival, PendingChunk, Receiving, name};
pub(crate) use self::shutdown::Life;
pub use self::shutdown::{Exit, ExitReason};
use super::batch::{Batch, Worked};
use super::breaker::{STORE, UNNAMED};
use super::decide::Policy;
use super::engine::{Engine, Machine};
use super::guards::{Guard, guard, holds};
use super::keys::{BatchKey, LeaseKey, MessageKey};
use super::names::Secret;
use super::outbox::SettleCall;
use super::pacing::adaptive_limit::AdaptiveLimit;
use super::pacing::keyed_limiter::KeyedLimiter;
use super::pacing::parked::Parked;
use super::pacing::receive_budget::ReceiveBudget;
use super::{Command, Event, MessageMeta, Note, Time};
use redrive_sqs::lease::Leases;

/// The time for which the first entry of a call waits for others.
pub(crate) const GATHERING: Duration = Duration::from_millis(100);
/// A message that the worker has received.
#[derive(Debug, Clone)]
pub(crate) struct Held {
    pub(crate) received: Time,
    bytes: usize,
    /// `None` while it waits for its turn, or for a chunk of a bulk handler.
    pub(crate) key: Option<MessageKey>,
    /// True once its handler has ended and it is being settled.
    pub(crate) is_asked: bool,
    /// True while its delay waits for the answer to the extension of its lease.
    pub(crate) waits: bool,
}

#[derive(Debug, Clone)]
pub struct Worker<F> {
    pub(crate) receiving: Receiving,
    pub(crate) pollers: Pollers,
    /// The number of handlers that may run, if it adapts.
    pub(crate) limit: Option<AdaptiveLimit>,
    /// The number of handlers that may run, if the queues of the process share it.
    pub(crate) places: Option<usize>,
    pub(crate) budget: Option<ReceiveBudget>,
    pub(crate) keyed_limiter: Option<KeyedLimiter>,
    pub(crate) parked: Parked<F>,
    pub(crate) leases: Leases<LeaseKey>,
    pub(crate) held: BTreeMap<LeaseKey, Held>,
    pub(crate) pending_chunk: PendingChunk<F>,
    /// The latest key of each message, or of the last one of each group. If its batch has ended, a handler of it still blocks
    /// its thread. So there are as many as messages in hand and blocked threads, and SQS allows 128 characters for a group.
    pub(crate) in_flight_by_id: HashMap<Box<str>, MessageKey>,
    pub(crate) finished: Finished,
    /// Messages whose handlers have not ended.
    pub(crate) in_hand: usize,
    /// Bytes of the messages that are held.
    pub(crate) bytes: usize,
    /// The number of messages that hooks and the observer run for, and their bytes.
    pub(crate) reporting: (usize, usize),
    /// The times and messages of calls that are made again.
    pub(crate) again: BTreeSet<(Time, MessageKey)>,
    pub(crate) is_extension_failing: bool,
    pub(crate) life: Life,
    pub(crate) why: Option<ExitReason>,
    /// Messages that were not settled since the end began.
    pub(crate) unconfirmed: usize,
    /// True after the first signal.
    pub(crate) is_signaled: bool,
    /// The time since which too many threads are blocked.
    pub(crate) blocked_since: Option<Time>,
}

/// Follows all messages of a worker.
pub type WorkerEngine<'a, F> = Engine<'a, F, Worker<F>>;

impl<'a, F: MessageMeta> WorkerEngine<'a, F> {
    /// Creates the engine of a worker that starts at `epoch`, the time since the epoch of the wall clock.
    pub fn of_worker(
        receiving: Receiving,
        policy: Policy<'a>,
        epoch: Time,
        (seed, secret): (u64, Secret),
    ) -> Self {
        Self::new(policy, GATHERING, epoch, (seed, secret), Worker::new(receiving, secret))
    }
}

impl<F: MessageMeta> Machine<F> for Worker<F> {
    fn begin_event(engine: &mut WorkerEngine<'_, F>, now: Time) {
        if holds(Guard::LeasesEndFirst) {
            engine.expire_leases(now);
        }
    }

    fn on(engine: &mut WorkerEngine<'_, F>, event: Event<F>, now: Time) {
        match event {
            Event::Overdue(messages) => engine.let_go(&messages),
            Event::Unblocked(batch) => engine.machine.unblocked(batch, &engine.batches),
            Event::Received { poll, messages } => engine.received(poll, messages, now),
            Event::NotReceived { poll, random, error } => {
                if engine.machine.pollers.failed(poll.messages, poll.sent, now, random) == 1 {
                    engine.note(Note::ReceivesFail(error));
                }
            }
            Event::Leased(answer) => engine.leased(answer, now),
            Event::Extended { asked, leases, answers } => engine.extended(asked, &leases, answers, now),
            Event::Places(places) => engine.machine.places = Some(places),
            Event::Exhausted(is_exhausted) => engine.exhausted(is_exhausted, now),
            Event::Reporting { messages, bytes } => engine.machine.reporting = (messages, bytes),
            Event::Stop => engine.on_signal(now),
            Event::Ended(_) | Event::Idle(_) | Event::GivenUp { .. } | Event::Answered { .. } => {}
        }
    }

    fn begin_turn(engine: &mut WorkerEngine<'_, F>, now: Time) {
        engine.keep_leases(now);
        engine.start_waiting(now);
        engine.poll(now);
        engine.call_again(now);
    }

    fn end_turn(engine: &mut WorkerEngine<'_, F>, now: Time) {
        engine.end(now);
    }

    fn wake_at(engine: &WorkerEngine<'_, F>) -> Option<Time> {
        engine.next_timer()
    }

    fn batch_begins(engine: &mut WorkerEngine<'_, F>, key: BatchKey, batch: &Batch<F>) {
        for (at, message) in batch.messages.iter().enumerate() {
            if let Some(held) = message.lease.and_then(|lease| engine.machine.held.get_mut(&lease)) {
                held.key = Some(MessageKey { batch: key, at });
            }
        }
    }

    fn handlers_ended(engine: &mut WorkerEngine<'_, F>, batch: BatchKey, worked: &[Worked], now: Time) {
        engine.adapt(batch, worked, now);
    }

    fn finished(&self) -> Option<&Finished> {
        Some(&self.finished).filter(|finished| !finished.is_empty())
    }

    fn settle(engine: &mut WorkerEngine<'_, F>, kind: SettleCall, key: MessageKey, now: Time) {
        engine.settle(kind, key, now);
    }

    /// Puts the tail of a group first, so that its messages return in order.
    fn arrange(engine: &WorkerEngine<'_, F>, keys: &mut [MessageKey]) {
        if guard!(TailFirst, engine.machine.receiving.is_fifo) {
            keys.reverse();
        }
    }

    fn flushes(engine: &WorkerEngine<'_, F>) -> bool {
        engine.machine.receiving.is_fifo || engine.machine.is_ending()
    }

    fn entry(
        engine: &mut WorkerEngine<'_, F>,
        kind: SettleCall,
        key: MessageKey,
        now: Time,
    ) -> Option<(Duration, Time)> {
        engine.entry(kind, key, now)
    }

    fn tries_again(engine: &mut WorkerEngine<'_, F>, kind: SettleCall, key: MessageKey, now: Time) -> bool {
        engine.tries_again(kind, key, now)
    }

    fn answered(engine: &mut WorkerEngine<'_, F>, kind: SettleCall, key: MessageKey, confirmed: bool) {
        let lease = engine.message(key).and_then(|message| message.lease);
        if let Some(lease) = lease.filter(|_| confirmed && kind != SettleCall::DeadLetter) {
            engine.machine.leases.forget(lease);
        }
        // A message whose letter is not confirmed is delayed instead.
        let is_left = engine.machine.is_ending() && !confirmed && kind != SettleCall::DeadLetter;
        engine.machine.unconfirmed += usize::from(is_left);
    }

    fn message_ended(engine: &mut WorkerEngine<'_, F>, key: MessageKey, was_asked: bool) {
        engine.message_ended(key, was_asked);
    }

    fn batch_goes_on(engine: &mut WorkerEngine<'_, F>, batch: BatchKey) {
        engine.stop_what_has_other_deliveries(batch);
    }

    fn batch_ended(engine: &mut WorkerEngine<'_, F>, key: BatchKey, batch: &Batch<F>) {
        engine.machine.batch_ended(key, batch);
    }

    fn end_process(engine: &mut WorkerEngine<'_, F>, why: ExitReason, now: Time) -> bool {
        engine.drain(Some(why), now);
        true
    }
}

impl<F: MessageMeta> WorkerEngine<'_, F> {
    /// Releases a message that is in its final state.
    pub(crate) fn message_ended(&mut self, key: MessageKey, was_asked: bool) {
        let Some(message) = self.batches.get(&key.batch).and_then(|batch| batch.messages.get(key.at)) else {
            return;
        };
        let Some(lease) = message.lease else { return };
        if guard!(FinishedIsKnown, message.settled.is_over()) {
            self.machine.finished.insert(message.facts.id());
        }
        let was_held = self.machine.leases.forget(lease);
        if self.machine.is_ending() && !was_asked && was_held {
            // Its handler blocks a thread.
            self.machine.unconfirmed += 1;
        }
        self.release(lease);
    }

    /// Removes a message from those in hand.
    pub(crate) fn release(&mut self, lease: LeaseKey) {
        if let Some(held) = self.machine.held.remove(&lease) {
            self.machine.in_hand -= usize::from(!held.is_asked);
            self.machine.bytes -= held.bytes;
            self.commands.push_back(Command::Forget(lease));
        }
    }

    /// Returns true if a dependency of all messages is down, so that a worker receives one message a minute.
    pub(crate) fn is_down(&self) -> bool {
        self.needed_by_all().any(|name| self.context.shared.breakers.is_down(name, self.context.wall()))
    }

    fn needed_by_all(&self) -> impl Iterator<Item = &'static str> {
        let policy = &self.context.policy;
        let names = [(!policy.names_dependencies).then_some(UNNAMED), policy.has_store.then_some(STORE)];
        names.into_iter().flatten()
    }

    /// Returns true if a worker receives nothing because of that.
    pub fn is_paused(&self) -> bool {
        self.paused_until().is_some()
    }

    /// Returns the time until which such a worker receives nothing.
    pub(crate) fn paused_until(&self) -> Option<Time> {
        let due_at = |name| self.context.shared.breakers.due_at(name, self.context.wall());
        let due_at = self.needed_by_all().filter_map(due_at).max()?;
        Some(due_at.saturating_sub(self.context.epoch))
    }
}

impl<F> Worker<F> {
    pub(crate) fn new(receiving: Receiving, secret: Secret) -> Self {
        let limit = receiving.slow.map(|slow| AdaptiveLimit::new(receiving.concurrency, slow));
        Self {
            receiving: Receiving {
                concurrency: limit.as_ref().map_or(receiving.concurrency, |it| it.now),
                ..receiving
            },
            pollers: Pollers::new(receiving.capacity()),
            limit,
            places: None,
            budget: receiving.rate.map(|rate| ReceiveBudget::new(rate, receiving.is_rate_shared)),
            keyed_limiter: receiving.rate_of_key.map(|rate| KeyedLimiter::new(rate, secret)),
            parked: Parked::default(),
            leases: Leases::new(receiving.visibility),
            held: BTreeMap::new(),
            pending_chunk: PendingChunk { messages: Vec::new(), due: None },
            in_flight_by_id: HashMap::new(),
            finished: Finished::default(),
            in_hand: 0,
            bytes: 0,
            reporting: (0, 0),
            again: BTreeSet::new(),
            is_extension_failing: false,
            life: Life::Running,
            why: None,
            unconfirmed: 0,
            is_signaled: false,
            blocked_since: None,
        }
    }

    pub(crate) fn take(&mut self, message: &Arrival<F>, received: Time, now: Time) {
        self.leases.take(message.lease, received, now);
        let held = Held { received, bytes: message.bytes, key: None, is_asked: false, waits: false };
        self.held.insert(message.lease, held);
        self.bytes += message.bytes;
        self.in_hand += 1;
    }
}

impl<F: MessageMeta> Worker<F> {
    /// Forgets the messages of a finished batch, unless a handler of them blocks its thread.
    pub(crate) fn batch_ended(&mut self, key: BatchKey, batch: &Batch<F>) {
        if self.in_flight_by_id.is_empty() {
            return;
        }
        for (at, message) in batch.messages.iter().enumerate() {
            let name = name(&message.facts, self.receiving.is_fifo);
            if self.in_flight_by_id.get(name).is_some_and(|named| named.batch == key) && !batch.is_blocked(at)
            {
                self.in_flight_by_id.remove(name);
            }
        }
    }

    /// Forgets the messages of a finished batch whose handlers no longer block threads.
    pub(crate) fn unblocked(&mut self, batch: BatchKey, batches: &BTreeMap<BatchKey, Batch<F>>) {
        if !batches.contains_key(&batch) {
            self.in_flight_by_id.retain(|_, named| named.batch != batch);
        }
    }
}
