//! Messages from polls to batches.
#![expect(clippy::disallowed_methods, reason = "impure: it draws random numbers")]

use std::collections::HashMap;
use std::time::Duration;

use aws_sdk_sqs::types::{Message, MessageSystemAttributeName};
use tokio::sync::mpsc::unbounded_channel;
use tracing::{info, warn};

use super::{Batch, Did, Drive, Held};
use crate::Handler;
use crate::batch::work::Input;
use crate::deliveries::Deliveries;
use crate::worker::calls;
use crate::worker::hold::{Ask, Hold, Request};
use crate::worker::lease::Key;

/// The longest wait of a poll.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-short-and-long-polling.html>
const LONGEST_WAIT: Duration = Duration::from_secs(20);
const SHORTEST_WAIT: Duration = Duration::from_secs(1);
/// How long a chunk of a bulk handler waits for more messages.
const FILLING: Duration = Duration::from_millis(500);
/// SQS hides a message no longer than 12 hours; the last seconds are for settling.
const IN_HAND: Duration = Duration::from_secs(43_200 - 10);

/// Messages for the next chunk of a bulk handler, each with the time at which its receive was sent.
#[derive(Default)]
pub(super) struct Gathered {
    messages: Vec<(Message, Duration)>,
    since: Option<Duration>,
}

impl Gathered {
    pub(super) fn take(&mut self) -> Vec<(Message, Duration)> {
        self.since = None;
        std::mem::take(&mut self.messages)
    }

    pub(super) fn due_at(&self) -> Option<Duration> {
        self.since.map(|since| since + FILLING)
    }
}

impl<H> Drive<'_, H> {
    /// Polls, as long as there are free places, and starts a chunk that has waited for long.
    pub(super) fn poll<M>(&mut self, now: Duration)
    where
        H: Handler<M>,
        M: Input,
    {
        if self.gathered.due_at().is_some_and(|at| at <= now) {
            self.start_gathered::<M>();
        }
        if self.phase.is_ending() {
            return;
        }
        // One round trip of settling at most is behind the work.
        let unsettled = self.held.len() - self.in_hand;
        let most = self.worker.capacity;
        let free = most.saturating_sub(self.in_hand + self.gathered.messages.len());
        let free = free.min((2 * most).saturating_sub(self.in_hand + unsettled));
        let wait = LONGEST_WAIT.min(self.worker.drain.saturating_sub(SHORTEST_WAIT));
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
                        error, "receiving fails; tried again until it succeeds"
                    );
                }
                return;
            }
        };
        let errors = self.pollers.errors();
        if errors > 0 {
            info!(queue = self.worker.queue.url, errors, "messages are received again");
        }
        self.pollers.brought(asked, messages.len());
        if sent + self.worker.queue.visibility <= now {
            // The answer came so late that others may have them.
            messages.iter().for_each(|_| self.worker.vitals.lease_lost());
            return;
        }
        if M::IS_BULK && !self.phase.is_ending() {
            let is_full = messages.len() >= asked;
            self.gathered.messages.extend(messages.into_iter().map(|message| (message, sent)));
            if self.gathered.messages.is_empty() {
                return;
            }
            self.gathered.since.get_or_insert(now);
            if !is_full || self.gathered.messages.len() >= self.worker.flow.chunks.messages.get() {
                self.start_gathered::<M>();
            }
            return;
        }
        for messages in self.batches_of(messages) {
            let is_last = |message| self.is_last_attempt(message);
            let begins = !self.phase.is_ending()
                || self.phase.lets_the_last_attempt_begin() && messages.iter().any(is_last);
            if !begins {
                messages.iter().for_each(|message| self.hand_back(message, sent));
            } else if let Some(id) = self.is_in_hand(&messages) {
                // Its new lease is not extended, so that another worker may receive it.
                warn!(id, "received again while its handler still runs, and left alone");
            } else {
                self.start::<M>(messages.into_iter().map(|message| (message, sent)).collect());
            }
        }
    }

    pub(super) fn start_gathered<M>(&mut self)
    where
        H: Handler<M>,
        M: Input,
    {
        let messages = self.gathered.take();
        if !messages.is_empty() {
            self.start::<M>(messages);
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
            max_receive_count: settings.max_receive_count,
            has_dead_letter_queue: settings.dead_letter_queue_url.is_some(),
        };
        deliveries.end_with(attempt, None)
    }

    fn take(&mut self, message: &Message, received: Duration, batch: Option<(Key, usize)>) -> Key {
        let key = self.next_key;
        self.next_key += 1;
        let handle = message.receipt_handle().unwrap_or_default().into();
        self.leases.take(key, received, self.clock.now());
        self.held.insert(key, Held { handle, received, batch, is_asked: false });
        self.in_hand += 1;
        key
    }

    /// Makes a message visible at once that nobody has begun.
    pub(super) fn hand_back(&mut self, message: &Message, received: Duration) {
        let key = self.take(message, received, None);
        self.asked(Request { key, at: 0, ask: Ask::Change(Duration::ZERO) });
    }

    fn start<M>(&mut self, messages: Vec<(Message, Duration)>)
    where
        H: Handler<M>,
        M: Input,
    {
        let number = self.next_key;
        let received = messages.iter().map(|(_, received)| *received).min().unwrap_or_default();
        let keys = messages
            .iter()
            .enumerate()
            .map(|(index, (message, received))| self.take(message, *received, Some((number, index))));
        let keys: Vec<Key> = keys.collect();
        let (sender, notices) = unbounded_channel();
        let hold = Hold::new(keys, self.asks.0.clone(), notices);
        let name = messages.first().filter(|_| !M::IS_BULK).and_then(|(first, _)| self.name_of(first));
        let name = name.map(str::to_owned);
        self.names.extend(name.clone().map(|name| (name, number)));
        self.batches.insert(number, Batch { name, keys: number..self.next_key, notices: sender });
        let messages = messages.into_iter().map(|(message, _)| message).collect();
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
        let batch = self.batches.get(self.names.get(name)?)?;
        let is_running = |key: Key| self.held.get(&key).is_some_and(|held| !held.is_asked);
        batch.keys.clone().any(is_running).then_some(name)
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
        let behind =
            if self.worker.queue.is_fifo { self.in_hand.saturating_sub(self.batches.len()) } else { 0 };
        self.gathered.messages.len() + behind
    }
}

fn attribute<'m>(message: &'m Message, name: &MessageSystemAttributeName) -> Option<&'m str> {
    message.attributes.as_ref()?.get(name).map(String::as_str)
}
