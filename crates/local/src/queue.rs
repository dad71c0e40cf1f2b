//! One SQS queue, standard or FIFO, as plain data. Time is an argument and nothing waits.
//!
//! Each verb has its file. A [`Queue`] knows only its own messages. It hands out messages that a redrive policy moves, and
//! [`Sqs`](crate::sqs::Sqs) adds them to the other queue.

mod accept;
mod age;
mod attempt;
mod change_visibility;
mod delete;
mod digest;
mod encryption;
pub(crate) mod error;
mod handle;
mod leave;
mod receive_order;
mod message;
mod receive;
#[cfg(test)]
mod retained;
mod send;
mod settings;
#[cfg(test)]
pub(crate) mod testing;
mod traffic;
mod window;

use std::collections::{BTreeMap, BTreeSet};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

pub(crate) use accept::size;
pub(crate) use digest::md5_of_attributes;
pub use digest::md5_of_body;
pub use leave::Letter;
pub(crate) use message::QueuedMessage;
pub use message::{AttributeValue, Counts, MessageAttribute, NewMessage, Received};
pub(crate) use message::{DeliveryPosition, Sent};
pub(crate) use settings::Settings;
pub(crate) use traffic::Traffic;

use handle::Handle;
use message::Place;
use receive_order::ReceiveOrder;
use window::Window;

/// Most messages of one queue in flight.
const MOST_IN_FLIGHT: usize = 120_000;

/// One queue. The cost of an operation is at most logarithmic in the depth, for each message that it concerns.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Queue {
    name: String,
    settings: Settings,
    /// Messages by number, in the order of sending.
    messages: BTreeMap<u64, QueuedMessage>,
    next_number: u64,
    receive_order: ReceiveOrder,
    delayed: BTreeSet<(SystemTime, u64)>,
    in_flight: BTreeSet<(SystemTime, u64)>,
    /// Message numbers by the start of their retention period.
    by_age: BTreeSet<(SystemTime, u64)>,
    /// Ids of expired messages that [`take_expired`](Self::take_expired) has not returned yet.
    expired: Vec<String>,
    most_in_flight: usize,
    /// Message id and sequence number of the first of several equal sends. Deleting the message does not remove them.
    deduplication: Window<DeduplicationKey, (String, Option<String>)>,
    /// Receipt handles of receives, by their attempt id.
    attempts: Window<String, Vec<Handle>>,
    purged_at: Option<SystemTime>,
    #[serde(skip)]
    traffic: Traffic,
}

/// A deduplication id, with its group if the scope is the group.
type DeduplicationKey = (String, Option<String>);

impl Queue {
    pub(crate) fn new(name: &str, settings: Settings) -> Self {
        let receive_order = if settings.fifo { ReceiveOrder::fifo() } else { ReceiveOrder::standard() };
        Self {
            name: name.to_owned(),
            settings,
            messages: BTreeMap::new(),
            next_number: 0,
            receive_order,
            delayed: BTreeSet::new(),
            in_flight: BTreeSet::new(),
            by_age: BTreeSet::new(),
            expired: Vec::new(),
            most_in_flight: MOST_IN_FLIGHT,
            deduplication: Window::default(),
            attempts: Window::default(),
            purged_at: None,
            traffic: Traffic::default(),
        }
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Replaces the settings with those of a queue of the same type. A FIFO queue applies a new delay to messages that are
    /// already delayed.
    /// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-delay-queues.html>
    pub(crate) fn set(&mut self, settings: Settings) {
        self.settings = settings;
        let delayed = if self.settings.fifo { self.delayed.clone() } else { BTreeSet::new() };
        for (_, number) in delayed {
            if let Some(sent_at) = self.messages.get(&number).map(|held| held.sent_at) {
                self.place(number, Place::Delayed { until: sent_at + self.settings.delay });
            }
        }
    }

    pub(crate) fn counts(&self, now: SystemTime) -> Counts {
        let mut counts = Counts::default();
        let is_due = |index: &BTreeSet<_>| index.range(..=(now, u64::MAX)).count();
        counts.delayed = self.delayed.len() - is_due(&self.delayed);
        counts.in_flight = self.in_flight.len() - is_due(&self.in_flight);
        counts.visible = self.messages.len() - counts.delayed - counts.in_flight;
        for (_, number) in self.by_age.iter().take_while(|(start, _)| *start + self.settings.retention <= now)
        {
            match self.messages[number].place {
                Place::Delayed { until } if until > now => counts.delayed -= 1,
                Place::InFlight { until } if until > now => counts.in_flight -= 1,
                _ => counts.visible -= 1,
            }
        }
        counts
    }

    /// Returns the number of message groups with a message in flight.
    pub(crate) fn groups_in_flight(&self, now: SystemTime) -> usize {
        let in_flight = self.in_flight.iter().filter(|(until, _)| *until > now);
        let messages = in_flight.map(|(_, number)| &self.messages[number]);
        let retained = messages.filter(|held| held.enqueued_at + self.settings.retention > now);
        retained.filter_map(|held| held.group_id.as_deref()).collect::<BTreeSet<_>>().len()
    }

    /// Returns the earliest moment after `now` at which a delay or a visibility timeout ends.
    pub(crate) fn next_change(&self, now: SystemTime) -> Option<SystemTime> {
        let next = |index: &BTreeSet<_>| index.range((now, u64::MAX)..).map(|&(until, _)| until).next();
        [next(&self.delayed), next(&self.in_flight)].into_iter().flatten().min()
    }

    /// Returns true if a receive would return a message.
    pub(crate) fn has_receivable(&mut self, now: SystemTime) -> bool {
        self.catch_up(now);
        !self.receive_order.next(1).is_empty()
    }

    /// Returns the position of each message, in the order of sending.
    pub(crate) fn standing(&self) -> Vec<DeliveryPosition<'_>> {
        let standing = |held: &'_ QueuedMessage| match held.place {
            Place::Visible { since } => Err(since),
            Place::Delayed { until } | Place::InFlight { until } => Ok(until),
        };
        let messages = self.messages.values();
        let messages = messages.map(|held| DeliveryPosition {
            id: held.message_id(),
            receive_count: held.receive_count(),
            hidden: standing(held),
        });
        messages.collect()
    }

    /// Returns the ids of messages that expired since the last call.
    pub(crate) fn take_expired(&mut self) -> Vec<String> {
        std::mem::take(&mut self.expired)
    }

    /// Lets time pass: drops expired messages, and shows messages whose delay or visibility timeout has ended.
    pub(crate) fn catch_up(&mut self, now: SystemTime) {
        self.deduplication.forget(now);
        self.attempts.forget(now);
        while let Some(&(start, number)) = self.by_age.first()
            && start + self.settings.retention <= now
        {
            let held = self.remove(number);
            self.expired.extend(held.map(|held| held.message_id));
        }
        while let Some((until, number)) = first_due(&self.delayed, now).or(first_due(&self.in_flight, now)) {
            self.place(number, Place::Visible { since: until });
        }
    }

    /// Adds a message at the end.
    fn add(&mut self, held: QueuedMessage) {
        let number = self.next_number;
        self.next_number += 1;
        let place = held.place;
        self.by_age.insert((held.enqueued_at, number));
        self.messages.insert(number, held);
        self.place(number, place);
    }

    fn remove(&mut self, number: u64) -> Option<QueuedMessage> {
        let held = self.messages.remove(&number)?;
        let since = self.leave(number, held.place);
        self.receive_order.remove(number, held.group(), since);
        self.by_age.remove(&(held.enqueued_at, number));
        Some(held)
    }

    /// Changes a message's place. All changes go through here, so that every index stays correct.
    fn place(&mut self, number: u64, place: Place) {
        let Some(before) = self.messages.get(&number).map(|held| held.place) else { return };
        let since = self.leave(number, before);
        let Some(held) = self.messages.get_mut(&number) else { return };
        held.place = place;
        match place {
            Place::Visible { since } => return self.receive_order.show(number, held.group(), since),
            Place::Delayed { until } => self.delayed.insert((until, number)),
            Place::InFlight { until } => self.in_flight.insert((until, number)),
        };
        self.receive_order.hide(number, held.group(), since);
    }

    /// Removes a hidden message from the indexes. Returns the time since which a visible message was visible.
    fn leave(&mut self, number: u64, place: Place) -> Option<SystemTime> {
        match place {
            Place::Visible { since } => return Some(since),
            Place::Delayed { until } => self.delayed.remove(&(until, number)),
            Place::InFlight { until } => self.in_flight.remove(&(until, number)),
        };
        None
    }
}

fn first_due(index: &BTreeSet<(SystemTime, u64)>, now: SystemTime) -> Option<(SystemTime, u64)> {
    index.first().copied().filter(|(until, _)| *until <= now)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::testing::{at, id, queue, text};
    use super::*;

    #[test]
    fn the_next_change_is_the_end_of_the_earliest_delay_or_visibility_timeout() {
        let mut queue = queue(&[]);
        assert_eq!(queue.next_change(at(0)), None);
        queue.send(text("a"), id(), "", at(0)).unwrap();
        assert_eq!(queue.next_change(at(0)), None, "a visible message changes nothing by itself");
        queue
            .send(NewMessage { delay: Some(Duration::from_secs(40)), ..text("b") }, id(), "", at(0))
            .unwrap();
        assert_eq!(queue.next_change(at(0)), Some(at(40)));
        queue.receive(1, None, None, at(0)).unwrap();
        assert_eq!(queue.next_change(at(0)), Some(at(30)));
        assert_eq!(queue.next_change(at(30)), Some(at(40)), "only what is later than now");
        assert_eq!(queue.next_change(at(40)), None);
    }
}
