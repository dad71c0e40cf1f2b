//! A consumer, an account of redrive-local behind the real SDK clients, and tokio's clock for both.

mod faults;
pub(crate) mod function;
mod http;
pub(crate) mod loopback;
pub(crate) mod shop;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, SystemTime};

use aws_lambda_events::sqs::SqsEvent;
use redrive::{BatchReport, Consumer, FromMessage, Handler};
use redrive_local::{Account, Delivery, NewMessage, QueueEvent};
use tokio::time::Instant;

pub(crate) use faults::{Fault, Faults};
pub(crate) use http::LATENCY;

/// The queue's settings, as the template has them.
pub(crate) const VISIBILITY_TIMEOUT: u64 = 180;

/// One account on tokio's clock.
#[derive(Debug, Clone)]
pub(crate) struct Aws {
    account: Arc<Mutex<Account>>,
    faults: Arc<Faults>,
    began: (Instant, SystemTime),
    latency: Duration,
}

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

impl Aws {
    pub(crate) fn new() -> Self {
        Self::with_faults(Faults::none())
    }

    pub(crate) fn with_faults(faults: Faults) -> Self {
        Self {
            account: Arc::new(Mutex::new(Account::new())),
            faults: Arc::new(faults),
            began: (Instant::now(), SystemTime::now()),
            latency: LATENCY,
        }
    }

    /// A standard queue `orders` with the dead-letter queue `orders-dead`, ten deliveries.
    pub(crate) fn standard() -> Self {
        Self::new().with_queues("orders", "orders-dead", 10)
    }

    /// The same with `.fifo` at the end of both names.
    pub(crate) fn fifo() -> Self {
        Self::new().with_queues("orders.fifo", "orders-dead.fifo", 10)
    }

    pub(crate) fn with_queues(self, queue: &str, dead: &str, max_receive_count: u32) -> Self {
        let now = self.now();
        let visibility = VISIBILITY_TIMEOUT.to_string();
        let mut account = self.account();
        let target = account.queue_arn(dead);
        let policy = format!(r#"{{"deadLetterTargetArn":"{target}","maxReceiveCount":{max_receive_count}}}"#);
        let fifo = queue.ends_with(".fifo").then_some(("FifoQueue", "true"));
        let dead_attributes = [("MessageRetentionPeriod", "1209600")].into_iter().chain(fifo);
        account.create_queue(dead, dead_attributes, now).unwrap();
        let attributes = [("VisibilityTimeout", visibility.as_str()), ("MessageRetentionPeriod", "604800")];
        let attributes = attributes.into_iter().chain([("RedrivePolicy", policy.as_str())]).chain(fifo);
        account.create_queue(queue, attributes, now).unwrap();
        drop(account);
        self
    }

    pub(crate) fn account(&self) -> MutexGuard<'_, Account> {
        self.account.lock().unwrap()
    }

    /// The time that tokio's clock shows, as SQS would write it.
    pub(crate) fn now(&self) -> SystemTime {
        self.began.1 + self.began.0.elapsed()
    }

    /// The consumer as the template sets it up, with the clients of this account.
    pub(crate) fn consumer<H, M>(&self, queue: &str, handler: H) -> Consumer<H, M>
    where
        H: Handler<M>,
        M: FromMessage,
    {
        let dead = if queue.ends_with(".fifo") { "orders-dead.fifo" } else { "orders-dead" };
        Consumer::new(handler)
            .sqs(self.sqs())
            .cloudwatch(self.cloudwatch())
            .dead_letter_queue_url(self.account().queue_url(dead))
            .max_receive_count(10)
            .visibility_timeout(Duration::from_secs(VISIBILITY_TIMEOUT))
    }

    pub(crate) fn send(&self, queue: &str, message: NewMessage) -> String {
        let now = self.now();
        self.account().send(queue, message, now).unwrap()
    }

    pub(crate) fn send_all<B: ToString>(
        &self,
        queue: &str,
        bodies: impl IntoIterator<Item = B>,
    ) -> Vec<String> {
        let message = |body: B| NewMessage { body: body.to_string(), ..NewMessage::default() };
        bodies.into_iter().map(|body| self.send(queue, message(body))).collect()
    }

    pub(crate) fn deliver(&self, queue: &str, size: usize) -> Delivery {
        let now = self.now();
        self.account().deliver(queue, size, now).unwrap().expect("a message can be received")
    }

    /// Hands one batch to the consumer, 30 s before its deadline, and does what the mapping does with the answer.
    pub(crate) async fn handle<H, M>(&self, consumer: &Consumer<H, M>, queue: &str, size: usize) -> Handled
    where
        H: Handler<M>,
        M: FromMessage,
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
        M: FromMessage,
    {
        let delivery = self.deliver(queue, size);
        self.account().take_events();
        let report = Arc::new(Mutex::new(None));
        let observed = Arc::clone(&report);
        let consumer =
            consumer.clone().observe(move |report| *observed.lock().unwrap() = Some(report.clone()));

        let began = Instant::now();
        let event: SqsEvent = serde_json::from_slice(delivery.event()).unwrap();
        let response = consumer.handle(event, began + left).await.unwrap();
        let took = began.elapsed();
        // An observer for whom no time was left has its turn now, unless the workers are blocked.
        tokio::task::yield_now().await;

        let json = serde_json::to_vec(&response).unwrap();
        let now = self.now();
        let mut account = self.account();
        account.settle(&delivery, &json, now).expect("lambda takes the response");
        let failed =
            response.batch_item_failures.into_iter().map(|failure| failure.item_identifier).collect();
        let report = report.lock().unwrap().take().unwrap_or_default();
        Handled {
            delivered: delivery.ids().map(str::to_owned).collect(),
            failed,
            report,
            events: account.take_events(),
            took,
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
