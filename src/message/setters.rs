//! Messages for the tests of handlers.

use std::time::{Instant, SystemTime};

use redrive_sqs::{Attribute, Origin};

use super::Message;
use crate::Invocation;
use crate::deliveries::Deliveries;
use crate::record::Record;

/// Messages for tests of handlers.
impl<T> Message<T> {
    /// A message for the test of a handler.
    ///
    /// By default, it is the first delivery of `test-message` from the standard queue `test-queue`, without
    /// attributes, with 15 minutes left to handle it.
    ///
    /// ```
    /// use redrive::Message;
    ///
    /// let message = Message::new(7_u32).attempt(3).max_attempts(3).group("acme").attribute("tenant", "acme");
    /// assert_eq!((message.body, message.attempt), (7, 3));
    /// assert!(message.is_last_attempt());
    /// ```
    #[must_use]
    pub fn new(body: T) -> Self {
        Self::of(&Record::builder().build(), body)
    }

    /// Sets `id`.
    #[must_use]
    pub fn id(self, id: impl Into<String>) -> Self {
        Self { id: id.into(), ..self }
    }

    /// Sets `attempt`.
    #[must_use]
    pub fn attempt(self, attempt: u32) -> Self {
        Self { attempt, ..self }
    }

    /// Sets `max_attempts`, as the maxReceiveCount of a queue that has a dead-letter queue.
    #[must_use]
    pub fn max_attempts(self, max: u32) -> Self {
        let deliveries = Deliveries { max_receive_count: Some(max), ..self.deliveries };
        Self { max_attempts: Some(max), deliveries, ..self }
    }

    /// Sets `group`.
    #[must_use]
    pub fn group(self, group: impl Into<String>) -> Self {
        Self { group: Some(group.into()), ..self }
    }

    /// Sets `deduplication_id`.
    #[must_use]
    pub fn deduplication_id(self, id: impl Into<String>) -> Self {
        Self { deduplication_id: Some(id.into()), ..self }
    }

    /// Sets `sent_at`.
    #[must_use]
    pub fn sent_at(self, at: SystemTime) -> Self {
        Self { sent_at: Some(at), ..self }
    }

    /// Sets `first_received_at`.
    #[must_use]
    pub fn first_received_at(self, at: SystemTime) -> Self {
        Self { first_received_at: Some(at), ..self }
    }

    /// Adds to `attributes`. A string becomes an attribute of the type `String`.
    #[must_use]
    pub fn attribute(mut self, name: impl Into<String>, value: impl Into<Attribute>) -> Self {
        self.attributes.insert(name.into(), value.into());
        self
    }

    /// Sets `trace_header`.
    #[must_use]
    pub fn trace_header(self, header: impl Into<String>) -> Self {
        Self { trace_header: Some(header.into()), ..self }
    }

    /// Sets `source`.
    #[must_use]
    pub fn source(self, arn: impl Into<String>) -> Self {
        Self { source: arn.into(), ..self }
    }

    /// Sets `deadline`.
    #[must_use]
    pub fn deadline(self, at: Instant) -> Self {
        Self { deadline: at, ..self }
    }

    /// Sets `invocation`.
    #[must_use]
    pub fn invocation(self, invocation: Invocation) -> Self {
        Self { invocation, ..self }
    }

    /// Sets `origin`, and with it the [`key`](Self::key).
    ///
    /// ```
    /// use redrive::{Message, Origin};
    ///
    /// let message = Message::new("again").origin(Origin::new("first-life", 1));
    /// assert_eq!((message.key(), message.redrives()), ("first-life", 1));
    /// ```
    #[must_use]
    pub fn origin(self, origin: Origin) -> Self {
        Self { origin: Some(origin), ..self }
    }
}
