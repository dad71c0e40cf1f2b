//! Moves messages out of a queue, for message move tasks and resends.

use std::collections::BTreeMap;
use std::time::SystemTime;

use super::Queue;
use super::message::{MessageAttribute, NewMessage, Place, QueuedMessage};

/// The message that a task moves next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Leaving {
    pub(crate) number: u64,
    /// The ARN of the queue that a redrive policy took it from.
    pub(crate) dead_letter_source: Option<String>,
    /// The new message for the destination, with everything that a sender can set.
    pub(crate) message: NewMessage,
}

/// A message of a dead-letter queue.
#[derive(Debug, Clone, Copy)]
pub struct Letter<'a> {
    /// Its message id.
    pub id: &'a str,
    /// The ARN of the queue that a redrive policy took it from, if one did.
    pub moved_from: Option<&'a str>,
    /// The message attributes.
    pub attributes: &'a BTreeMap<String, MessageAttribute>,
}

impl Queue {
    /// Returns the message that the next receive would return, or None while all are hidden.
    pub(crate) fn next_to_leave(&mut self, now: SystemTime) -> Option<Leaving> {
        self.catch_up(now);
        let number = self.receive_order.next(1).pop()?;
        let held = self.messages.get(&number)?;
        Some(Leaving {
            number,
            dead_letter_source: held.dead_letter_source().cloned(),
            message: held.message(),
        })
    }

    /// Returns the first visible message that `is_it` accepts, with its number.
    pub(crate) fn find_visible(
        &mut self,
        is_it: impl Fn(&Letter<'_>) -> bool,
        now: SystemTime,
    ) -> Option<(u64, Letter<'_>, NewMessage)> {
        self.catch_up(now);
        let visible = |held: &QueuedMessage| matches!(held.place, Place::Visible { .. });
        let mut messages = self.messages.iter();
        let found = messages.find(|(_, held)| visible(held) && is_it(&held.letter()));
        found.map(|(number, held)| (*number, held.letter(), held.message()))
    }

    /// Removes a message that has arrived in another queue, and returns its id.
    pub(crate) fn leave_for_good(&mut self, number: u64) -> Option<String> {
        self.remove(number).map(|held| held.message_id)
    }
}

impl QueuedMessage {
    fn letter(&self) -> Letter<'_> {
        let moved_from = self.dead_letter_source().map(String::as_str);
        Letter { id: &self.message_id, moved_from, attributes: &self.attributes }
    }

    fn message(&self) -> NewMessage {
        NewMessage {
            body: self.body.clone(),
            attributes: self.attributes.clone(),
            trace_header: self.trace_header.clone(),
            group_id: self.group_id.clone(),
            deduplication_id: self.deduplication_id.clone(),
            delay: None,
        }
    }
}
