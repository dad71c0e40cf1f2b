//! A consumer, an account of redrive-local behind the real SDK clients, and tokio's clock for both.

pub(crate) mod flaky;
pub(crate) mod function;
pub(crate) mod loopback;
pub(crate) mod runtimes;
pub(crate) mod scripted;
pub(crate) mod shop;
pub(crate) mod ways;

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_lambda_events::sqs::SqsEvent;
use redrive::{BatchReport, Consumer, Handler, Input};
use redrive_local::kit::{Fault, Queue, TestAws};
use redrive_local::{InvocationOutcome, NewMessage, QueueEvent};
use serde_json::{Value, json};
use tokio::time::Instant;

/// The queue's settings, as the template has them.
pub(crate) const VISIBILITY_TIMEOUT: u64 = 180;

/// What a call takes here.
pub(crate) const LATENCY: Duration = Duration::from_millis(5);

/// An event of messages with these bodies, whose ids are `m0`, `m1` and so on.
pub(crate) fn event<B: ToString>(bodies: impl IntoIterator<Item = B>) -> Value {
    event_of("orders", "m", bodies)
}

/// An event of messages of a queue, each in a group of its own, whose ids begin with a name.
pub(crate) fn event_of<B: ToString>(queue: &str, name: &str, bodies: impl IntoIterator<Item = B>) -> Value {
    let record = |(at, body): (usize, B)| {
        json!({
            "messageId": format!("{name}{at}"),
            "receiptHandle": "handle",
            "body": body.to_string(),
            "attributes": { "MessageGroupId": format!("g-{at}") },
            "eventSourceARN": format!("arn:aws:sqs:eu-west-1:123456789012:{queue}"),
        })
    };
    json!({ "Records": bodies.into_iter().enumerate().map(record).collect::<Vec<_>>() })
}

/// A test account with the queues of these tests.
#[derive(Debug, Clone)]
pub(crate) struct Aws(TestAws);

/// What a batch led to.
#[derive(Debug)]
pub(crate) struct Handled {
    /// In the order of the records.
    pub(crate) delivered: Vec<String>,
    /// Reported as failed, in order.
    pub(crate) failed: Vec<String>,
    pub(crate) report: BatchReport,
    pub(crate) events: Vec<QueueEvent>,
    pub(crate) took: Duration,
}

/// The same fault for every call of an operation.
pub(crate) fn always(operation: &'static str, fault: Fault) -> impl Fn(&str, usize) -> Option<Fault> {
    move |called, _| (called == operation).then_some(fault)
}

impl Deref for Aws {
    type Target = TestAws;

    fn deref(&self) -> &TestAws {
        &self.0
    }
}

impl Aws {
    pub(crate) fn new() -> Self {
        let aws = TestAws::new();
        aws.latency(LATENCY);
        Self(aws)
    }

    /// A standard queue `orders` with the dead-letter queue `orders-dead`, ten deliveries.
    pub(crate) fn standard() -> Self {
        Self::new().with_queues("orders", "orders-dead")
    }

    /// The same with `.fifo` at the end of both names.
    pub(crate) fn fifo() -> Self {
        Self::new().with_queues("orders.fifo", "orders-dead.fifo")
    }

    fn with_queues(self, queue: &str, dead: &str) -> Self {
        let queue =
            self.queue(queue).dead_letter_queue(dead, 10).attribute("MessageRetentionPeriod", "604800");
        queue.visibility_timeout(Duration::from_secs(VISIBILITY_TIMEOUT)).create();
        self
    }

    /// A queue that is there.
    pub(crate) fn open(&self, queue: &str) -> Queue {
        self.queue(queue).create()
    }

    /// The consumer as the template sets it up, with the clients of this account.
    pub(crate) fn consumer<H, M>(&self, queue: &str, handler: H) -> Consumer<H, M>
    where
        H: Handler<M>,
        M: Input,
    {
        let dead = if queue.ends_with(".fifo") { "orders-dead.fifo" } else { "orders-dead" };
        Consumer::new(handler)
            .sqs(self.sqs())
            .cloudwatch(self.cloudwatch())
            .dead_letter_queue_url(self.open(dead).url())
            .max_receive_count(10)
            .visibility_timeout(Duration::from_secs(VISIBILITY_TIMEOUT))
    }

    pub(crate) fn send(&self, queue: &str, message: impl Into<NewMessage>) -> String {
        self.open(queue).send(message).id().to_owned()
    }

    pub(crate) fn send_all<B: ToString>(
        &self,
        queue: &str,
        bodies: impl IntoIterator<Item = B>,
    ) -> Vec<String> {
        bodies.into_iter().map(|body| self.send(queue, body.to_string())).collect()
    }

    /// The event of a batch of so many messages, which stay in flight.
    pub(crate) fn event(&self, queue: &str, size: usize) -> SqsEvent {
        let records = self.open(queue).receive(size);
        assert!(!records.is_empty(), "a message can be received");
        serde_json::from_value(json!({ "Records": records })).unwrap()
    }

    /// Hands one batch to the consumer, 30 s before its deadline, and does what the mapping does with the answer.
    pub(crate) async fn handle<H, M>(&self, consumer: &Consumer<H, M>, queue: &str, size: usize) -> Handled
    where
        H: Handler<M>,
        M: Input,
    {
        self.handle_within(Duration::from_secs(30), consumer, queue, size).await
    }

    pub(crate) async fn handle_within<H, M>(
        &self,
        left: Duration,
        consumer: &Consumer<H, M>,
        queue: &str,
        size: usize,
    ) -> Handled
    where
        H: Handler<M>,
        M: Input,
    {
        let before = self.events().len();
        let report = Arc::new(Mutex::new(None));
        let observed = Arc::clone(&report);
        let consumer = consumer
            .clone()
            .observe(move |report: &BatchReport| *observed.lock().unwrap() = Some(report.clone()));

        let failed = Mutex::new(Vec::new());
        // Lambda leaves it alone for longer, so that the consumer has to keep its deadline by itself.
        let function = async |event: SqsEvent, _| {
            let response = consumer.handle(event, Instant::now() + left).await?;
            let failures = &response.batch_item_failures;
            *failed.lock().unwrap() = failures.iter().map(|it| it.item_identifier.clone()).collect();
            Ok::<_, redrive::Error>(response)
        };
        let window = Duration::from_secs(if size > 10 { 1 } else { 0 });
        let queue = self.open(queue);
        let mapping = queue.invokes(function).batch_size(size).batching_window(window);
        let invocation = mapping.timeout(left + Duration::from_secs(30)).once().await;
        assert_eq!(invocation.outcome, InvocationOutcome::Succeeded, "lambda takes the response");
        // An observer for whom no time was left has its turn now, unless the workers are blocked.
        tokio::task::yield_now().await;

        let events = self.events().split_off(before).into_iter().map(|(_, event)| event);
        let received =
            |event: &QueueEvent| matches!(event, QueueEvent::Received { .. } | QueueEvent::Moved { .. });
        let report = report.lock().unwrap().take().unwrap_or_default();
        Handled {
            delivered: invocation.messages,
            failed: failed.into_inner().unwrap(),
            report,
            events: events.skip_while(received).collect(),
            took: invocation.took,
        }
    }
}

impl Handled {
    /// The visibility timeouts that were set, in seconds, by message.
    pub(crate) fn delays(&self) -> BTreeMap<&str, u64> {
        let delay = |event| match event {
            &QueueEvent::VisibilityChanged { ref message_id, timeout, .. } => {
                Some((message_id.as_str(), timeout.as_secs()))
            }
            _ => None,
        };
        self.events.iter().filter_map(delay).collect()
    }

    /// The notes of the letters that were written, in order.
    pub(crate) fn notes(&self) -> Vec<redrive::DeadLetter> {
        let note = |event: &QueueEvent| match event {
            QueueEvent::Sent { attributes, .. } => {
                let note = attributes.get("redrive.dead-letter")?;
                let redrive_local::AttributeValue::Text(json) = &note.value else { return None };
                serde_json::from_str(json).ok()
            }
            _ => None,
        };
        self.events.iter().filter_map(note).collect()
    }

    /// The messages that were deleted from their queue, in order.
    pub(crate) fn deleted(&self) -> Vec<&str> {
        let deleted = self.events.iter().filter_map(|event| match event {
            QueueEvent::Deleted { message_id, .. } => Some(message_id.as_str()),
            _ => None,
        });
        deleted.collect()
    }
}
