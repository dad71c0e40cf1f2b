//! Messages from polls to batches.
#![expect(clippy::disallowed_methods, reason = "impure: it draws random numbers")]

use std::collections::HashMap;
use std::time::Duration;

use aws_sdk_sqs::types::{Message, MessageSystemAttributeName};
use redrive_sqs::lease::LONGEST;
use redrive_sqs::{LONGEST_POLL, MAX_BYTES};
use tokio::sync::mpsc::unbounded_channel;
use tracing::{info, warn};

use super::{Batch, Did, Drive, Held};
use crate::Handler;
use crate::batch::work::{Chunks, Input};
use crate::deliveries::Deliveries;
use crate::worker::calls;
use crate::worker::hold::{Ask, Hold, Key, Request};

const SHORTEST_WAIT: Duration = Duration::from_secs(1);
/// How long a chunk of a bulk handler waits for more messages.
const FILLING: Duration = Duration::from_millis(500);
/// How many bytes the messages in hand of a bulk handler have together, unless `chunk_bytes` asks for more: there are as many
/// as concurrency times chunk size.
const BYTES: usize = 64 * 1024 * 1024;
/// How long a handler may run, so that there is time to settle.
const IN_HAND: Duration = LONGEST.saturating_sub(Duration::from_secs(5));

/// Messages in hand for the next calls of a bulk handler.
#[derive(Default)]
pub(super) struct Gathered {
    messages: Vec<(Message, Key)>,
    /// When they wait for no more.
    due: Option<Duration>,
}

impl Gathered {
    pub(super) const fn due_at(&self) -> Option<Duration> {
        self.due
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// How many messages one call takes, at least one, and whether there are enough for it.
    fn call(&self, limits: Chunks) -> (usize, bool) {
        let mut bytes = 0_usize;
        let fits = |(message, _): &&(Message, Key)| {
            bytes = bytes.saturating_add(message.body().map_or(0, str::len));
            bytes <= limits.bytes
        };
        let count = self.messages.iter().take(limits.messages.get()).take_while(fits).count().max(1);
        (count, count == limits.messages.get() || count < self.messages.len())
    }

    pub(super) fn forget(&mut self, lost: Key) {
        self.messages.retain(|(_, key)| *key != lost);
    }
}

impl<H> Drive<'_, H> {
    /// Polls, as long as there are free places, and starts a chunk that has waited for long.
    pub(super) fn poll<M>(&mut self, now: Duration)
    where
        H: Handler<M>,
        M: Input,
    {
        self.start_gathered::<M>(now);
        if self.phase.is_ending() {
            return;
        }
        // One round trip of settling at most is behind the work.
        let unsettled = self.held.len() - self.in_hand;
        let most = self.worker.capacity;
        let free = most.saturating_sub(self.in_hand);
        let free = free.min((2 * most).saturating_sub(self.in_hand + unsettled));
        let free = if self.has_a_free_call::<M>() { free.min(self.room::<M>()) } else { 0 };
        let wait = LONGEST_POLL.min(self.worker.drain.saturating_sub(SHORTEST_WAIT));
        // The lease of what comes at the end of a poll must last long enough to be extended.
        let wait = wait.min(self.worker.queue.visibility * 2 / 3).max(SHORTEST_WAIT);
        self.worker.vitals.has_room(free > 0);
        while let Some(asked) = self.pollers.next(free, now) {
            let (sqs, queue) = (self.worker.sqs, self.worker.queue);
            self.doing.push(Box::pin(async move {
                let result = calls::receive(sqs, queue, asked, wait).await;
                Did::Poll { asked, sent: now, result }
            }));
        }
    }

    pub(super) fn polled<M>(
        &mut self,
        asked: usize,
        sent: Duration,
        result: Result<Vec<Message>, String>,
        now: Duration,
    ) where
        H: Handler<M>,
        M: Input,
    {
        self.worker.vitals.poll_ended(result.is_ok());
        let messages = match result {
            Ok(messages) => messages,
            Err(error) => {
                if self.pollers.failed(asked, now, fastrand::f64()) == 1 {
                    warn!(
                        queue = self.worker.queue.url,
                        error, "receiving fails; redrive retries until it succeeds"
                    );
                }
                return;
            }
        };
        let errors = self.pollers.errors();
        if errors > 0 {
            info!(queue = self.worker.queue.url, errors, "receiving works again");
        }
        self.pollers.brought(asked, messages.len());
        if sent + self.worker.queue.visibility <= now {
            // The answer came so late that others may have them.
            messages.iter().for_each(|_| self.worker.vitals.lease_lost());
            return;
        }
        if M::IS_BULK && !self.phase.is_ending() {
            let is_full = messages.len() >= asked;
            for message in messages {
                let key = self.take(&message, sent);
                self.gathered.messages.push((message, key));
            }
            let due = if is_full { now + FILLING } else { now };
            self.gathered.due = Some(self.gathered.due.map_or(due, |other| other.min(due)));
            return;
        }
        for messages in self.batches_of(messages) {
            let is_last = |message| self.is_last_attempt(message);
            let begins = !self.phase.is_ending()
                || self.phase.lets_the_last_attempt_begin() && messages.iter().any(is_last);
            if !begins {
                for message in &messages {
                    let key = self.take(message, sent);
                    self.hand_back(key);
                }
            } else if let Some(id) = self.is_in_hand(&messages) {
                // Its new lease is not extended, so that another worker may receive it.
                warn!(id, "received again while its handler still runs; the second receive is ignored");
            } else {
                let taken = messages.into_iter().map(|message| {
                    let key = self.take(&message, sent);
                    (message, key)
                });
                let taken = taken.collect();
                self.start::<M>(taken);
            }
        }
    }

    /// Calls a bulk handler, as long as there are messages for a call and a call is free.
    fn start_gathered<M>(&mut self, now: Duration)
    where
        H: Handler<M>,
        M: Input,
    {
        let limits = self.limits_of_a_call();
        let is_due = self.gathered.due.is_some_and(|due| due <= now);
        while !self.gathered.is_empty() && self.has_a_free_call::<M>() {
            let (count, is_full) = self.gathered.call(limits);
            if !is_due && !is_full {
                break;
            }
            // What is left of a group must not run beside its first messages.
            let count = if self.worker.queue.is_fifo { self.gathered.messages.len() } else { count };
            let messages = self.gathered.messages.drain(..count).collect();
            self.start::<M>(messages);
        }
        if self.gathered.is_empty() {
            self.gathered.due = None;
        }
    }

    fn limits_of_a_call(&self) -> Chunks {
        let chunks = self.worker.flow.chunks;
        // Large messages are shared out among the calls.
        let share = (BYTES / self.worker.flow.settings.concurrency().max(1)).max(MAX_BYTES);
        Chunks { bytes: if chunks.bytes == usize::MAX { share } else { chunks.bytes }, ..chunks }
    }

    /// How many messages may be in hand or asked for besides those in hand, of which each may have as many bytes as SQS allows.
    fn room<M: Input>(&self) -> usize {
        if !M::IS_BULK {
            return usize::MAX;
        }
        let calls = self.worker.flow.settings.concurrency();
        let most = self.limits_of_a_call().bytes.saturating_mul(calls).max(BYTES);
        most.saturating_sub(self.bytes) / MAX_BYTES
    }

    /// Whether a bulk handler may be called once more; the messages of others are counted by themselves.
    pub(super) fn has_a_free_call<M: Input>(&self) -> bool {
        let is_running = |batch: &&Batch| batch.keys.iter().any(|key| self.is_running(*key));
        !M::IS_BULK
            || self.batches.values().filter(is_running).count() < self.worker.flow.settings.concurrency()
    }

    pub(super) fn is_running(&self, key: Key) -> bool {
        self.held.get(&key).is_some_and(|held| !held.is_asked)
    }

    /// The worker was told to end: only those are begun that have no other delivery.
    pub(super) fn hand_back_gathered(&mut self, begins_the_last: bool, now: Duration) {
        let gathered = std::mem::take(&mut self.gathered.messages);
        for (message, key) in gathered {
            if begins_the_last && self.is_last_attempt(&message) {
                self.gathered.messages.push((message, key));
                self.gathered.due = Some(now);
            } else {
                self.hand_back(key);
            }
        }
    }

    /// The messages of each FIFO group together, in their order, and others alone.
    fn batches_of(&self, messages: Vec<Message>) -> Vec<Vec<Message>> {
        if !self.worker.queue.is_fifo {
            return messages.into_iter().map(|message| vec![message]).collect();
        }
        let mut places = HashMap::new();
        let mut groups: Vec<Vec<Message>> = Vec::new();
        for message in messages {
            let group = attribute(&message, &MessageSystemAttributeName::MessageGroupId).map(str::to_owned);
            let place = *places.entry(group).or_insert(groups.len());
            if place == groups.len() {
                groups.push(Vec::new());
            }
            groups[place].push(message);
        }
        groups
    }

    /// Whether SQS would dead-letter the message at its next receive.
    fn is_last_attempt(&self, message: &Message) -> bool {
        let count = attribute(message, &MessageSystemAttributeName::ApproximateReceiveCount);
        let attempt = count.and_then(|count| count.parse().ok()).unwrap_or(1);
        let settings = self.worker.flow.settings;
        let deliveries = Deliveries {
            max_receive_count: settings.max_receive_count.as_deref().copied(),
            has_dead_letter_queue: settings.dead_letter_queue_url.is_some(),
        };
        deliveries.end_with(attempt, None)
    }

    fn take(&mut self, message: &Message, received: Duration) -> Key {
        let key = self.next_key;
        self.next_key += 1;
        let handle = message.receipt_handle().unwrap_or_default().into();
        let bytes = calls::bytes(message);
        self.leases.take(key, received, self.clock.now());
        self.held.insert(key, Held { handle, received, bytes, batch: None, is_asked: false });
        self.bytes += bytes;
        self.in_hand += 1;
        key
    }

    /// Makes a message visible at once that nobody has begun.
    fn hand_back(&mut self, key: Key) {
        self.asked(Request { key, at: 0, ask: Ask::Change(Duration::ZERO) });
    }

    fn start<M>(&mut self, messages: Vec<(Message, Key)>)
    where
        H: Handler<M>,
        M: Input,
    {
        let Some((first, number)) = messages.first() else { return };
        let number = *number;
        let name = if M::IS_BULK { None } else { self.name_of(first).map(str::to_owned) };
        let (messages, keys): (Vec<_>, Vec<_>) = messages.into_iter().unzip();
        let mut received = Duration::MAX;
        for (index, key) in keys.iter().enumerate() {
            if let Some(held) = self.held.get_mut(key) {
                held.batch = Some((number, index));
                received = received.min(held.received);
            }
        }
        let (sender, notices) = unbounded_channel();
        let hold = Hold::new(keys.clone(), self.asks.0.clone(), notices);
        self.names.extend(name.clone().map(|name| (name, number)));
        self.batches.insert(number, Batch { name, keys, notices: sender });
        let event = calls::event(messages, &self.worker.queue.arn);
        let until = self.clock.instant(received + IN_HAND);
        let (flow, handler) = (self.worker.flow, self.worker.handler);
        self.doing.push(Box::pin(async move {
            let report = flow.work_on::<H, M>(event, until, handler, hold).await;
            Did::Batch { number, report }
        }));
    }

    /// The message or group of these whose handler still runs, as after a lost lease.
    fn is_in_hand<'m>(&self, messages: &'m [Message]) -> Option<&'m str> {
        let name = self.name_of(messages.first()?)?;
        let batch = self.names.get(name).and_then(|number| self.batches.get(number));
        let is_running = batch.is_some_and(|batch| batch.keys.iter().any(|key| self.is_running(*key)));
        let is_stuck = || self.stuck.iter().any(|(stuck, alive)| stuck == name && alive.strong_count() > 0);
        (is_running || is_stuck()).then_some(name)
    }

    /// What may be in one batch at a time: a group, or a message.
    fn name_of<'m>(&self, message: &'m Message) -> Option<&'m str> {
        match self.worker.queue.is_fifo {
            true => attribute(message, &MessageSystemAttributeName::MessageGroupId),
            false => message.message_id(),
        }
    }

    /// How many messages have not begun: those behind others of their group, or in a chunk that is not full.
    pub(super) fn waiting(&self) -> usize {
        let running =
            || self.batches.values().filter(|batch| batch.keys.iter().any(|key| self.is_running(*key)));
        let behind =
            if self.worker.queue.is_fifo { self.in_hand.saturating_sub(running().count()) } else { 0 };
        self.gathered.messages.len().max(behind)
    }
}

fn attribute<'m>(message: &'m Message, name: &MessageSystemAttributeName) -> Option<&'m str> {
    message.attributes.as_ref()?.get(name).map(String::as_str)
}
