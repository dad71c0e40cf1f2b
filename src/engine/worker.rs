//! A worker's messages in hand, their leases, its signals and its end.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use super::batch::Batch;
use super::decide::Policy;
use super::intake::{Arrival, Gathered, Receiving};
use super::keys::{BatchKey, LeaseKey, MessageKey};
use super::outbox::Kind;
use super::pollers::Pollers;
use super::{Command, Engine, Facts, Note, Time};
use redrive_sqs::lease::Leases;

/// How long the first entry of a call waits for others.
const GATHERING: Duration = Duration::from_millis(100);
/// How long settling may take after the limit.
const TO_SETTLE: Duration = Duration::from_secs(3);
/// How long too many threads may be blocked: handlers that block for a while, as where a driver does, are slow, not stuck.
const BLOCKED: Duration = Duration::from_secs(10);

/// Why a process ends by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Why {
    /// Too many handlers in a row have panicked.
    Panics,
    /// Too many threads are blocked.
    Blocked,
}

/// How a worker ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Exit {
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
enum Life {
    Running,
    /// No more messages begin.
    Draining {
        until: Time,
    },
    /// Handlers are canceled.
    Closing {
        until: Time,
    },
    /// The shell was told to end it.
    Over,
}

/// A message that the worker has received.
#[derive(Debug, Clone)]
pub(super) struct Held {
    received: Time,
    bytes: usize,
    /// `None` while it waits for a chunk of a bulk handler.
    pub(super) key: Option<MessageKey>,
    is_asked: bool,
}

#[derive(Debug, Clone)]
pub(super) struct Worker<F> {
    pub(super) receiving: Receiving,
    pub(super) is_fifo: bool,
    pub(super) pollers: Pollers,
    pub(super) leases: Leases<LeaseKey>,
    pub(super) held: BTreeMap<LeaseKey, Held>,
    pub(super) gathered: Gathered<F>,
    /// The latest batch of each group or message.
    pub(super) names: HashMap<Arc<str>, BatchKey>,
    /// Those whose handlers block threads although their batches have ended.
    pub(super) stuck: Vec<(BatchKey, Arc<str>)>,
    /// Messages whose handlers have not ended.
    pub(super) in_hand: usize,
    /// Of the messages that are held.
    pub(super) bytes: usize,
    /// The messages that observers are being told of, and their bytes.
    pub(super) telling: (usize, usize),
    /// Messages that wait for the answer to the extension of their lease.
    pub(super) waiting: BTreeMap<LeaseKey, MessageKey>,
    /// When messages are tried again.
    pub(super) again: BTreeSet<(Time, MessageKey)>,
    pub(super) is_extension_failing: bool,
    life: Life,
    why: Option<Why>,
    /// Since the end began.
    unconfirmed: usize,
    is_told: bool,
    /// Since when too many threads are blocked.
    blocked_since: Option<Time>,
}

impl<'a, F: Facts> Engine<'a, F> {
    /// Follows all messages of a worker.
    pub(crate) fn of_worker(receiving: Receiving, policy: Policy<'a>, seed: u64) -> Self {
        let mut worker = Worker {
            receiving,
            is_fifo: receiving.is_fifo,
            pollers: Pollers::new(0),
            leases: Leases::new(receiving.visibility),
            held: BTreeMap::new(),
            gathered: Gathered { messages: Vec::new(), due: None },
            names: HashMap::new(),
            stuck: Vec::new(),
            in_hand: 0,
            bytes: 0,
            telling: (0, 0),
            waiting: BTreeMap::new(),
            again: BTreeSet::new(),
            is_extension_failing: false,
            life: Life::Running,
            why: None,
            unconfirmed: 0,
            is_told: false,
            blocked_since: None,
        };
        worker.pollers = Pollers::new(worker.capacity());
        Self::new(policy, GATHERING, Some(worker), seed)
    }

    /// A signal: the first begins the end, the second ends at once.
    pub(super) fn told(&mut self, now: Time) {
        let Some(worker) = &mut self.worker else { return };
        if std::mem::replace(&mut worker.is_told, true) {
            let left = worker.held.len();
            self.commands.clear();
            self.exit(Exit::AtOnce(left));
        } else {
            // It may be ending by itself.
            self.drain(None, now);
        }
    }

    pub(super) fn drain(&mut self, why: Option<Why>, now: Time) {
        let Some(worker) = &mut self.worker else { return };
        if worker.is_ending() {
            return;
        }
        (worker.life, worker.why) = (Life::Draining { until: now + worker.receiving.drain }, why);
        self.commands.push_back(Command::Note(Note::Drains(why)));
        let keys: Vec<_> = self.batches.keys().copied().collect();
        keys.into_iter().for_each(|key| self.stop_what_has_other_deliveries(key));
        self.hand_back_gathered(true, now);
    }

    /// While a worker ends, a batch begins no more messages, unless one would have no delivery left.
    pub(super) fn stop_what_has_other_deliveries(&mut self, key: BatchKey) {
        if !self.worker.as_ref().is_some_and(Worker::is_ending) {
            return;
        }
        let Some(batch) = self.batches.get_mut(&key) else { return };
        if batch.phase == super::Phase::Open && batch.hand_back(&self.policy) {
            self.commands.push_back(Command::Stop(key));
        }
    }

    /// Too many threads are blocked, or no longer.
    pub(super) fn exhausted(&mut self, is_exhausted: bool, now: Time) {
        let Some(worker) = &mut self.worker else { return };
        worker.blocked_since = is_exhausted.then(|| worker.blocked_since.unwrap_or(now));
        if worker.blocked_since.is_some_and(|since| since + BLOCKED <= now) {
            self.drain(Some(Why::Blocked), now);
        }
    }

    /// Begins the next part of the end if it is due, and ends once everything is settled.
    pub(super) fn end(&mut self, now: Time) {
        let Some(worker) = &mut self.worker else { return };
        let (Life::Draining { until } | Life::Closing { until }) = worker.life else { return };
        let was_closed = matches!(worker.life, Life::Closing { .. });
        if worker.pollers.under_way() == 0 && self.batches.is_empty() && worker.gathered.messages.is_empty() {
            let exit = match (worker.why, worker.unconfirmed) {
                (Some(why), _) => Exit::Because(why),
                (None, 0) => Exit::Settled { canceled: was_closed },
                (None, messages) => Exit::Unsettled(messages),
            };
            self.exit(exit);
        } else if until <= now && was_closed {
            let exit = match (worker.why, worker.held.len() + worker.unconfirmed) {
                (Some(why), _) => Exit::Because(why),
                (None, 0) => Exit::Unanswered,
                (None, messages) => Exit::Unsettled(messages),
            };
            self.exit(exit);
        } else if until <= now {
            worker.life = Life::Closing { until: until + TO_SETTLE };
            self.commands.push_back(Command::Note(Note::Cancels));
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
        if let Some(worker) = &mut self.worker {
            worker.life = Life::Over;
        }
        self.commands.push_back(Command::Exit(exit));
    }

    /// Nothing more happens to a message.
    pub(super) fn message_ended(&mut self, key: MessageKey, was_asked: bool) {
        let lease = self.batches.get(&key.batch).and_then(|batch| batch.messages.get(key.at)?.lease);
        let Some((worker, lease)) = self.worker.as_mut().zip(lease) else { return };
        let was_held = worker.leases.forget(lease);
        if worker.is_ending() && !was_asked && was_held {
            // Its handler blocks a thread.
            worker.unconfirmed += 1;
        }
        if worker.release(lease) {
            self.commands.push_back(Command::Forget(lease));
        }
    }

    /// Nothing more happens to the messages of a batch.
    pub(super) fn batch_ended(&mut self, key: BatchKey, batch: &Batch<F>) {
        let Some(worker) = &mut self.worker else { return };
        if batch.is_silent {
            return;
        }
        let Some(first) = batch.messages.first() else { return };
        let name = super::intake::name(&first.facts, worker.is_fifo);
        let is_stuck =
            |message: &super::batch::Message<F>| matches!(message.settled.outcome, super::Outcome::Stuck);
        if worker.names.get(name) == Some(&key)
            && let Some((name, _)) = worker.names.remove_entry(name)
            && batch.messages.iter().any(is_stuck)
        {
            worker.stuck.push((key, name));
        }
    }

    pub(super) fn unblocked(&mut self, batch: BatchKey) {
        if let Some(worker) = &mut self.worker {
            worker.stuck.retain(|(stuck, _)| *stuck != batch);
        }
    }

    pub(super) fn worker_due_at(&self, worker: &Worker<F>) -> Option<Time> {
        let polls = worker.pollers.due_at().filter(|_| !worker.is_ending());
        let life = match worker.life {
            Life::Running => worker.blocked_since.map(|since| since + BLOCKED),
            Life::Draining { until } | Life::Closing { until } => Some(until),
            Life::Over => None,
        };
        let times = [
            polls,
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
    pub(super) fn take(&mut self, message: &Arrival<F>, received: Time, now: Time) {
        self.leases.take(message.lease, received, now);
        let held = Held { received, bytes: message.bytes, key: None, is_asked: false };
        self.held.insert(message.lease, held);
        self.bytes += message.bytes;
        self.in_hand += 1;
    }

    pub(super) fn received(&self, lease: LeaseKey) -> Time {
        self.held.get(&lease).map_or(Time::ZERO, |held| held.received)
    }

    pub(super) fn message_of(&self, lease: LeaseKey) -> Option<MessageKey> {
        self.held.get(&lease)?.key
    }

    /// SQS is asked to settle a message, whose handler has ended.
    pub(super) fn asked(&mut self, lease: LeaseKey) {
        if let Some(held) = self.held.get_mut(&lease) {
            self.in_hand -= usize::from(!std::mem::replace(&mut held.is_asked, true));
        }
    }

    pub(super) fn drop_gathered(&mut self, lease: LeaseKey) {
        self.gathered.messages.retain(|message| message.lease != lease);
        self.release(lease);
    }

    fn release(&mut self, lease: LeaseKey) -> bool {
        let Some(held) = self.held.remove(&lease) else { return false };
        self.in_hand -= usize::from(!held.is_asked);
        self.bytes -= held.bytes;
        true
    }

    /// How far it has come, and until when.
    #[cfg(test)]
    pub(super) const fn phase(&self) -> (u8, Option<Time>) {
        match self.life {
            Life::Running => (0, self.blocked_since),
            Life::Draining { until } => (1, Some(until)),
            Life::Closing { until } => (2, Some(until)),
            Life::Over => (3, None),
        }
    }

    /// Why it ends, how many messages were not settled since, and whether it was told to.
    #[cfg(test)]
    pub(super) const fn end_so_far(&self) -> (Option<Why>, usize, bool) {
        (self.why, self.unconfirmed, self.is_told)
    }

    #[cfg(test)]
    pub(super) fn is_asked(&self, lease: LeaseKey) -> bool {
        self.held.get(&lease).is_some_and(|held| held.is_asked)
    }

    /// Those that are to be tried again by now.
    pub(super) fn tried_again(&mut self, now: Time) -> Vec<MessageKey> {
        let mut due = Vec::new();
        while let Some(&(at, key)) = self.again.first().filter(|(at, _)| *at <= now) {
            self.again.remove(&(at, key));
            due.push(key);
        }
        due
    }

    /// A message whose letter was not confirmed is delayed instead.
    pub(super) fn answered(&mut self, kind: Kind, confirmed: bool) {
        self.unconfirmed += usize::from(self.is_ending() && !confirmed && kind != Kind::Letters);
    }

    pub(super) const fn is_ending(&self) -> bool {
        !matches!(self.life, Life::Running)
    }

    /// Whether one more message may be begun that has no delivery left.
    pub(super) const fn lets_the_last_attempt_begin(&self) -> bool {
        matches!(self.life, Life::Running | Life::Draining { .. })
    }

    /// When the last call must have been answered.
    pub(super) fn settle_until(&self) -> Option<Time> {
        match self.life {
            Life::Running | Life::Over => None,
            Life::Draining { until } => Some(until + TO_SETTLE),
            Life::Closing { until } => Some(until),
        }
    }
}
