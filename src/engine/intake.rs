//! A worker's messages from receives to batches.

use std::collections::HashMap;
use std::time::Duration;

use redrive_sqs::{LONGEST_POLL, MAX_BYTES};

use super::batch::{Batch, Deletes};
use super::guards::{Guard, holds};
use super::keys::{BatchKey, LeaseKey, MessageKey};
use super::worker::Worker;
use super::{Command, Engine, Facts, Note, Time};
use redrive_sqs::lease::LONGEST;

const SHORTEST_WAIT: Duration = Duration::from_secs(1);
/// How long a chunk of a bulk handler waits for more messages.
const FILLING: Duration = Duration::from_millis(500);
/// How many bytes the messages in hand of a bulk handler have together, unless `chunk_bytes` asks for more: there are as many
/// as concurrency times chunk size.
const BYTES: usize = 64 * 1024 * 1024;
/// How long a handler may run, so that there is time to settle.
const IN_HAND: Duration = LONGEST.saturating_sub(Duration::from_secs(5));

/// How a worker receives messages, and for how many handlers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Receiving {
    pub(crate) is_fifo: bool,
    /// What each receive asks for.
    pub(crate) visibility: Duration,
    /// How many handlers run at a time.
    pub(crate) concurrency: usize,
    /// How many messages one call of a bulk handler takes, and how many bytes of bodies.
    pub(crate) chunk: Option<(usize, usize)>,
    /// How long handlers may run after the first signal.
    pub(crate) drain: Duration,
}

/// A receive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Poll {
    /// How many messages it asks for.
    pub(crate) messages: usize,
    /// How long SQS waits for them.
    pub(crate) wait: Duration,
    pub(crate) sent: Time,
}

/// A message that a receive has brought.
#[derive(Debug, Clone)]
pub(crate) struct Arrival<F> {
    pub(crate) lease: LeaseKey,
    pub(crate) facts: F,
    /// Of its body.
    pub(crate) body: usize,
    /// Of its body and its attributes.
    pub(crate) bytes: usize,
}

/// Messages in hand for the next calls of a bulk handler.
#[derive(Debug, Clone)]
pub(super) struct Gathered<F> {
    pub(super) messages: Vec<Arrival<F>>,
    /// When they wait for no more.
    pub(super) due: Option<Time>,
}

impl<F> Gathered<F> {
    /// How many messages one call takes, at least one, and whether there are enough for it.
    fn call(&self, messages: usize, bytes: usize) -> (usize, bool) {
        let mut sum = 0_usize;
        let fits = |arrival: &&Arrival<F>| {
            sum = sum.saturating_add(arrival.body);
            sum <= bytes
        };
        let count = self.messages.iter().take(messages).take_while(fits).count().max(1);
        (count, count == messages || count < self.messages.len())
    }
}

impl<F: Facts> Engine<'_, F> {
    /// Receives, as long as there are free places, and starts a chunk that has waited for long.
    pub(super) fn poll(&mut self, now: Time) {
        self.start_gathered(now);
        let Some(worker) = &self.worker else { return };
        if worker.is_ending() {
            return;
        }
        let free = self.free();
        let Some(worker) = &mut self.worker else { return };
        let wait = LONGEST_POLL.min(worker.receiving.drain.saturating_sub(SHORTEST_WAIT));
        // The lease of what comes at the end of a poll must last long enough to be extended.
        let wait = wait.min(worker.receiving.visibility * 2 / 3).max(SHORTEST_WAIT);
        while let Some(messages) = worker.pollers.next(free, now) {
            self.commands.push_back(Command::Receive(Poll { messages, wait, sent: now }));
        }
    }

    /// How many messages a worker may receive now.
    pub(crate) fn free(&self) -> usize {
        let Some(worker) = &self.worker else { return 0 };
        let most = worker.capacity();
        // One round trip of settling at most is behind the work.
        let free = most
            .saturating_sub(worker.in_hand)
            .min((2 * most).saturating_sub(worker.held.len() + worker.telling.0));
        if self.has_a_free_call() { free.min(worker.room()) } else { 0 }
    }

    pub(super) fn received(&mut self, poll: Poll, messages: Vec<Arrival<F>>, now: Time) {
        let Some(worker) = &mut self.worker else { return };
        let errors = worker.pollers.errors();
        if errors > 0 {
            self.commands.push_back(Command::Note(Note::ReceivesSucceed(errors)));
        }
        worker.pollers.brought(poll.messages, messages.len());
        if poll.sent + worker.receiving.visibility <= now && holds(Guard::LateReceiveIsDropped) {
            // The answer came so late that others may have them.
            for Arrival { lease, .. } in messages {
                self.commands.push_back(Command::Note(Note::LeaseLost));
                self.commands.push_back(Command::Forget(lease));
            }
            return;
        }
        if worker.receiving.chunk.is_some() && !worker.is_ending() {
            let is_full = messages.len() >= poll.messages;
            for message in messages {
                worker.take(&message, poll.sent, now);
                worker.gathered.messages.push(message);
            }
            let due = if is_full { now + FILLING } else { now };
            worker.gathered.due = Some(worker.gathered.due.map_or(due, |other| other.min(due)));
            return;
        }
        let groups = if worker.is_fifo {
            by_group(messages)
        } else {
            messages.into_iter().map(|it| vec![it]).collect()
        };
        let sent = if holds(Guard::LeaseFromTheStart) { poll.sent } else { now };
        for messages in groups {
            self.received_group(messages, sent, now);
        }
    }

    /// Messages of one group, or one message.
    fn received_group(&mut self, messages: Vec<Arrival<F>>, sent: Time, now: Time) {
        let Some(worker) = &self.worker else { return };
        let begins = !worker.is_ending()
            || !holds(Guard::NoneAfterTheStop)
            || worker.lets_the_last_attempt_begin() && messages.iter().any(|it| self.is_last_attempt(it));
        if !begins {
            for message in messages {
                self.hand_back(message, sent, now);
            }
        } else if holds(Guard::SecondReceiveIsIgnored)
            && messages.first().is_some_and(|first| self.is_in_hand(&first.facts))
        {
            // Its new lease is not extended, so that another worker may receive it.
            let mut first = None;
            for Arrival { lease, facts, .. } in messages {
                self.commands.push_back(Command::Forget(lease));
                first.get_or_insert(facts);
            }
            self.commands.extend(first.map(|facts| Command::Note(Note::ReceivedAgain(facts))));
        } else {
            let Some(worker) = &mut self.worker else { return };
            messages.iter().for_each(|message| worker.take(message, sent, now));
            self.start(messages, now);
        }
    }

    pub(super) fn not_received(&mut self, poll: Poll, random: f64, now: Time) {
        let Some(worker) = &mut self.worker else { return };
        if worker.pollers.failed(poll.messages, now, random) == 1 {
            self.commands.push_back(Command::Note(Note::ReceivesFail));
        }
    }

    /// Calls a bulk handler, as long as there are messages for a call and a call is free.
    fn start_gathered(&mut self, now: Time) {
        while self.has_a_free_call() {
            let Some(worker) = &mut self.worker else { return };
            let Some((messages, bytes)) = worker.limits_of_a_call() else { return };
            if worker.gathered.messages.is_empty() {
                break;
            }
            let (count, is_full) = worker.gathered.call(messages, bytes);
            if !is_full && worker.gathered.due.is_none_or(|due| due > now) {
                break;
            }
            // What is left of a group must not run beside its first messages.
            let count = if worker.is_fifo { worker.gathered.messages.len() } else { count };
            let messages = worker.gathered.messages.drain(..count).collect();
            self.start(messages, now);
        }
        if let Some(worker) = &mut self.worker
            && worker.gathered.messages.is_empty()
        {
            worker.gathered.due = None;
        }
    }

    /// Whether a bulk handler may be called once more; the messages of others are counted by themselves.
    pub(super) fn has_a_free_call(&self) -> bool {
        let Some(worker) = &self.worker else { return false };
        let running = || self.batches.values().filter(|batch| batch.unasked() > 0).count();
        worker.receiving.chunk.is_none() || running() < worker.receiving.concurrency
    }

    /// The worker was told to end: only those are begun that have no other delivery.
    pub(super) fn hand_back_gathered(&mut self, begins_the_last: bool, now: Time) {
        let Some(worker) = &mut self.worker else { return };
        for message in std::mem::take(&mut worker.gathered.messages) {
            if begins_the_last && self.is_last_attempt(&message) {
                let Some(worker) = &mut self.worker else { return };
                worker.gathered.messages.push(message);
                worker.gathered.due = Some(now);
            } else {
                self.returned(message, now);
            }
        }
    }

    /// Whether SQS would dead-letter the message at its next receive.
    fn is_last_attempt(&self, message: &Arrival<F>) -> bool {
        self.policy.deliveries().end_with(message.facts.attempt(), None)
    }

    /// Makes a message visible at once that nobody has begun.
    fn hand_back(&mut self, message: Arrival<F>, sent: Time, now: Time) {
        if let Some(worker) = &mut self.worker {
            worker.take(&message, sent, now);
            self.returned(message, now);
        }
    }

    fn returned(&mut self, message: Arrival<F>, now: Time) {
        let key = self.next_key();
        let batch = Batch::returned(message.facts, message.lease, now);
        self.place(key, &batch);
        self.insert(key, batch, now);
    }

    pub(super) const fn next_key(&mut self) -> BatchKey {
        let key = BatchKey(self.next_batch);
        self.next_batch = self.next_batch + 1;
        key
    }

    /// Notes which message each lease is of.
    pub(super) fn place(&mut self, batch: BatchKey, messages: &Batch<F>) {
        let Some(worker) = &mut self.worker else { return };
        for (at, message) in messages.messages.iter().enumerate() {
            if let Some(held) = message.lease.and_then(|lease| worker.held.get_mut(&lease)) {
                held.key = Some(MessageKey { batch, at });
            }
        }
    }

    fn start(&mut self, messages: Vec<Arrival<F>>, now: Time) {
        let Some(worker) = &mut self.worker else { return };
        let (is_fifo, is_bulk) = (worker.is_fifo, worker.receiving.chunk.is_some());
        let received = messages.iter().map(|message| worker.received(message.lease)).min();
        let until = received.map_or(now, |received| received + IN_HAND);
        let key = self.next_key();
        let Some(worker) = &mut self.worker else { return };
        if !is_bulk && let Some(first) = messages.first() {
            worker.names.insert(name(&first.facts, is_fifo).into(), key);
        }
        let messages = messages.into_iter().map(|message| (message.facts, Some(message.lease)));
        let deletes = Deletes::ByWorker { one_by_one: is_fifo && !is_bulk };
        self.begin(key, messages, is_fifo, (now, until), deletes);
    }

    /// Whether the handler of this message, or of its group, still runs, as after a lost lease.
    fn is_in_hand(&self, facts: &F) -> bool {
        let Some(worker) = &self.worker else { return false };
        let name = name(facts, worker.is_fifo);
        let batch = worker.names.get(name).and_then(|key| self.batches.get(key));
        batch.is_some_and(|batch| batch.unasked() > 0)
            || worker.stuck.iter().any(|(_, stuck)| **stuck == *name)
    }

    /// How many messages a worker has received whose handlers have not ended, and how many of these have not begun: those
    /// behind others of their group, or in a chunk that is not full.
    pub(crate) fn in_hand(&self) -> (usize, usize) {
        let Some(worker) = &self.worker else { return (0, 0) };
        let running = || self.batches.values().filter(|batch| batch.unasked() > 0).count();
        let behind = if worker.is_fifo { worker.in_hand.saturating_sub(running()) } else { 0 };
        (worker.in_hand, worker.gathered.messages.len().max(behind))
    }
}

impl<F> Worker<F> {
    /// How many messages are in hand at most.
    pub(super) const fn capacity(&self) -> usize {
        let chunk = match self.receiving.chunk {
            Some((messages, _)) => messages,
            None => 1,
        };
        self.receiving.concurrency.saturating_mul(chunk)
    }

    fn limits_of_a_call(&self) -> Option<(usize, usize)> {
        let (messages, bytes) = self.receiving.chunk?;
        // Large messages are shared out among the calls.
        let share = (BYTES / self.receiving.concurrency.max(1)).max(MAX_BYTES);
        Some((messages, if bytes == usize::MAX { share } else { bytes }))
    }

    /// How many messages may be in hand or asked for besides those in hand, of which each may have as many bytes as SQS allows.
    fn room(&self) -> usize {
        let Some((_, bytes)) = self.limits_of_a_call() else { return usize::MAX };
        let most = bytes.saturating_mul(self.receiving.concurrency).max(BYTES);
        most.saturating_sub(self.bytes + self.telling.1) / MAX_BYTES
    }
}

impl<F> Batch<F> {
    /// How many messages SQS was asked nothing for yet.
    pub(super) fn unasked(&self) -> usize {
        self.left - self.asking
    }
}

/// What may be in one batch at a time: a group, or a message.
pub(super) fn name<F: Facts>(facts: &F, is_fifo: bool) -> &str {
    if is_fifo { facts.group().unwrap_or_default() } else { facts.id() }
}

/// The messages of each FIFO group together, in their order.
fn by_group<F: Facts>(messages: Vec<Arrival<F>>) -> Vec<Vec<Arrival<F>>> {
    let mut places = HashMap::new();
    let mut groups: Vec<Vec<_>> = Vec::new();
    for message in messages {
        let group = message.facts.group().map(str::to_owned);
        let place = *places.entry(group).or_insert(groups.len());
        if place == groups.len() {
            groups.push(Vec::new());
        }
        groups[place].push(message);
    }
    groups
}
