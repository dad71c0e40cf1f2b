//! Queues as plain values, for the explorer of redrive's engine: copied for each state, compared by what matters.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, SystemTime};

use crate::account::REGION;
use crate::mapping::failed_messages;
use crate::protocol::AwsError;
use crate::queue::NewMessage;
use crate::sqs::{QueueEvent, Sqs};

/// The queues of an account.
#[derive(Debug, Clone)]
pub struct Queues(Sqs);

/// A message that a receive has brought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Brought {
    pub id: String,
    pub receipt_handle: String,
    pub receive_count: u32,
}

/// Where a message of a queue stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing<'q> {
    pub id: &'q str,
    pub receive_count: u32,
    /// Until when it is hidden, or else since when it is visible.
    pub hidden: Result<SystemTime, SystemTime>,
}

impl Default for Queues {
    fn default() -> Self {
        Self(Sqs::new(REGION, "123456789012"))
    }
}

impl Queues {
    /// # Errors
    /// What SQS would refuse.
    pub fn create(
        &mut self,
        name: &str,
        attributes: &[(&str, &str)],
        now: SystemTime,
    ) -> Result<(), AwsError> {
        let owned = |&(name, value): &(&str, &str)| (name.to_owned(), value.to_owned());
        self.0.create(name, &attributes.iter().map(owned).collect::<BTreeMap<_, _>>(), now)
    }

    #[must_use]
    pub fn arn(&self, name: &str) -> String {
        self.0.arn(name)
    }

    /// Says its id, and whether it is no duplicate.
    ///
    /// # Errors
    /// What SQS would refuse.
    pub fn send(
        &mut self,
        queue: &str,
        message: NewMessage,
        now: SystemTime,
    ) -> Result<(String, bool), AwsError> {
        let id = self.0.send(queue, message, now)?.message_id;
        Ok((id, !self.0.take_events().is_empty()))
    }

    /// Says which messages went to the dead-letter queue, too.
    ///
    /// # Errors
    /// What SQS would refuse.
    pub fn receive(
        &mut self,
        queue: &str,
        most: usize,
        visibility: Option<Duration>,
        now: SystemTime,
    ) -> Result<(Vec<Brought>, Vec<String>), AwsError> {
        let received = self.0.receive(queue, most, visibility, now)?.into_iter();
        let brought = received.map(|it| Brought {
            id: it.message_id,
            receipt_handle: it.receipt_handle,
            receive_count: it.receive_count,
        });
        let moved = self.0.take_events().into_iter().filter_map(|event| match event {
            QueueEvent::Moved { message_id, .. } => Some(message_id),
            _ => None,
        });
        Ok((brought.collect(), moved.collect()))
    }

    /// Whether the message was there and is deleted.
    ///
    /// # Errors
    /// What SQS would refuse.
    pub fn delete(&mut self, queue: &str, receipt_handle: &str, now: SystemTime) -> Result<bool, AwsError> {
        self.0.delete(queue, receipt_handle, now)?;
        Ok(!self.0.take_events().is_empty())
    }

    /// # Errors
    /// What SQS would refuse.
    pub fn change_visibility(
        &mut self,
        queue: &str,
        receipt_handle: &str,
        timeout: Duration,
        now: SystemTime,
    ) -> Result<(), AwsError> {
        let changed = self.0.change_visibility(queue, receipt_handle, timeout, now);
        self.0.take_events();
        changed
    }

    /// Deletes what a function's response says is done, as the event source mapping does, and names it.
    ///
    /// # Errors
    /// Why the response is none.
    pub fn settle(
        &mut self,
        queue: &str,
        batch: &[Brought],
        response: &[u8],
        now: SystemTime,
    ) -> Result<Vec<String>, String> {
        let known: BTreeSet<_> = batch.iter().map(|message| message.id.as_str()).collect();
        let failed = failed_messages(response, &known)?;
        let done = batch.iter().filter(|message| !failed.contains(message.id.as_str()));
        let deleted =
            done.filter(|message| self.delete(queue, &message.receipt_handle, now).unwrap_or(false));
        Ok(deleted.map(|message| message.id.clone()).collect())
    }

    /// Whether a receive would return a message, or move one to the dead-letter queue.
    pub fn has_receivable(&mut self, queue: &str, now: SystemTime) -> bool {
        self.0.has_receivable(queue, now)
    }

    /// When the next hidden message is visible.
    #[must_use]
    pub fn next_change(&self, queue: &str, now: SystemTime) -> Option<SystemTime> {
        self.0.next_change(queue, now)
    }

    /// The messages of a queue, in the order of sending.
    #[must_use]
    pub fn standing(&self, queue: &str) -> Vec<Standing<'_>> {
        self.0.standing(queue)
    }
}
