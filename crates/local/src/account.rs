//! The services of one account and the rules of the event source mapping as plain values. `run/` adds processes and its own
//! clock, the test kit adds tokio's paused clock.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::{Request, Response};

use crate::clock::ClientClock;
use crate::cloudformation::{CloudFormation, api as cloudformation};
use crate::cloudwatch::{AlarmChange, AlarmConfig, CloudWatch, api as cloudwatch};
use crate::lambda::{Lambda, api as lambda};
use crate::logs::{Logs, api as logs};
use crate::mapping::{Capacity, Poller, Step, event, filtered, settle};
use crate::protocol::{AwsError, Call, Wait, unknown_service};
use crate::queue::{Counts, NewMessage, Received};
use crate::scheduler::{Scheduler, api as scheduler};
use crate::sqs::{QueueEvent, Sqs, api as sqs};
use crate::sts::{self, Sts};

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
    pub(crate) sqs: Sqs,
    pub(crate) cloudwatch: CloudWatch,
    pub(crate) lambda: Lambda,
    pub(crate) logs: Logs,
    pub(crate) cloudformation: CloudFormation,
    pub(crate) scheduler: Scheduler,
    sts: Sts,
    /// Time at which metrics were last published and alarms evaluated.
    pub(crate) ticked_at: Option<SystemTime>,
    calls: BTreeMap<String, usize>,
}

/// A client's call with its service.
#[derive(Debug)]
pub(crate) struct ServiceCall<'request> {
    pub(crate) service: AwsService,
    pub(crate) call: Call<'request>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AwsService {
    Sqs,
    CloudWatch,
    Lambda,
    Logs,
    CloudFormation,
    Scheduler,
    Sts,
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
    /// Creates an account without queues, in eu-central-1.
    #[must_use]
    pub fn new() -> Self {
        Self::in_region(REGION, ACCOUNT)
    }

    /// Creates an account with these queues.
    pub(crate) fn with_queues(sqs: Sqs) -> Self {
        Self { sqs, ..Self::new() }
    }

    pub(crate) fn in_region(region: &str, account: &str) -> Self {
        let created = SystemTime::UNIX_EPOCH;
        Self {
            sqs: Sqs::new(region, account),
            cloudwatch: CloudWatch::new(region, account),
            lambda: Lambda::new(region, account, &[], &[], created),
            logs: Logs::new(region, account, [], created),
            cloudformation: CloudFormation::new(region, account, None, created),
            scheduler: Scheduler::new(region, account),
            sts: Sts::new(account),
            ticked_at: None,
            calls: BTreeMap::new(),
        }
    }

    /// Creates a queue with attributes as SQS names them, such as `VisibilityTimeout`.
    ///
    /// # Errors
    /// Returns SQS's refusal, in its words.
    pub fn create_queue<'a>(
        &mut self,
        name: &str,
        attributes: impl IntoIterator<Item = (&'a str, &'a str)>,
        now: SystemTime,
    ) -> Result<(), AwsError> {
        let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        self.sqs.create(name, &attributes.into_iter().map(owned).collect(), now)
    }

    /// Returns the ARN of a queue.
    #[must_use]
    pub fn queue_arn(&self, name: &str) -> String {
        self.sqs.arn(name)
    }

    /// Returns the URL of a queue. Only its last part counts here.
    #[must_use]
    pub fn queue_url(&self, name: &str) -> String {
        format!("https://sqs.{REGION}.amazonaws.com/{ACCOUNT}/{name}")
    }

    /// Sends a message and returns its id.
    ///
    /// # Errors
    /// Returns SQS's refusal, in its words.
    pub fn send(&mut self, queue: &str, message: NewMessage, now: SystemTime) -> Result<String, AwsError> {
        self.sqs.send(queue, message, now).map(|sent| sent.message_id)
    }

    /// Answers a request of an AWS client, in any protocol of its service. A long poll does not wait.
    pub fn answer(&mut self, request: &Request<Bytes>, now: SystemTime) -> Response<Bytes> {
        let (response, wait) = self.try_answer(request, now);
        wait.iter().for_each(|wait| self.end_wait(wait));
        response
    }

    /// Answers a request like [`answer`](Self::answer). If a long poll may wait, the caller tries it again or ends it.
    pub(crate) fn try_answer(
        &mut self,
        request: &Request<Bytes>,
        now: SystemTime,
    ) -> (Response<Bytes>, Option<Wait>) {
        let Some(call) = ServiceCall::read(request) else { return (unknown_service(request), None) };
        let (response, wait) = self.perform(&call, now, ClientClock::default());
        if wait.is_none() {
            *self.calls.entry(call.name()).or_default() += 1;
        }
        (response, wait)
    }

    /// Answers the call of a client with this clock, and returns how long the call may wait.
    pub(crate) fn perform(
        &mut self,
        ServiceCall { service, call }: &ServiceCall<'_>,
        now: SystemTime,
        clock: ClientClock,
    ) -> (Response<Bytes>, Option<Wait>) {
        match service {
            AwsService::Sqs => sqs::SERVICE.answer(call, &mut self.sqs, now, clock),
            AwsService::CloudWatch => cloudwatch::SERVICE.answer(call, &mut self.cloudwatch, now, clock),
            AwsService::Lambda => lambda::SERVICE.answer(call, &mut self.lambda, now, clock),
            AwsService::Logs => logs::SERVICE.answer(call, &mut self.logs, now, clock),
            AwsService::CloudFormation => {
                cloudformation::SERVICE.answer(call, &mut self.cloudformation, now, clock)
            }
            AwsService::Scheduler => scheduler::SERVICE.answer(call, &mut self.scheduler, now, clock),
            AwsService::Sts => sts::SERVICE.answer(call, &mut self.sts, now, clock),
        }
    }

    /// Ends a long poll without messages.
    pub(crate) fn end_wait(&mut self, wait: &Wait) {
        self.sqs.end_empty_receive(&wait.queue);
        *self.calls.entry("sqs.ReceiveMessage".to_owned()).or_default() += 1;
    }

    /// Receives up to `size` messages as the event source mapping does, ten at a time. Returns None if there are none.
    ///
    /// # Errors
    /// Returns an error if the queue does not exist.
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

    /// Gives a mapping the messages that it can receive and that pass its filters, and returns its next step.
    pub(crate) fn poll(
        &mut self,
        poller: &mut Poller,
        capacity: Capacity,
        now: SystemTime,
    ) -> Result<Option<Step>, AwsError> {
        if let Some(step) = poller.retry(capacity, now) {
            return Ok(Some(step));
        }
        while poller.room(capacity) > 0 {
            let queue = &poller.config.queue;
            let received = self.sqs.receive(queue, poller.room(capacity), None, now)?;
            if received.is_empty() {
                break;
            }
            let (wanted, unwanted) = filtered(received, &poller.config, &poller.queue_arn);
            for message in unwanted {
                // If the message cannot be deleted any more, it returns.
                let _ = self.sqs.delete(queue, &message.receipt_handle, now);
            }
            poller.add(wanted, now);
        }
        let hidden = self.sqs.visibility_timeout(&poller.config.queue).unwrap_or_default();
        Ok(poller.take(capacity, hidden, now))
    }

    pub(crate) fn delivery(&self, queue: &str, messages: Vec<Received>) -> Delivery {
        let event = event(&messages, &self.sqs.arn(queue), |stamp| stamp);
        Delivery { queue: queue.to_owned(), messages, event }
    }

    /// Deletes the messages that succeeded according to the function's response, and returns their ids.
    ///
    /// # Errors
    /// Returns an error if the response is not a batch response. Nothing is deleted then, as after an error or a timeout.
    pub fn settle(
        &mut self,
        delivery: &Delivery,
        response: &[u8],
        now: SystemTime,
    ) -> Result<Vec<String>, String> {
        settle(&mut self.sqs, &delivery.queue, &delivery.messages, response, now)
    }

    /// Returns the dead-letter queue and the maxReceiveCount of a queue's redrive policy.
    pub(crate) fn redrive_policy(&self, queue: &str) -> Option<(String, u32)> {
        self.sqs.redrive_of(queue)
    }

    pub(crate) fn visibility_timeout(&self, queue: &str) -> Option<Duration> {
        self.sqs.visibility_timeout(queue)
    }

    /// Creates an alarm, or replaces its definition.
    pub(crate) fn put_alarm(&mut self, config: AlarmConfig, now: SystemTime) -> Result<(), String> {
        self.cloudwatch.put_alarm(config.definition()?, now);
        Ok(())
    }

    /// Returns the alarms' changes of state since the last call, in order.
    pub(crate) fn take_alarm_changes(&mut self) -> Vec<AlarmChange> {
        self.cloudwatch.take_changes()
    }

    /// Does the first thing that is due without a call, and returns when it was due: moves a message of a move task, sends the
    /// message of a schedule, or publishes metrics and evaluates alarms. The first call begins to count the minutes.
    pub(crate) fn step(&mut self, now: SystemTime) -> Option<SystemTime> {
        self.ticked_at.get_or_insert(now);
        let tick = self.next_tick(now);
        let due = self.next_action().map_or(tick, |next| next.min(tick));
        if due > now {
            return None;
        }
        if let Some((_, request)) = self.scheduler.take_due(due) {
            self.send_scheduled(&request, due);
        }
        self.sqs.advance(due);
        self.tick(due);
        Some(due)
    }

    /// Makes a schedule's call to SQS. A message that SQS refuses is gone, as without a dead-letter queue of the schedule.
    pub(crate) fn send_scheduled(&mut self, request: &Request<Bytes>, now: SystemTime) {
        let call = ServiceCall::read(request).expect("it is a call to SQS");
        self.perform(&call, now, ClientClock::default());
    }

    /// Returns the time at which a message of a move task or of a schedule is next sent.
    pub(crate) fn next_action(&self) -> Option<SystemTime> {
        self.sqs.next_move().into_iter().chain(self.scheduler.next()).min()
    }

    /// Returns the time at which metrics are next published or alarms evaluated.
    pub(crate) fn next_tick(&self, now: SystemTime) -> SystemTime {
        self.cloudwatch.next_tick(self.ticked_at.unwrap_or(now))
    }

    /// Publishes metrics and evaluates alarms once if that is due. Returns true if it was.
    pub(crate) fn tick(&mut self, now: SystemTime) -> bool {
        let tick = self.next_tick(now);
        let is_due = tick <= now;
        if is_due {
            self.cloudwatch.tick(&mut self.sqs, tick);
            self.ticked_at = Some(tick);
        }
        is_due
    }

    /// Returns true if no tick from this moment on can change anything until something happens.
    pub(crate) fn rests(&self, from: SystemTime) -> bool {
        self.cloudwatch.rests(&self.sqs, from)
    }

    /// Returns true if a queue is empty, and neither a move task nor a schedule can send a message to it.
    pub(crate) fn is_at_rest(&self, queue: &str, now: SystemTime) -> bool {
        self.sqs.next_move().is_none()
            && !self.scheduler.sends_to(queue)
            && self.sqs.counts(queue, now).unwrap_or_default() == Counts::default()
    }

    /// Returns the time at which the next hidden message can be received.
    #[must_use]
    pub fn next_change(&self, queue: &str, now: SystemTime) -> Option<SystemTime> {
        self.sqs.next_change(queue, now)
    }

    /// Returns the numbers of visible, in-flight and delayed messages.
    #[must_use]
    pub fn counts(&self, queue: &str, now: SystemTime) -> Option<Counts> {
        self.sqs.counts(queue, now)
    }

    /// Returns everything that happened to messages since the last call, in order.
    pub fn take_events(&mut self) -> Vec<QueueEvent> {
        self.sqs.take_events()
    }

    /// Returns the number of calls to [`answer`](Self::answer) by operation, such as `sqs.SendMessageBatch`.
    #[must_use]
    pub fn calls(&self) -> &BTreeMap<String, usize> {
        &self.calls
    }

    /// Returns the sum of all values of a metric, over all its dimensions.
    #[must_use]
    pub fn metric_sum(&self, namespace: &str, name: &str) -> f64 {
        self.cloudwatch.sum(Some(namespace), name)
    }
}

impl<'request> ServiceCall<'request> {
    /// The names of the services.
    pub(crate) const SERVICES: [&'static str; 7] = [
        sqs::SERVICE.name,
        cloudwatch::SERVICE.name,
        lambda::SERVICE.name,
        logs::SERVICE.name,
        cloudformation::SERVICE.name,
        scheduler::SERVICE.name,
        sts::SERVICE.name,
    ];

    /// Reads the call in a request, if it is for one of the services here.
    pub(crate) fn read(request: &'request Request<Bytes>) -> Option<Self> {
        let of = |service| move |call| Self { service, call };
        let sqs = sqs::SERVICE.read(request).map(of(AwsService::Sqs));
        sqs.or_else(|| cloudwatch::SERVICE.read(request).map(of(AwsService::CloudWatch)))
            .or_else(|| lambda::SERVICE.read(request).map(of(AwsService::Lambda)))
            .or_else(|| logs::SERVICE.read(request).map(of(AwsService::Logs)))
            .or_else(|| cloudformation::SERVICE.read(request).map(of(AwsService::CloudFormation)))
            .or_else(|| scheduler::SERVICE.read(request).map(of(AwsService::Scheduler)))
            .or_else(|| sts::SERVICE.read(request).map(of(AwsService::Sts)))
    }

    /// Returns the name under which the call is counted, such as `sqs.SendMessageBatch`.
    pub(crate) fn name(&self) -> String {
        let service = match self.service {
            AwsService::Sqs => sqs::SERVICE.name,
            AwsService::CloudWatch => cloudwatch::SERVICE.name,
            AwsService::Lambda => lambda::SERVICE.name,
            AwsService::Logs => logs::SERVICE.name,
            AwsService::CloudFormation => cloudformation::SERVICE.name,
            AwsService::Scheduler => scheduler::SERVICE.name,
            AwsService::Sts => sts::SERVICE.name,
        };
        format!("{service}.{}", self.call.operation)
    }
}

impl Delivery {
    /// Returns the event as JSON.
    #[must_use]
    pub fn event(&self) -> &[u8] {
        &self.event
    }

    /// Returns the message ids, in order.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.messages.iter().map(|message| message.message_id.as_str())
    }
}
