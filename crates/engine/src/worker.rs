//! A worker's messages in hand, their leases, its signals and its end.

mod finished;
pub(crate) mod intake;
pub(crate) mod pollers;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use self::finished::Finished;
use self::intake::{Arrival, Gathered, Receiving, name};
use self::pollers::Pollers;
use super::batch::{Batch, Phase};
use super::breaker::{STORE, UNNAMED};
use super::guards::{Guard, holds};
use super::keys::{BatchKey, LeaseKey, MessageKey};
use super::names::Secret;
use super::pacing::budget::Budget;
use super::pacing::limit::Limit;
use super::pacing::turns::Turns;
use super::pacing::waiting::Waiting;
use super::{Command, Engine, Facts, Note, Time};
use redrive_sqs::lease::Leases;

/// How long the first entry of a call waits for others.
pub(crate) const GATHERING: Duration = Duration::from_millis(100);
/// How long settling may take after the drain.
const AFTER_THE_DRAIN: Duration = Duration::from_secs(3);
/// How long too many threads may be blocked: handlers that block for a while, as in a driver, are slow, not stuck.
const BLOCKED: Duration = Duration::from_secs(10);

/// Why a process ends by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Why {
    /// Too many handlers in a row have panicked.
    Panics,
    /// Too many threads are blocked.
    Blocked,
}

/// How a worker ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Exit {
    /// Everything is settled. Says whether handlers were canceled.
    Settled { canceled: bool },
    /// So many messages were not settled.
    Unsettled(usize),
    /// A receive was not answered in time.
    Unanswered,
    /// The process can handle no more messages.
    Because(Why),
    /// A second signal came while so many messages were in hand.
    AtOnce(usize),
}

/// How far a worker has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Life {
    Running,
    /// No more messages begin.
    Draining {
        until: Time,
    },
    /// Handlers are canceled.
    Closing {
        until: Time,
    },
    /// The command to end it was given.
    Over,
}

/// A message that the worker has received.
#[derive(Debug, Clone)]
pub(crate) struct Held {
    pub(crate) received: Time,
    bytes: usize,
    /// `None` while it waits for its turn, or for a chunk of a bulk handler.
    pub(crate) key: Option<MessageKey>,
    /// Its handler has ended, and it is being settled.
    pub(crate) is_asked: bool,
    /// Its delay waits for the answer to the extension of its lease.
    pub(crate) waits: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct Worker<F> {
    pub(crate) receiving: Receiving,
    pub(crate) pollers: Pollers,
    /// How many handlers may run, if that changes.
    pub(crate) limit: Option<Limit>,
    pub(crate) budget: Option<Budget>,
    pub(crate) turns: Option<Turns>,
    pub(crate) waiting: Waiting<F>,
    pub(crate) leases: Leases<LeaseKey>,
    pub(crate) held: BTreeMap<LeaseKey, Held>,
    pub(crate) gathered: Gathered<F>,
    /// The latest place of each message, or of the last one of each group. If its batch has ended, a handler of that still blocks
    /// its thread.
    /// So there are as many as messages in hand and blocked threads, and SQS allows 128 characters for a group.
    pub(crate) names: HashMap<Box<str>, MessageKey>,
    pub(crate) finished: Finished,
    /// Messages whose handlers have not ended.
    pub(crate) in_hand: usize,
    /// Of the messages that are held.
    pub(crate) bytes: usize,
    /// The messages that hooks and the observer run for, and their bytes.
    pub(crate) reporting: (usize, usize),
    /// When calls are made again, and for which messages.
    pub(crate) again: BTreeSet<(Time, MessageKey)>,
    pub(crate) is_extension_failing: bool,
    pub(crate) life: Life,
    pub(crate) why: Option<Why>,
    /// So many messages were not settled since the end began.
    pub(crate) unconfirmed: usize,
    /// A signal came.
    pub(crate) is_signaled: bool,
    /// Since when too many threads are blocked.
    pub(crate) blocked_since: Option<Time>,
}

impl<F: Facts> Engine<'_, F> {
    /// The first signal begins the end, the second ends at once.
    pub(crate) fn on_signal(&mut self, now: Time) {
        if std::mem::replace(&mut self.worker.is_signaled, true) {
            self.commands.clear();
            self.exit(Exit::AtOnce(self.worker.held.len()));
        } else {
            // It may be ending by itself.
            self.drain(None, now);
        }
    }

    pub(crate) fn drain(&mut self, why: Option<Why>, now: Time) {
        if self.worker.is_ending() {
            return;
        }
        let until = now + self.worker.receiving.drain;
        (self.worker.life, self.worker.why) = (Life::Draining { until }, why);
        self.note(Note::Drains(why));
        let keys: Vec<_> = self.batches.keys().copied().collect();
        keys.into_iter().for_each(|key| self.stop_what_has_other_deliveries(key));
        self.hand_back_waiting(now);
        self.hand_back_gathered(true, now);
    }

    /// While a worker ends, a batch begins no more messages, unless one would have no delivery left.
    pub(crate) fn stop_what_has_other_deliveries(&mut self, key: BatchKey) {
        if self.worker.is_ending()
            && let Some(batch) = self.batches.get_mut(&key).filter(|batch| batch.phase == Phase::Open)
        {
            let stops = batch.stops_unless_one_is_last(&self.rules);
            self.commands.extend(stops.then_some(Command::Stop(key)));
        }
    }

    /// Too many threads are blocked, or no longer.
    pub(crate) fn exhausted(&mut self, is_exhausted: bool, now: Time) {
        let since = is_exhausted.then(|| self.worker.blocked_since.unwrap_or(now));
        self.worker.blocked_since = since;
        if since.is_some_and(|since| since + BLOCKED <= now) {
            self.drain(Some(Why::Blocked), now);
        }
    }

    /// Begins the next part of the end if it is due, and ends once everything is settled.
    pub(crate) fn end(&mut self, now: Time) {
        let worker = &mut self.worker;
        let (Life::Draining { until } | Life::Closing { until }) = worker.life else { return };
        let canceled = matches!(worker.life, Life::Closing { .. });
        let is_settled =
            worker.pollers.under_way == 0 && self.batches.is_empty() && worker.gathered.messages.is_empty();
        if is_settled || canceled && until <= now {
            let exit = match (worker.why, worker.held.len() + worker.unconfirmed) {
                (Some(why), _) => Exit::Because(why),
                (None, 0) if is_settled => Exit::Settled { canceled },
                (None, 0) => Exit::Unanswered,
                (None, messages) => Exit::Unsettled(messages),
            };
            self.exit(exit);
        } else if until <= now {
            worker.life = Life::Closing { until: until + AFTER_THE_DRAIN };
            self.note(Note::Cancels);
            let keys: Vec<_> = self.batches.keys().copied().collect();
            for key in keys {
                if let Some(batch) = self.batches.get_mut(&key).filter(|batch| batch.may_close()) {
                    batch.interrupt();
                    self.cancel(key, now);
                }
            }
            self.hand_back_gathered(false, now);
        }
    }

    fn exit(&mut self, exit: Exit) {
        self.worker.life = Life::Over;
        self.commands.push_back(Command::Exit(exit));
    }

    /// Nothing more happens to a worker's message.
    pub(crate) fn message_ended(&mut self, key: MessageKey, was_asked: bool) {
        let Some(message) = self.batches.get(&key.batch).and_then(|batch| batch.messages.get(key.at)) else {
            return;
        };
        let Some(lease) = message.lease else { return };
        if message.settled.is_over() && holds(Guard::FinishedIsKnown) {
            self.worker.finished.insert(message.facts.id());
        }
        let was_held = self.worker.leases.forget(lease);
        if self.worker.is_ending() && !was_asked && was_held {
            // Its handler blocks a thread.
            self.worker.unconfirmed += 1;
        }
        self.release(lease);
    }

    /// A message is no longer in hand.
    pub(crate) fn release(&mut self, lease: LeaseKey) {
        if let Some(held) = self.worker.held.remove(&lease) {
            self.worker.in_hand -= usize::from(!held.is_asked);
            self.worker.bytes -= held.bytes;
            self.commands.push_back(Command::Forget(lease));
        }
    }

    /// Whether a dependency of all messages is down, so that a worker receives one message a minute.
    pub(crate) fn is_down(&self) -> bool {
        self.needed_by_all().any(|name| self.rules.shared.breakers.is_down(name, self.rules.wall()))
    }

    fn needed_by_all(&self) -> impl Iterator<Item = &'static str> {
        let policy = &self.rules.policy;
        let names = [(!policy.names_dependencies).then_some(UNNAMED), policy.has_store.then_some(STORE)];
        names.into_iter().flatten()
    }

    /// How many dependencies are down, and no message may try them yet.
    pub fn down(&self) -> usize {
        self.rules.shared.breakers.down(self.rules.wall())
    }

    /// Whether a worker receives nothing because of that.
    pub fn is_paused(&self) -> bool {
        self.paused_until().is_some()
    }

    /// Until when such a worker receives nothing.
    pub(crate) fn paused_until(&self) -> Option<Time> {
        let due_at = |name| self.rules.shared.breakers.due_at(name, self.rules.wall());
        let due_at = self.needed_by_all().filter_map(due_at).max()?;
        Some(due_at.saturating_sub(self.rules.epoch))
    }

    pub(crate) fn worker_due_at(&self) -> Option<Time> {
        let worker = &self.worker;
        let life = match worker.life {
            Life::Running => worker.blocked_since.map(|since| since + BLOCKED),
            Life::Draining { until } | Life::Closing { until } => Some(until),
            Life::Over => None,
        };
        let times = [
            worker.pollers.due_at().filter(|_| !worker.is_ending()),
            self.paused_until().filter(|_| !worker.is_ending()),
            self.rate_due_at().filter(|_| !worker.is_ending()),
            self.tokens_due_at().filter(|_| !worker.is_ending()),
            self.waiting_due_at(),
            worker.gathered.due.filter(|_| self.has_a_free_call()),
            worker.leases.due_at(),
            worker.leases.ends_at(),
            worker.again.first().map(|(at, _)| *at),
            life,
        ];
        times.into_iter().flatten().min()
    }
}

impl<F> Worker<F> {
    pub(crate) fn new(receiving: Receiving, secret: Secret) -> Self {
        let limit = receiving.slow.map(|slow| Limit::new(receiving.concurrency, slow));
        Self {
            receiving: Receiving {
                concurrency: limit.as_ref().map_or(receiving.concurrency, |it| it.now),
                ..receiving
            },
            pollers: Pollers::new(receiving.capacity()),
            limit,
            budget: receiving.rate.map(|rate| Budget::new(rate, receiving.is_rate_shared)),
            turns: receiving.rate_of_key.map(|rate| Turns::new(rate, secret)),
            waiting: Waiting::default(),
            leases: Leases::new(receiving.visibility),
            held: BTreeMap::new(),
            gathered: Gathered { messages: Vec::new(), due: None },
            names: HashMap::new(),
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

    pub(crate) const fn is_ending(&self) -> bool {
        !matches!(self.life, Life::Running)
    }

    /// When the last call must have been answered.
    pub(crate) fn settle_until(&self) -> Time {
        match self.life {
            Life::Running | Life::Over => Time::MAX,
            Life::Draining { until } => until + AFTER_THE_DRAIN,
            Life::Closing { until } => until,
        }
    }
}

impl<F: Facts> Worker<F> {
    /// Nothing more happens to the messages of a batch.
    pub(crate) fn batch_ended(&mut self, key: BatchKey, batch: &Batch<F>) {
        if self.names.is_empty() {
            return;
        }
        for (at, message) in batch.messages.iter().enumerate() {
            let name = name(&message.facts, self.receiving.is_fifo);
            if self.names.get(name).is_some_and(|named| named.batch == key) && !batch.is_blocked(at) {
                self.names.remove(name);
            }
        }
    }

    /// No handler of a batch blocks a thread any more.
    pub(crate) fn unblocked(&mut self, batch: BatchKey, batches: &BTreeMap<BatchKey, Batch<F>>) {
        if !batches.contains_key(&batch) {
            self.names.retain(|_, named| named.batch != batch);
        }
    }
}
