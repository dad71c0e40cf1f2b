//! All queues of one account and region, and the redrive policies between them.

mod administer;
pub(crate) mod api;
mod archive;
#[cfg(test)]
mod differential;
mod event;
mod ids;
mod move_task;
mod moves;
mod permission;
mod redrive;
#[cfg(test)]
mod reference;
mod resend;
mod vitals;

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::protocol::AwsError;
use crate::queue::{NewMessage, Queue, Received, Sent, error};
use archive::Archive;
pub use archive::SentMessage;
pub use event::QueueEvent;
use ids::Ids;
pub(crate) use move_task::{MoveTask, Status};
use moves::MoveTasks;
pub use resend::ResendError;
pub(crate) use vitals::Measured;

/// The queues of one account in one region, by name.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Sqs {
    region: String,
    account: String,
    entries: BTreeMap<String, OwnedQueue>,
    moves: MoveTasks,
    /// Deletion times of queues whose names cannot be used again yet.
    deleted: BTreeMap<String, SystemTime>,
    ids: Ids,
    #[serde(skip)]
    events: Vec<QueueEvent>,
    #[serde(skip)]
    pub(crate) archive: Archive,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct OwnedQueue {
    queue: Queue,
    tags: BTreeMap<String, String>,
    created_at: SystemTime,
    modified_at: SystemTime,
}

impl Sqs {
    /// Creates an account without queues.
    #[must_use]
    pub fn new(region: &str, account: &str) -> Self {
        Self {
            region: region.to_owned(),
            account: account.to_owned(),
            entries: BTreeMap::new(),
            moves: MoveTasks::default(),
            deleted: BTreeMap::new(),
            ids: Ids::default(),
            events: Vec::new(),
            archive: Archive::default(),
        }
    }

    pub(crate) fn account(&self) -> &str {
        &self.account
    }

    /// Returns the ARN of a queue with this name, even if it does not exist.
    #[must_use]
    pub fn arn(&self, name: &str) -> String {
        format!("arn:aws:sqs:{}:{}:{name}", self.region, self.account)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    pub(crate) fn visibility_timeout(&self, name: &str) -> Option<Duration> {
        self.entries.get(name).map(|entry| entry.queue.settings().visibility_timeout)
    }

    pub(crate) fn receive_wait(&self, name: &str) -> Option<Duration> {
        self.entries.get(name).map(|entry| entry.queue.settings().receive_wait)
    }

    /// Returns true if anything happened since [`take_events`](Self::take_events) was called.
    pub(crate) fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    /// Returns everything that happened since the last call, in order.
    pub fn take_events(&mut self) -> Vec<QueueEvent> {
        std::mem::take(&mut self.events)
    }

    /// Sends a message. A duplicate on a FIFO queue gets the original's answer and causes no event.
    ///
    /// # Errors
    /// Returns SQS's refusal.
    pub fn send(&mut self, queue: &str, message: NewMessage, now: SystemTime) -> Result<Sent, AwsError> {
        self.advance(now);
        self.put(queue, message, now)
    }

    /// Refuses a batch that a FIFO queue refuses as a whole.
    pub(crate) fn check_batch<'a>(
        &self,
        queue: &str,
        mut messages: impl Iterator<Item = &'a NewMessage>,
    ) -> Result<(), AwsError> {
        let queue = &self.entry(queue)?.queue;
        messages.try_for_each(|message| queue.check_batch(message))
    }

    fn put(&mut self, queue: &str, message: NewMessage, now: SystemTime) -> Result<Sent, AwsError> {
        let attributes = message.attributes.clone();
        let kept = self.archive.copy(&message);
        let sender_id = self.account.clone();
        let mut ids = self.ids.clone();
        let id = ids.take();
        let sending = self.with(queue, |queue| queue.send(message, id, &sender_id, now))?;
        // A refused message takes no id, so that refused calls need not be repeated.
        self.ids = ids;
        let message_id = sending.sent.message_id.clone();
        if sending.is_new {
            self.archive.keep(&message_id, queue, kept);
            self.events.push(QueueEvent::Sent { queue: queue.to_owned(), message_id, attributes });
        }
        Ok(sending.sent)
    }

    /// Receives up to `max` (1 to 10) messages, and moves those that were received too often to the dead-letter queue.
    ///
    /// # Errors
    /// Returns SQS's refusal.
    pub fn receive(
        &mut self,
        queue: &str,
        max: usize,
        visibility_timeout: Option<Duration>,
        now: SystemTime,
    ) -> Result<Vec<Received>, AwsError> {
        self.receive_attempt(queue, None, max, visibility_timeout, now)
    }

    /// Receives messages, under a `ReceiveRequestAttemptId` if there is one.
    pub(crate) fn receive_attempt(
        &mut self,
        queue: &str,
        attempt_id: Option<&str>,
        max: usize,
        visibility_timeout: Option<Duration>,
        now: SystemTime,
    ) -> Result<Vec<Received>, AwsError> {
        self.advance(now);
        let redrive = self.redrive_of(queue);
        let limit = redrive.as_ref().map(|(_, limit)| *limit);
        let taken = self.with(queue, |queue| match attempt_id {
            Some(id) => queue.receive_attempt(id, max, visibility_timeout, limit, now),
            None => queue.receive(max, visibility_timeout, limit, now),
        })?;
        if let Some((target, _)) = redrive {
            self.hand_over(queue, &target, taken.exhausted, now);
        }
        let timeout = visibility_timeout.or(self.visibility_timeout(queue)).unwrap_or_default();
        self.events.extend(taken.received.iter().map(|message| QueueEvent::Received {
            queue: queue.to_owned(),
            message_id: message.message_id.clone(),
            receive_count: message.receive_count,
            timeout,
        }));
        Ok(taken.received)
    }

    /// Hides a message for this time from now on.
    ///
    /// # Errors
    /// Returns SQS's refusal.
    pub fn change_visibility(
        &mut self,
        queue: &str,
        receipt_handle: &str,
        timeout: Duration,
        now: SystemTime,
    ) -> Result<(), AwsError> {
        self.advance(now);
        let message_id = self.with(queue, |queue| queue.change_visibility(receipt_handle, timeout, now))?;
        self.events.push(QueueEvent::VisibilityChanged { queue: queue.to_owned(), message_id, timeout });
        Ok(())
    }

    /// Deletes a message. A stale handle succeeds and causes no event.
    ///
    /// # Errors
    /// Returns SQS's refusal.
    pub fn delete(&mut self, queue: &str, receipt_handle: &str, now: SystemTime) -> Result<(), AwsError> {
        self.advance(now);
        if let Some(message_id) = self.with(queue, |queue| queue.delete(receipt_handle, now))? {
            self.events.push(QueueEvent::Deleted { queue: queue.to_owned(), message_id });
        }
        Ok(())
    }

    /// Deletes all messages of a queue, at most once a minute. This causes no events of messages.
    pub(crate) fn purge(&mut self, queue: &str, now: SystemTime) -> Result<(), AwsError> {
        self.advance(now);
        self.with(queue, |queue| queue.purge(now))
    }

    #[cfg(test)]
    pub(crate) fn limit_in_flight(&mut self, queue: &str, most: usize) {
        self.entry_mut(queue).unwrap().queue.limit_in_flight(most);
    }

    fn entry(&self, name: &str) -> Result<&OwnedQueue, AwsError> {
        self.entries.get(name).ok_or_else(error::no_such_queue)
    }

    fn entry_mut(&mut self, name: &str) -> Result<&mut OwnedQueue, AwsError> {
        self.entries.get_mut(name).ok_or_else(error::no_such_queue)
    }

    /// Runs an action on a queue, and reports the messages that have expired.
    fn with<T>(
        &mut self,
        name: &str,
        verb: impl FnOnce(&mut Queue) -> Result<T, AwsError>,
    ) -> Result<T, AwsError> {
        let queue = &mut self.entry_mut(name)?.queue;
        let result = verb(queue);
        let expired = queue.take_expired();
        self.report_expired(name, expired);
        result
    }

    fn report_expired(&mut self, queue: &str, message_ids: Vec<String>) {
        let event = |message_id| QueueEvent::Expired { queue: queue.to_owned(), message_id };
        self.events.extend(message_ids.into_iter().map(event));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::Counts;
    use crate::queue::testing::{at, text};

    #[test]
    fn events_of_a_message_are_reported_in_order() {
        let mut queues = Sqs::new("eu-west-1", "123456789012");
        queues.create("q", &BTreeMap::new(), at(0)).unwrap();
        let message_id = queues.send("q", text("a"), at(0)).unwrap().message_id;
        let handle = queues.receive("q", 10, None, at(1)).unwrap().remove(0).receipt_handle;
        queues.change_visibility("q", &handle, Duration::from_secs(2), at(1)).unwrap();
        queues.delete("q", &handle, at(2)).unwrap();
        queues.delete("q", &handle, at(2)).unwrap();
        let (queue, id) = ("q".to_owned(), message_id.clone());
        assert_eq!(
            queues.take_events(),
            [
                QueueEvent::Sent { queue, message_id: id, attributes: BTreeMap::new() },
                QueueEvent::Received {
                    queue: "q".to_owned(),
                    message_id: message_id.clone(),
                    receive_count: 1,
                    timeout: Duration::from_secs(30)
                },
                QueueEvent::VisibilityChanged {
                    queue: "q".to_owned(),
                    message_id: message_id.clone(),
                    timeout: Duration::from_secs(2)
                },
                QueueEvent::Deleted { queue: "q".to_owned(), message_id },
            ]
        );
        assert!(queues.take_events().is_empty());
    }

    #[test]
    fn an_expired_message_is_told_when_its_queue_is_next_used() {
        let mut queues = Sqs::new("eu-west-1", "123456789012");
        let retention = BTreeMap::from([("MessageRetentionPeriod".to_owned(), "60".to_owned())]);
        queues.create("q", &retention, at(0)).unwrap();
        let message_id = queues.send("q", text("a"), at(0)).unwrap().message_id;
        queues.take_events();
        assert_eq!(queues.counts("q", at(60)), Some(Counts::default()));
        assert!(queues.receive("q", 1, None, at(60)).unwrap().is_empty());
        assert_eq!(queues.take_events(), [QueueEvent::Expired { queue: "q".to_owned(), message_id }]);
    }
}
