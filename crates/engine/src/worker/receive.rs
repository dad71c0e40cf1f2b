//! Turns the messages that a worker receives into batches.

use std::time::Duration;

use redrive_sqs::{LONGEST_POLL, MAX_BYTES};

use super::{Life, Worker, WorkerEngine};
use crate::batch::{Batch, Deletes, Worked};
use crate::breaker::UNNAMED;
use crate::error_summary::Disposition;
use crate::guards::{Guard, guard, holds};
use crate::keys::{BatchKey, LeaseKey, MessageKey};
use crate::pacing::places::PlacesInUse;
use crate::pacing::rate::Rate;
use crate::pacing::receive_budget::ReceiveBudget;
use crate::pacing::tokens::Lease;
use crate::plan::{by_number, group_numbers};
use crate::{Command, Event, MessageMeta, Note, Outcome, Time};
use redrive_sqs::lease::LONGEST;

const SHORTEST_WAIT: Duration = Duration::from_secs(1);
/// The time for which a chunk of a bulk handler waits for more messages.
const FILLING: Duration = Duration::from_millis(500);
/// Bytes that the messages in hand of a bulk handler have together, unless `chunk_bytes` asks for more. There are as many
/// messages as concurrency times chunk size.
const BYTES: usize = 64 * 1024 * 1024;
/// The shortest time for which messages are hidden that are received while a handler of their group blocks its thread.
const BLOCKED: Duration = Duration::from_secs(15 * 60);
/// The time that a handler may run, so that there is time to settle.
const IN_HAND: Duration = LONGEST.saturating_sub(Duration::from_secs(5));

/// The settings by which a worker receives messages and runs handlers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Receiving {
    pub is_fifo: bool,
    /// The visibility timeout that each receive asks for.
    pub visibility: Duration,
    /// Handlers that run at a time.
    pub concurrency: usize,
    /// The mean duration of handlers above which fewer run, because the service behind them is slow.
    pub slow: Option<Duration>,
    /// Messages, and bytes of bodies, that one call of a bulk handler takes.
    pub chunk: Option<(usize, usize)>,
    /// The time that handlers may run after the first signal.
    pub drain: Duration,
    /// The rate at which it receives messages.
    pub rate: Option<Rate>,
    /// True if workers share the rate.
    pub is_rate_shared: bool,
    /// The rate of each key.
    pub rate_of_key: Option<Rate>,
}

/// A receive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Poll {
    /// Messages that it asks for.
    pub messages: usize,
    /// The time that SQS waits for them.
    pub wait: Duration,
    pub sent: Time,
}

impl Poll {
    /// Returns when the handlers of its messages are canceled.
    pub fn until(&self) -> Time {
        self.sent + IN_HAND
    }
}

/// A message that a receive has returned.
#[derive(Debug, Clone)]
pub struct Arrival<F> {
    pub lease: LeaseKey,
    pub facts: F,
    /// Body size in bytes.
    pub body: usize,
    /// Size of the body and the attributes, in bytes.
    pub bytes: usize,
}

/// Messages in hand for the next calls of a bulk handler.
#[derive(Debug, Clone)]
pub(crate) struct PendingChunk<F> {
    pub(crate) messages: Vec<Arrival<F>>,
    /// The time at which they stop waiting for more.
    pub(crate) due: Option<Time>,
}

impl<F: MessageMeta> PendingChunk<F> {
    /// Removes a message whose lease is lost, and those behind it in its FIFO group, which must not overtake it.
    pub(crate) fn remove(&mut self, lease: LeaseKey, is_fifo: bool) -> Vec<Arrival<F>> {
        let Some(at) = self.messages.iter().position(|message| message.lease == lease) else {
            return Vec::new();
        };
        if !is_fifo {
            return vec![self.messages.remove(at)];
        }
        let group = self.messages[at].facts.group().map(str::to_owned);
        self.messages.extract_if(at.., |message| message.facts.group() == group.as_deref()).collect()
    }

    /// Returns true if this message, or another of its group, waits for a call.
    fn contains(&self, facts: &F, is_fifo: bool) -> bool {
        self.messages.iter().any(|message| name(&message.facts, is_fifo) == name(facts, is_fifo))
    }
}

impl<F> PendingChunk<F> {
    /// Returns the number of messages that one call takes, at least one, and true if there are enough for it.
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

impl Receiving {
    /// Returns the number of messages that may be in hand.
    pub(crate) fn capacity(&self) -> usize {
        self.concurrency.saturating_mul(self.messages_of_a_call())
    }

    fn messages_of_a_call(&self) -> usize {
        self.chunk.map_or(1, |(messages, _)| messages)
    }
}

impl<F: MessageMeta> WorkerEngine<'_, F> {
    /// Receives while there are free places, and starts a chunk that has waited long enough.
    pub(crate) fn poll(&mut self, now: Time) {
        self.start_gathered(now);
        if self.machine.is_ending() {
            return;
        }
        let Receiving { visibility, drain, .. } = self.machine.receiving;
        let wait = LONGEST_POLL.min(drain.saturating_sub(SHORTEST_WAIT));
        // The lease of a message that arrives at the end of a poll must last long enough to be extended.
        let wait = wait.min(visibility * 2 / 3).max(SHORTEST_WAIT);
        self.lease_tokens(now);
        while let Some(messages) = self.machine.pollers.next(self.free(), now) {
            // Leased tokens and shared places do not wait for messages for long, except one that nothing else waits for.
            let is_shared = self.machine.receiving.is_rate_shared || self.machine.places.is_some();
            let may_park = self.machine.keyed_limiter.is_some() && self.machine.pollers.wanted > 1;
            let is_short = self.machine.pollers.asked > 1 || self.machine.parked.messages > 0 || may_park;
            let wait = if is_shared && is_short { SHORTEST_WAIT } else { wait };
            self.commands.push_back(Command::Receive(Poll { messages, wait, sent: now }));
        }
    }

    /// Lets only this many handlers run at a time, if that differs.
    pub fn limit_places(&mut self, places: usize, now: Time) {
        if self.machine.places != Some(places) {
            self.on(Event::Places(places), now);
        }
    }

    /// Returns the number of messages that a worker may receive now.
    pub fn free(&self) -> usize {
        let (places, asked) = (self.places(), self.machine.pollers.asked);
        self.machine.budget.as_ref().map_or(places, |budget| places.min(budget.ask(asked, self.context.now)))
    }

    /// Returns the same number, regardless of the rate.
    fn places(&self) -> usize {
        if !self.has_a_free_call() {
            return 0;
        }
        let worker = &self.machine;
        let most = worker.capacity();
        let tries = match (self.is_down(), self.paused_until()) {
            (true, Some(_)) => return 0,
            (true, None) => usize::from(worker.pending_chunk.messages.is_empty()),
            (false, _) => usize::MAX,
        };
        let waiting = worker.parked.messages;
        // At most one round trip of settling is behind the work.
        let behind =
            (most + worker.pollers.capacity).saturating_sub(worker.held.len() - waiting + worker.reporting.0);
        most.saturating_sub(worker.in_hand - waiting).min(behind).min(worker.room()).min(tries)
    }

    /// Returns when the rate allows another receive, if it does not now.
    pub(crate) fn rate_due_at(&self) -> Option<Time> {
        self.machine.budget.as_ref()?.due_at(self.machine.pollers.asked, self.context.now)
    }

    /// Asks the shared bucket for tokens, if another receive needs them.
    fn lease_tokens(&mut self, now: Time) {
        let (places, asked) = (self.places(), self.machine.pollers.asked);
        if self.machine.pollers.may_poll(now)
            && let Some(leased) = self.machine.budget.as_mut().and_then(ReceiveBudget::leased)
            && let Some(tokens) = leased.next(places, asked, now)
        {
            self.commands.push_back(Command::Lease(tokens));
        }
    }

    /// Returns when to lease more tokens, if nothing else happens.
    pub(crate) fn tokens_due_at(&self) -> Option<Time> {
        let Some(ReceiveBudget::Shared(leased)) = &self.machine.budget else { return None };
        let (pollers, now) = (&self.machine.pollers, self.context.now);
        if pollers.under_way >= pollers.wanted || self.places() <= pollers.asked {
            return None;
        }
        let at = leased.next_at(pollers.asked, now)?.max(pollers.paused_until);
        Some(at).filter(|at| *at > now)
    }

    pub(crate) fn leased(&mut self, answer: Result<Lease, String>, now: Time) {
        let (asked, random) = (self.machine.pollers.asked, self.context.rng.f64());
        let Some(leased) = self.machine.budget.as_mut().and_then(ReceiveBudget::leased) else { return };
        let note = match answer {
            Ok(lease) => {
                let has_failed = leased.is_failing;
                leased.granted(lease, asked, now, random);
                has_failed.then_some(Note::TokensSucceed)
            }
            Err(error) => leased.failed(now, random).then_some(Note::TokensFail(error)),
        };
        self.commands.extend(note.map(Command::Note));
    }

    pub(crate) fn received(&mut self, poll: Poll, messages: Vec<Arrival<F>>, now: Time) {
        let errors = self.machine.pollers.errors;
        if errors > 0 {
            self.note(Note::ReceivesSucceed(errors));
        }
        let worker = &mut self.machine;
        worker.pollers.brought(poll.messages, messages.len());
        worker.budget.iter_mut().for_each(|budget| budget.take(messages.len(), now));
        if guard!(LateReceiveIsDropped, poll.sent + worker.receiving.visibility <= now) {
            // The answer is so late that others may have them.
            for Arrival { lease, .. } in messages {
                self.commands.extend([Command::Note(Note::LeaseLost), Command::Forget(lease)]);
            }
            return;
        }
        let is_full = messages.len() >= poll.messages;
        let messages = self.without_finished(messages, poll.sent, now);
        let messages = self.in_turn(messages, poll.sent, now);
        let Receiving { is_fifo, chunk, .. } = self.machine.receiving;
        let due = if is_full { now + FILLING } else { now };
        let sent = if holds(Guard::LeaseFromTheStart) { poll.sent } else { now };
        for messages in one_at_a_time(messages, is_fifo) {
            if chunk.is_none() || self.machine.is_ending() {
                self.received_group(messages, sent, now);
            } else if !self.ignores(&messages) {
                let messages = self.until_finished(messages);
                messages.iter().for_each(|message| self.machine.take(message, poll.sent, now));
                let gathered = &mut self.machine.pending_chunk;
                gathered.messages.extend(messages);
                gathered.due = Some(gathered.due.map_or(due, |other| other.min(due)));
            }
        }
    }

    /// Deletes messages of a standard queue that are over, and returns the others. Those of a FIFO group wait for each other.
    fn without_finished(&mut self, messages: Vec<Arrival<F>>, sent: Time, now: Time) -> Vec<Arrival<F>> {
        if self.machine.finished.is_empty() || self.machine.receiving.is_fifo {
            return messages;
        }
        let is_known = |it: &Arrival<F>| self.machine.finished.contains(it.facts.id());
        let (known, others): (Vec<_>, Vec<_>) = messages.into_iter().partition(is_known);
        for message in known {
            self.machine.take(&message, sent, now);
            self.delete_finished(message, now);
        }
        others
    }

    /// Returns the messages of a group for a bulk handler, up to one that is over behind others: the handler would get it
    /// again. The rest returns after its visibility timeout.
    fn until_finished(&mut self, mut messages: Vec<Arrival<F>>) -> Vec<Arrival<F>> {
        let is_known = |it: &Arrival<F>| self.machine.finished.contains(it.facts.id());
        let unknown = messages.iter().position(|it| !is_known(it)).unwrap_or(messages.len());
        if let Some(known) = messages[unknown..].iter().position(is_known) {
            let behind = messages.split_off(unknown + known);
            self.commands.extend(behind.iter().map(|message| Command::Forget(message.lease)));
        }
        messages
    }

    fn delete_finished(&mut self, message: Arrival<F>, now: Time) {
        let key = self.insert(Batch::finished(message.facts, message.lease, now));
        self.follow(key, now);
    }

    /// Ignores messages of one group, or one message, if it is in hand. Their new leases are not kept, so that another worker
    /// may receive them. While a handler blocks its thread they are hidden for a while: each receive costs all of them a delivery.
    fn ignores(&mut self, messages: &[Arrival<F>]) -> bool {
        let is_fifo = self.machine.receiving.is_fifo;
        let is_in_hand = |it: &&Arrival<F>| guard!(SecondReceiveIsIgnored, self.is_in_hand(&it.facts));
        let Some(first) = messages.first().filter(is_in_hand) else { return false };
        let again = Note::ReceivedAgain(name(&first.facts, is_fifo).to_owned());
        let is_blocked = |key: &MessageKey| !self.batches.contains_key(&key.batch);
        if self.machine.in_flight_by_id.get(name(&first.facts, is_fifo)).is_some_and(is_blocked) {
            let time = BLOCKED.max(self.machine.receiving.visibility).as_secs();
            let hidden = messages.iter().map(|message| (message.lease, time));
            self.commands.push_back(Command::Extend(hidden.collect()));
        }
        self.commands.extend(messages.iter().map(|message| Command::Forget(message.lease)));
        self.note(again);
        true
    }

    /// Starts messages that waited for their turn.
    pub(crate) fn start_in_turn(&mut self, messages: Vec<Arrival<F>>, now: Time) {
        if messages.first().is_some_and(|first| self.is_in_hand(&first.facts)) {
            for Arrival { lease, .. } in messages {
                self.machine.leases.forget(lease);
                self.release(lease);
            }
        } else if self.machine.receiving.chunk.is_some() {
            self.machine.pending_chunk.messages.extend(messages);
            self.machine.pending_chunk.due.get_or_insert(now + FILLING);
        } else {
            self.start(messages, now);
        }
    }

    /// Starts the messages of one group, or one message, or returns them to the queue if the worker ends.
    fn received_group(&mut self, messages: Vec<Arrival<F>>, sent: Time, now: Time) {
        let begins = match self.machine.life {
            Life::Running => true,
            Life::Draining { .. } if messages.iter().any(|it| self.is_last_attempt(it)) => true,
            Life::Draining { .. } | Life::Closing { .. } | Life::Over => !holds(Guard::NoneAfterTheStop),
        };
        if begins && self.ignores(&messages) {
            return;
        }
        messages.iter().for_each(|message| self.machine.take(message, sent, now));
        if begins {
            self.start(messages, now);
        } else {
            for message in messages {
                if self.machine.finished.contains(message.facts.id()) {
                    self.delete_finished(message, now);
                } else {
                    self.hand_back(message, Time::ZERO, now);
                }
            }
        }
    }

    /// Calls a bulk handler, as long as there are messages for a call and a call is free.
    fn start_gathered(&mut self, now: Time) {
        let Some((messages, bytes)) = self.machine.limits_of_a_call() else { return };
        while self.has_a_free_call() && !self.machine.pending_chunk.messages.is_empty() {
            let gathered = &mut self.machine.pending_chunk;
            let (count, is_full) = gathered.call(messages, bytes);
            if !is_full && gathered.due.is_none_or(|due| due > now) {
                break;
            }
            // The rest of a group must not run beside its first messages.
            let count = if self.machine.receiving.is_fifo { gathered.messages.len() } else { count };
            let messages = gathered.messages.drain(..count).collect();
            self.start(messages, now);
        }
        if self.machine.pending_chunk.messages.is_empty() {
            self.machine.pending_chunk.due = None;
        }
    }

    /// Returns true if a bulk handler may be called once more. For other handlers, messages are counted instead.
    pub(crate) fn has_a_free_call(&self) -> bool {
        self.machine.receiving.chunk.is_none() || self.running() < self.machine.concurrency()
    }

    /// Adapts the number of handlers that may run, if it adapts, to the handlers that have ended.
    pub(crate) fn adapt(&mut self, batch: BatchKey, worked: &[Worked], now: Time) {
        if self.machine.limit.is_none() {
            return;
        }
        let is_bulk = self.machine.receiving.chunk.is_some();
        let in_hand = self.machine.in_hand - self.machine.parked.messages;
        let running = if is_bulk { self.running() } else { in_hand };
        let needs_all = !self.context.policy.names_dependencies;
        let is_down = self.context.shared.breakers.is_down(UNNAMED, self.context.wall());
        let (Some(limit), Some(batch)) = (&mut self.machine.limit, self.batches.get(&batch)) else { return };
        for Worked { key, outcome, ran } in worked {
            let Some(ran) = ran.filter(|ran| !ran.is_shared) else { continue };
            let is_overload = match outcome {
                Outcome::Done | Outcome::Unrecorded => false,
                // A handler that was canceled for another reason proves nothing about the service.
                Outcome::TimedOut if batch.is_interrupted || batch.messages[key.at].settled.is_lost => {
                    continue;
                }
                Outcome::TimedOut => true,
                Outcome::Failed(summary) => match summary.disposition {
                    Disposition::Discard | Disposition::Reject => false,
                    Disposition::Outage if is_down => {
                        limit.restart(now);
                        continue;
                    }
                    Disposition::Outage if summary.dependency.is_none() && needs_all => true,
                    _ => continue,
                },
                _ => continue,
            };
            let began = batch.began + ran.ended.saturating_sub(ran.took);
            limit.ended(began, ran.took, is_overload, running, now);
        }
        self.machine.receiving.concurrency = limit.now;
    }

    /// Returns the number of batches with handlers that have not ended.
    fn running(&self) -> usize {
        self.batches.values().filter(|batch| batch.unasked() > 0).count()
    }

    /// Returns messages that wait for a chunk to the queue when the worker ends. With `begins_the_last`, last deliveries begin.
    pub(crate) fn hand_back_gathered(&mut self, begins_the_last: bool, now: Time) {
        for message in std::mem::take(&mut self.machine.pending_chunk.messages) {
            if begins_the_last && self.is_last_attempt(&message) {
                self.machine.pending_chunk.messages.push(message);
                self.machine.pending_chunk.due = Some(now);
            } else {
                self.hand_back(message, Time::ZERO, now);
            }
        }
    }

    /// Returns true if the message would not be delivered again after this attempt fails.
    pub(crate) fn is_last_attempt(&self, message: &Arrival<F>) -> bool {
        self.context.policy.deliveries().end_with(message.facts.attempt(), None)
    }

    /// Makes a message that no handler has begun visible after this time.
    pub(crate) fn hand_back(&mut self, message: Arrival<F>, after: Time, now: Time) {
        let key = self.insert(Batch::returned(message.facts, message.lease, after, now));
        self.follow(key, now);
    }

    fn start(&mut self, messages: Vec<Arrival<F>>, now: Time) {
        let Receiving { is_fifo, chunk, .. } = self.machine.receiving;
        let held = messages.iter().filter_map(|message| self.machine.held.get(&message.lease));
        let until = held.map(|held| held.received + IN_HAND).min().unwrap_or(now);
        let leases = messages.iter().map(|message| message.lease).collect();
        let messages = messages.into_iter().map(|message| (message.facts, Some(message.lease)));
        let deletes = if is_fifo && chunk.is_none() { Deletes::InTurn } else { Deletes::ByWorker };
        let (batch, order) = Batch::new(messages, is_fifo, (now, until), deletes);
        let batch_key = self.next_key();
        let names = batch.messages.iter().map(|message| name(&message.facts, is_fifo));
        let names = names.enumerate().map(|(at, name)| (name.into(), MessageKey { batch: batch_key, at }));
        self.machine.in_flight_by_id.extend(names);
        self.begin(batch, order, leases);
    }

    /// Returns true if this message, or another of its group, is in hand and not on its way back to the queue. That includes
    /// messages whose lease was lost.
    pub(crate) fn is_in_hand(&self, facts: &F) -> bool {
        let is_fifo = self.machine.receiving.is_fifo;
        let Some(key) = self.machine.in_flight_by_id.get(name(facts, is_fifo)) else {
            return self.machine.pending_chunk.contains(facts, is_fifo);
        };
        // If its batch has ended, a handler of it blocks its thread.
        self.batches.get(&key.batch).is_none_or(|batch| batch.holds(key.at, facts.id()))
            || self.machine.pending_chunk.contains(facts, is_fifo)
    }

    /// Returns the places that messages have, each one or each chunk, and those that receives under way ask for. Messages behind
    /// others of their FIFO group have places too.
    pub fn used_places(&self) -> PlacesInUse {
        let Worker { pollers, receiving, parked, .. } = &self.machine;
        let each = receiving.messages_of_a_call();
        let in_hand = (self.machine.in_hand - parked.messages).div_ceil(each);
        let (in_hand, asked) = match each {
            1 => (in_hand, pollers.asked),
            _ => {
                let in_hand = in_hand.max(self.running());
                let free = self.machine.concurrency().saturating_sub(in_hand);
                (in_hand, pollers.asked.div_ceil(each).min(free))
            }
        };
        PlacesInUse { in_hand, asked, has_backlog: pollers.was_full }
    }

    /// Returns the number of messages that a worker has received and whose handlers have not ended, and how many of these
    /// have not begun: those that wait for their turn, behind others of their group, or in a chunk that is not full.
    pub fn in_hand(&self) -> (usize, usize) {
        let worker = &self.machine;
        let is_fifo = worker.receiving.is_fifo;
        let behind = if is_fifo { worker.in_hand.saturating_sub(self.running()) } else { 0 };
        (worker.in_hand, (worker.pending_chunk.messages.len() + worker.parked.messages).max(behind))
    }
}

impl<F> Worker<F> {
    /// Returns the number of handlers that may run at a time.
    fn concurrency(&self) -> usize {
        self.places.unwrap_or(usize::MAX).min(self.receiving.concurrency)
    }

    /// Returns the number of messages that may be in hand.
    pub(crate) fn capacity(&self) -> usize {
        Receiving { concurrency: self.concurrency(), ..self.receiving }.capacity()
    }

    /// Returns how many messages may be in hand or asked for besides those in hand, if each has the most bytes that SQS allows.
    fn room(&self) -> usize {
        self.most_bytes().saturating_sub(self.bytes + self.reporting.1) / MAX_BYTES
    }

    /// Returns the messages and bytes that one call of a bulk handler takes.
    fn limits_of_a_call(&self) -> Option<(usize, usize)> {
        let (messages, bytes) = self.receiving.chunk?;
        // Large messages are shared out among the calls.
        let share = (BYTES / self.most_at_once().max(1)).max(MAX_BYTES);
        Some((messages, if bytes == usize::MAX { share } else { bytes }))
    }

    /// Returns the largest number of handlers that run at a time, even while fewer may.
    fn most_at_once(&self) -> usize {
        self.limit.as_ref().map_or(self.receiving.concurrency, |limit| limit.most)
    }

    /// Returns the bytes that messages in hand may have together. A bulk handler may have many messages.
    pub(crate) fn most_bytes(&self) -> usize {
        let most = |(_, bytes): (usize, usize)| bytes.saturating_mul(self.most_at_once()).max(BYTES);
        self.limits_of_a_call().map_or(usize::MAX, most)
    }
}

/// Returns the name of a group, or of a message: only one batch at a time may have it.
pub(crate) fn name<F: MessageMeta>(facts: &F, is_fifo: bool) -> &str {
    if is_fifo { facts.group().unwrap_or_default() } else { facts.id() }
}

/// Splits messages into the content of batches: the messages of a FIFO group in their order, or one message.
pub(crate) fn one_at_a_time<F: MessageMeta>(
    messages: Vec<Arrival<F>>,
    is_fifo: bool,
) -> Vec<Vec<Arrival<F>>> {
    if !is_fifo {
        return messages.into_iter().map(|message| vec![message]).collect();
    }
    let numbers = group_numbers(messages.iter().map(|message| message.facts.group()));
    by_number(&numbers, messages)
}
