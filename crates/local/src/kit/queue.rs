//! Queues.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Message, TestAws};
use crate::queue::{Counts, NewMessage};
use crate::sqs::QueueEvent;

/// A builder for a queue.
#[derive(Debug, Clone)]
#[must_use = "a queue is there once it is created"]
pub struct NewQueue {
    aws: TestAws,
    name: String,
    attributes: BTreeMap<String, String>,
    dead_letters: Option<(String, u32)>,
}

/// A queue of a [`TestAws`].
#[derive(Debug, Clone)]
pub struct Queue {
    pub(super) aws: TestAws,
    pub(super) name: String,
}

impl TestAws {
    /// Starts to build a queue with SQS's default attributes, such as a visibility timeout of 30 s. A name that ends in
    /// `.fifo` makes it a FIFO queue.
    pub fn queue(&self, name: &str) -> NewQueue {
        let attributes = redrive_sqs::is_fifo(name).then(|| ("FifoQueue".to_owned(), "true".to_owned()));
        NewQueue {
            aws: self.clone(),
            name: name.to_owned(),
            attributes: attributes.into_iter().collect(),
            dead_letters: None,
        }
    }
}

impl NewQueue {
    /// Sets a redrive policy: SQS moves a message that was received this often to this dead-letter queue, which is created
    /// unless it exists.
    pub fn dead_letter_queue(mut self, name: &str, max_receive_count: u32) -> Self {
        self.dead_letters = Some((name.to_owned(), max_receive_count));
        self
    }

    /// Sets how long a message is hidden after a receive: 30 s by default, 0 s to 12 h.
    pub fn visibility_timeout(self, timeout: Duration) -> Self {
        self.attribute("VisibilityTimeout", &timeout.as_secs().to_string())
    }

    /// Sets any attribute by its name in SQS, such as `DelaySeconds`.
    pub fn attribute(mut self, name: &str, value: &str) -> Self {
        self.attributes.insert(name.to_owned(), value.to_owned());
        self
    }

    /// Creates the queue.
    ///
    /// # Panics
    /// Panics if SQS would refuse it, in its words.
    #[track_caller]
    #[expect(clippy::must_use_candidate, reason = "the queue is there, whether its handle is kept or not")]
    pub fn create(mut self) -> Queue {
        if let Some((dead, max_receive_count)) = self.dead_letters.take() {
            let is_there = self.aws.with(|account, now| account.counts(&dead, now).is_some());
            if !is_there {
                self.aws.queue(&dead).attribute("MessageRetentionPeriod", "1209600").create();
            }
            let arn = self.aws.with(|account, _| account.queue_arn(&dead));
            let policy = json!({ "deadLetterTargetArn": arn, "maxReceiveCount": max_receive_count });
            self.attributes.insert("RedrivePolicy".to_owned(), policy.to_string());
        }
        let attributes = self.attributes.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let created = self.aws.with(|account, now| account.create_queue(&self.name, attributes, now));
        if let Err(refusal) = created {
            panic!("queue {}: {refusal}", self.name);
        }
        Queue { aws: self.aws, name: self.name }
    }
}

impl Queue {
    /// Returns the queue's URL, which clients and consumers use.
    #[must_use]
    pub fn url(&self) -> String {
        self.aws.with(|account, _| account.queue_url(&self.name))
    }

    /// Returns the queue's ARN, which the records of an event name.
    #[must_use]
    pub fn arn(&self) -> String {
        self.aws.with(|account, _| account.queue_arn(&self.name))
    }

    /// Returns the account of the queue.
    #[must_use]
    pub const fn aws(&self) -> &TestAws {
        &self.aws
    }

    /// Returns the queue's visibility timeout.
    #[must_use]
    pub fn visibility_timeout(&self) -> Duration {
        self.aws.with(|account, _| account.visibility_timeout(&self.name)).unwrap_or_default()
    }

    /// Returns the dead-letter queue and the maxReceiveCount of the redrive policy, if the queue has one.
    #[must_use]
    pub fn redrive_policy(&self) -> Option<(Self, u32)> {
        let (name, max_receive_count) = self.aws.with(|account, _| account.redrive_policy(&self.name))?;
        Some((Self { aws: self.aws.clone(), name }, max_receive_count))
    }

    /// Returns the queue to which the redrive policy moves messages.
    ///
    /// # Panics
    /// Panics if the queue has no redrive policy.
    #[track_caller]
    #[must_use]
    pub fn dead_letter_queue(&self) -> Self {
        match self.redrive_policy() {
            Some((dead, _)) => dead,
            None => panic!("queue {} has no redrive policy, and so no dead-letter queue", self.name),
        }
    }

    /// Sends a message: a body, or a [`NewMessage`] with a group, attributes or a delay. On a FIFO queue no message counts as
    /// a duplicate unless it has a deduplication id.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use redrive_local::NewMessage;
    /// use redrive_local::kit::TestAws;
    /// use serde_json::{Value, json};
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap().block_on(async {
    /// let queue = TestAws::new().queue("entries.fifo").create();
    /// let entry = |account, text| queue.send(NewMessage::from(text).group(account));
    /// let (first, second, other) = (entry("ada", "open"), entry("ada", "pay"), entry("bob", "pay"));
    ///
    /// let fails_at_first = async |event: Value, _| {
    ///     let record = &event["Records"][0];
    ///     let is_first = record["attributes"]["ApproximateReceiveCount"] == "1";
    ///     if is_first && record["body"] == "open" { Err("locked") } else { Ok(json!({})) }
    /// };
    /// queue.invokes(fails_at_first).batch_size(1).until_idle().await;
    /// assert_eq!(other.done().after, Duration::ZERO);
    /// assert_eq!(first.done().after, Duration::from_secs(30));
    /// assert_eq!(second.received(), [Duration::from_secs(30)]);
    /// # });
    /// ```
    ///
    /// # Panics
    /// Panics if SQS would refuse it, in its words.
    #[track_caller]
    pub fn send(&self, message: impl Into<NewMessage>) -> Message {
        let mut message = message.into();
        let number = self.aws.state().events.len();
        if redrive_sqs::is_fifo(&self.name) && message.deduplication_id.is_none() {
            message.deduplication_id = Some(format!("of-the-test-{number}"));
        }
        let body = message.body.clone();
        match self.aws.with(|account, now| account.send(&self.name, message, now)) {
            Ok(id) => Message::new(self, id, self.aws.elapsed(), Some(body)),
            Err(refusal) => panic!("queue {}: {refusal}: {body:.100}", self.name),
        }
    }

    /// Returns every message that was ever in the queue, in order of arrival. The test or the code under test sent it, or a
    /// redrive policy moved it here.
    #[must_use]
    pub fn messages(&self) -> Vec<Message> {
        self.aws.find(|at, event| match event {
            QueueEvent::Sent { queue: to, message_id, .. } | QueueEvent::Moved { to, message_id, .. } => {
                (*to == self.name).then(|| Message::new(self, message_id.clone(), at, None))
            }
            _ => None,
        })
    }

    /// Returns the present numbers of messages.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.aws.with(|account, now| account.counts(&self.name, now)).unwrap_or_default()
    }

    /// Receives up to `most` messages as the records that a function would get. They stay in flight.
    #[must_use]
    pub fn receive(&self, most: usize) -> Vec<Value> {
        let delivery = self.aws.with(|account, now| account.deliver(&self.name, most, now));
        let Ok(Some(delivery)) = delivery else { return Vec::new() };
        let event: Value = serde_json::from_slice(delivery.event()).expect("an event is JSON");
        event["Records"].as_array().cloned().unwrap_or_default()
    }
}

/// Gives a consumer of redrive the settings of a [`Queue`] of the kit: the SQS client of its account, its
/// visibility timeout, and the dead-letter queue and maxReceiveCount of its redrive policy.
///
/// ```text
/// let consumer = configure!(Consumer::new(place), queue).concurrency(5);
/// queue.invokes(|event, deadline| consumer.handle(event, deadline)).until_idle().await;
/// ```
#[macro_export]
macro_rules! configure {
    ($consumer:expr, $queue:expr) => {{
        let queue: &$crate::kit::Queue = &$queue;
        let consumer = $consumer.sqs(queue.aws().sqs()).visibility_timeout(queue.visibility_timeout());
        match queue.redrive_policy() {
            Some((dead, count)) => consumer.dead_letter_queue_url(dead.url()).max_receive_count(count),
            None => consumer,
        }
    }};
}
