//! Messages, before and after they are sent.

use std::fmt;
use std::time::Duration;

use serde_json::Value;

use super::{DeadLetter, Done, MessageState, Queue, TestAws};
use crate::queue::{MessageAttribute, NewMessage};
use crate::sqs::QueueEvent;

/// A message that is or was in a queue. All its times are relative to its arrival there.
#[derive(Debug, Clone)]
pub struct Message {
    pub(super) aws: TestAws,
    pub(super) queue: String,
    pub(super) id: String,
    pub(super) came_at: Duration,
    body: Option<String>,
}

impl Message {
    pub(super) fn new(queue: &Queue, id: String, came_at: Duration, body: Option<String>) -> Self {
        Self { aws: queue.aws.clone(), queue: queue.name.clone(), id, came_at, body }
    }

    /// Returns the id that SQS gave the message.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the times at which the message was received from its queue.
    #[must_use]
    pub fn received(&self) -> Vec<Duration> {
        let received = self.events().into_iter().filter_map(|(after, event)| match event {
            QueueEvent::Received { .. } => Some(after),
            _ => None,
        });
        received.collect()
    }

    /// Returns the state of the message.
    #[must_use]
    pub fn state(&self) -> MessageState {
        MessageState::of(self)
    }

    /// Returns when and after how many receives the message was deleted.
    ///
    /// # Panics
    /// Panics if the message was not deleted.
    #[track_caller]
    #[must_use]
    pub fn done(&self) -> Done {
        match self.state() {
            MessageState::Done(done) => done,
            other => panic!("{self} is not done, but {other}{}", self.last_error()),
        }
    }

    /// Returns the reason why the message is a dead letter: the redrive policy, or a consumer that left a note.
    ///
    /// # Panics
    /// Panics if the message is not a dead letter.
    #[track_caller]
    #[must_use]
    pub fn dead_letter(&self) -> DeadLetter {
        match self.state() {
            MessageState::DeadLettered(letter) => letter,
            other => panic!("{self} is not dead-lettered, but {other}{}", self.last_error()),
        }
    }

    /// Returns how the latest invocation with the message failed as a whole, or an empty text.
    pub(super) fn last_error(&self) -> String {
        let state = self.aws.state();
        let outcome = state.failed_invocations.get(&self.id);
        outcome.map(|outcome| format!("; its last invocation: {outcome:?}")).unwrap_or_default()
    }

    /// Returns everything that happened to the message in its queue since its arrival.
    pub(super) fn events(&self) -> Vec<(Duration, QueueEvent)> {
        let of_this = |event: &QueueEvent| match event {
            QueueEvent::Sent { queue, message_id, .. }
            | QueueEvent::Received { queue, message_id, .. }
            | QueueEvent::VisibilityChanged { queue, message_id, .. }
            | QueueEvent::Deleted { queue, message_id }
            | QueueEvent::Moved { queue, message_id, .. }
            | QueueEvent::Expired { queue, message_id } => *queue == self.queue && *message_id == self.id,
        };
        self.aws.find(|at, event| {
            let after = at.checked_sub(self.came_at)?;
            of_this(event).then(|| (after, event.clone()))
        })
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "message {} of queue {}", self.id, self.queue)?;
        self.body.as_ref().map_or(Ok(()), |body| write!(f, " ({body:.60})"))
    }
}

impl From<&str> for NewMessage {
    fn from(body: &str) -> Self {
        Self::from(body.to_owned())
    }
}

impl From<String> for NewMessage {
    fn from(body: String) -> Self {
        Self { body, ..Self::default() }
    }
}

/// The body is the value as JSON.
impl From<Value> for NewMessage {
    fn from(body: Value) -> Self {
        Self::from(body.to_string())
    }
}

impl NewMessage {
    /// Sets the message group.
    #[must_use]
    pub fn group(mut self, id: &str) -> Self {
        self.group_id = Some(id.to_owned());
        self
    }

    /// Adds an attribute of type `String`.
    #[must_use]
    pub fn attribute(mut self, name: &str, value: &str) -> Self {
        self.attributes.insert(name.to_owned(), MessageAttribute::text(value));
        self
    }
}
