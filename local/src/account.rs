//! SQS, CloudWatch and the rules of the event source mapping as plain values: for tests that bring a clock of their
//! own and want neither a socket nor a process.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::{Request, Response};

use crate::clock::ClientClock;
use crate::cloudwatch::AlarmConfig;
use crate::cloudwatch::api as cloudwatch;
use crate::cloudwatch::{AlarmChange, CloudWatch};
use crate::mapping::MappingConfig;
use crate::mapping::{Batch, Full, event, failed_messages, filtered};
use crate::protocol::{AwsError, Wait, unknown_service};
use crate::queue::{Counts, NewMessage, Received};
use crate::sqs::api as sqs;
use crate::sqs::{QueueEvent, Sqs};

pub(crate) const REGION: &str = "eu-central-1";
const ACCOUNT: &str = "123456789012";

/// The queues and metrics of one account. Every method takes the time, and none of them waits.
///
/// ```
/// use redrive_local::{Account, NewMessage};
/// use std::time::{Duration, SystemTime};
///
/// let (mut account, now) = (Account::new(), SystemTime::now());
/// account.create_queue("orders", [("VisibilityTimeout", "30")], now)?;
/// let id = account.send("orders", NewMessage { body: "tea".into(), ..NewMessage::default() }, now)?;
///
/// let batch = account.deliver("orders", 10, now)?.expect("there is a message");
/// let response = format!(r#"{{"batchItemFailures": [{{"itemIdentifier": "{id}"}}]}}"#);
/// assert_eq!(account.settle(&batch, response.as_bytes(), now), Ok(vec![]));
/// assert_eq!(account.next_change("orders", now), Some(now + Duration::from_secs(30)));
/// # Ok::<(), redrive_local::AwsError>(())
/// ```
#[derive(Debug)]
pub struct Account {
    sqs: Sqs,
    cloudwatch: CloudWatch,
    /// When metrics were last published and alarms evaluated.
    ticked_at: Option<SystemTime>,
    calls: BTreeMap<String, usize>,
}

/// A batch on its way to a function.
#[derive(Debug, Clone)]
pub struct Delivery {
    queue: String,
    messages: Vec<Received>,
    event: Vec<u8>,
}

impl Default for Account {
    fn default() -> Self {
        Self::new()
    }
}

impl Account {
    /// An account without queues, in eu-central-1.
    #[must_use]
    pub fn new() -> Self {
        Self {
            sqs: Sqs::new(REGION, ACCOUNT),
            cloudwatch: CloudWatch::new(REGION, ACCOUNT),
            ticked_at: None,
            calls: BTreeMap::new(),
        }
    }

    /// Creates a queue with attributes as SQS names them, such as `VisibilityTimeout`.
    ///
    /// # Errors
    /// What SQS would refuse, in its words.
    pub fn create_queue<'a>(
        &mut self,
        name: &str,
        attributes: impl IntoIterator<Item = (&'a str, &'a str)>,
        now: SystemTime,
    ) -> Result<(), AwsError> {
        let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        self.sqs.create(name, &attributes.into_iter().map(owned).collect(), now)
    }

    /// The ARN of a queue.
    #[must_use]
    pub fn queue_arn(&self, name: &str) -> String {
        self.sqs.arn(name)
    }

    /// The URL of a queue. Only its last part counts here.
    #[must_use]
    pub fn queue_url(&self, name: &str) -> String {
        format!("https://sqs.{REGION}.amazonaws.com/{ACCOUNT}/{name}")
    }

    /// Sends a message and says its id.
    ///
    /// # Errors
    /// What SQS would refuse, in its words.
    pub fn send(&mut self, queue: &str, message: NewMessage, now: SystemTime) -> Result<String, AwsError> {
        self.sqs.send(queue, message, now).map(|sent| sent.message_id)
    }

    /// Answers a request of an AWS SDK, for SQS or CloudWatch, in any of their protocols. A long poll does not wait.
    pub fn answer(&mut self, request: &Request<Bytes>, now: SystemTime) -> Response<Bytes> {
        let (response, wait) = self.try_answer(request, now);
        wait.iter().for_each(|wait| self.end_wait(wait));
        response
    }

    /// As [`answer`](Self::answer), but a long poll that may wait is to be tried again or ended.
    pub(crate) fn try_answer(
        &mut self,
        request: &Request<Bytes>,
        now: SystemTime,
    ) -> (Response<Bytes>, Option<Wait>) {
        let (response, call) = if let Some(call) = cloudwatch::SERVICE.read(request) {
            let clock = ClientClock::default();
            let (response, _) = cloudwatch::SERVICE.answer(&call, &mut self.cloudwatch, now, clock);
            (response, format!("cloudwatch.{}", call.operation))
        } else if let Some(call) = sqs::SERVICE.read(request) {
            let (response, wait) = sqs::SERVICE.answer(&call, &mut self.sqs, now, ClientClock::default());
            if wait.is_some() {
                return (response, wait);
            }
            (response, format!("sqs.{}", call.operation))
        } else {
            return (unknown_service(request), None);
        };
        *self.calls.entry(call).or_default() += 1;
        (response, None)
    }

    /// A long poll ends without messages.
    pub(crate) fn end_wait(&mut self, wait: &Wait) {
        self.sqs.end_empty_receive(&wait.queue);
        *self.calls.entry("sqs.ReceiveMessage".to_owned()).or_default() += 1;
    }

    /// Receives up to `size` messages as the event source mapping does, ten at a time; nothing if there are none.
    ///
    /// # Errors
    /// There is no such queue.
    pub fn deliver(
        &mut self,
        queue: &str,
        size: usize,
        now: SystemTime,
    ) -> Result<Option<Delivery>, AwsError> {
        let mut messages = Vec::new();
        while messages.len() < size {
            let received = self.sqs.receive(queue, (size - messages.len()).min(10), None, now)?;
            if received.is_empty() {
                break;
            }
            messages.extend(received);
        }
        Ok((!messages.is_empty()).then(|| self.delivery(queue, messages)))
    }

    /// Adds what can be received and passes the filters to a mapping's batch, and takes the batch out once it is due.
    pub(crate) fn poll(
        &mut self,
        mapping: &MappingConfig,
        batch: &mut Batch,
        now: SystemTime,
    ) -> Result<Option<Delivery>, AwsError> {
        let (queue, arn) = (&mapping.queue, self.sqs.arn(&mapping.queue));
        while batch.room(mapping) > 0 {
            let received = self.sqs.receive(queue, batch.room(mapping), None, now)?;
            if received.is_empty() {
                break;
            }
            let (wanted, unwanted) = filtered(received, mapping, &arn);
            for message in unwanted {
                self.sqs.delete(queue, &message.receipt_handle, now)?;
            }
            batch.add(wanted, &arn, now);
        }
        let full = batch.take(mapping, &arn, now);
        Ok(full.map(|Full { messages, opened: _ }| self.delivery(queue, messages)))
    }

    fn delivery(&self, queue: &str, messages: Vec<Received>) -> Delivery {
        let event = event(&messages, &self.sqs.arn(queue), |stamp| stamp);
        Delivery { queue: queue.to_owned(), messages, event }
    }

    /// Deletes what the function's response says is done, and names the deleted messages.
    ///
    /// # Errors
    /// Why the response is none; nothing is deleted then, as after an error or a timeout.
    pub fn settle(
        &mut self,
        delivery: &Delivery,
        response: &[u8],
        now: SystemTime,
    ) -> Result<Vec<String>, String> {
        let known: BTreeSet<&str> = delivery.ids().collect();
        let failed = failed_messages(response, &known)?;
        let done = delivery.messages.iter().filter(|message| !failed.contains(message.message_id.as_str()));
        let deleted = done.filter_map(|message| {
            let deletion = self.sqs.delete(&delivery.queue, &message.receipt_handle, now);
            deletion.is_ok().then(|| message.message_id.clone())
        });
        Ok(deleted.collect())
    }

    /// The queue that a queue's redrive policy names.
    pub(crate) fn dead_letter_queue(&self, queue: &str) -> Option<String> {
        let is_source = |dead: &&str| self.sqs.sources_of(dead).any(|source| source == queue);
        self.sqs.names().find(is_source).map(str::to_owned)
    }

    /// A queue's visibility timeout.
    pub(crate) fn visibility_timeout(&self, queue: &str) -> Option<Duration> {
        self.sqs.visibility_timeout(queue)
    }

    /// Creates an alarm, or gives one another definition.
    pub(crate) fn put_alarm(&mut self, config: AlarmConfig, now: SystemTime) -> Result<(), String> {
        self.cloudwatch.put_alarm(config.definition()?, now);
        Ok(())
    }

    /// The alarms that came into another state since the last call, in order.
    pub(crate) fn take_alarm_changes(&mut self) -> Vec<AlarmChange> {
        self.cloudwatch.take_changes()
    }

    /// Does the first of what is due by now without a call, and says when it was due: a message of a move task moves, or
    /// metrics are published and alarms evaluated. The first call begins to count the minutes.
    pub(crate) fn step(&mut self, now: SystemTime) -> Option<SystemTime> {
        let ticked_at = self.ticked_at.get_or_insert(now);
        let tick = self.cloudwatch.next_tick(*ticked_at);
        let due = self.sqs.next_move().map_or(tick, |due| due.min(tick));
        if due > now {
            return None;
        }
        self.sqs.advance(due);
        if due == tick {
            *ticked_at = tick;
            self.cloudwatch.tick(&mut self.sqs, tick);
        }
        Some(due)
    }

    /// Whether a queue holds no message, and no move task can bring it one.
    pub(crate) fn is_at_rest(&self, queue: &str, now: SystemTime) -> bool {
        self.sqs.next_move().is_none() && self.sqs.counts(queue, now).unwrap_or_default() == Counts::default()
    }

    /// When the next message that is hidden now can be received.
    #[must_use]
    pub fn next_change(&self, queue: &str, now: SystemTime) -> Option<SystemTime> {
        self.sqs.next_change(queue, now)
    }

    /// How many messages there are: visible, in flight, delayed.
    #[must_use]
    pub fn counts(&self, queue: &str, now: SystemTime) -> Option<Counts> {
        self.sqs.counts(queue, now)
    }

    /// All that happened to messages since the last call, in order.
    pub fn take_events(&mut self) -> Vec<QueueEvent> {
        self.sqs.take_events()
    }

    /// The calls that [`answer`](Self::answer) had, by operation, as in `sqs.SendMessageBatch`.
    #[must_use]
    pub fn calls(&self) -> &BTreeMap<String, usize> {
        &self.calls
    }

    /// The sum of all values of a metric, whatever its dimensions.
    #[must_use]
    pub fn metric_sum(&self, namespace: &str, name: &str) -> f64 {
        self.cloudwatch.sum(Some(namespace), name)
    }
}

impl Delivery {
    /// The event as JSON.
    #[must_use]
    pub fn event(&self) -> &[u8] {
        &self.event
    }

    /// The message ids, in order.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.messages.iter().map(|message| message.message_id.as_str())
    }
}
