//! The demo function under redrive-local: real processes, and a clock that skips the waiting but not the work.

use std::collections::BTreeMap;
use std::time::Duration;

use redrive_local::{
    Config, Event, EventKind, FunctionConfig, InvocationOutcome, Local, MappingConfig, NewMessage,
    QueueConfig, Speed, Totals,
};
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::timeout;

use super::VISIBILITY_TIMEOUT;
use super::function::{ORDERS, PATIENCE};

const ACCOUNT: &str = "123456789012";

/// As the template has it: the queue `orders` with the dead-letter queue `orders-dead`, but without a time limit.
pub(crate) fn shop(max_receive_count: u32) -> Config {
    let dead = format!("arn:aws:sqs:eu-west-1:{ACCOUNT}:orders-dead");
    let policy = json!({ "deadLetterTargetArn": dead, "maxReceiveCount": max_receive_count }).to_string();
    let attributes = [("VisibilityTimeout", VISIBILITY_TIMEOUT.to_string()), ("RedrivePolicy", policy)];
    let environment = [
        (
            "REDRIVE_DEAD_LETTER_QUEUE_URL",
            format!("https://sqs.eu-west-1.amazonaws.com/{ACCOUNT}/orders-dead"),
        ),
        ("REDRIVE_MAX_RECEIVE_COUNT", max_receive_count.to_string()),
        ("REDRIVE_VISIBILITY_TIMEOUT", VISIBILITY_TIMEOUT.to_string()),
    ];
    let owned = |(name, value): (&str, String)| (name.to_owned(), value);
    Config {
        region: "eu-west-1".to_owned(),
        account: ACCOUNT.to_owned(),
        queues: vec![
            QueueConfig { name: "orders-dead".to_owned(), attributes: BTreeMap::new() },
            QueueConfig { name: "orders".to_owned(), attributes: attributes.map(owned).into() },
        ],
        functions: vec![FunctionConfig {
            name: "orders".to_owned(),
            command: ORDERS.into(),
            environment: environment.map(owned).into(),
            timeout: Duration::from_secs(20),
            memory_mb: 256,
            show_output: true,
            ..FunctionConfig::default()
        }],
        mappings: vec![MappingConfig {
            queue: "orders".to_owned(),
            function: "orders".to_owned(),
            maximum_concurrency: Some(2),
            report_batch_item_failures: true,
            ..MappingConfig::default()
        }],
        speed: Speed::Max,
        ..Config::default()
    }
}

/// An order for one tea, with a gateway in this mood.
pub(crate) fn order(gateway: impl Into<Value>) -> String {
    let gateway = gateway.into();
    json!({ "order_id": "A-1", "lines": [{ "sku": "tea", "quantity": 1 }], "gateway": gateway }).to_string()
}

/// A shop at work.
#[derive(Debug)]
pub(crate) struct Open {
    pub(crate) local: Local,
    stream: UnboundedReceiver<Event>,
    events: Vec<Event>,
}

/// What happened until everything had come to rest.
#[derive(Debug)]
pub(crate) struct Story {
    pub(crate) events: Vec<Event>,
    pub(crate) totals: Totals,
}

impl Open {
    pub(crate) async fn start(config: Config) -> Self {
        let mut local = Local::start(config).await.unwrap();
        Self { stream: local.take_events(), local, events: Vec::new() }
    }

    /// Sends messages with these bodies; their ids.
    pub(crate) fn send<B: Into<String>>(&self, bodies: impl IntoIterator<Item = B>) -> Vec<String> {
        let message = |body: B| NewMessage { body: body.into(), ..NewMessage::default() };
        bodies.into_iter().map(|body| self.local.send("orders", message(body)).unwrap()).collect()
    }

    /// Waits for something to happen.
    pub(crate) async fn until<T>(&mut self, mut wanted: impl FnMut(&EventKind) -> Option<T>) -> T {
        let found = async {
            loop {
                let event = self.stream.recv().await.expect("the stream goes on");
                let found = wanted(&event.kind);
                self.events.push(event);
                if let Some(found) = found {
                    return found;
                }
            }
        };
        timeout(PATIENCE, found).await.expect("it happens")
    }

    pub(crate) async fn until_idle(&self) {
        timeout(PATIENCE, self.local.until_idle()).await.expect("it comes to rest");
    }

    pub(crate) async fn close(mut self) -> Story {
        let totals = timeout(PATIENCE, self.local.stop()).await.expect("it stops");
        while let Some(event) = self.stream.recv().await {
            self.events.push(event);
        }
        Story { events: self.events, totals }
    }
}

impl Story {
    /// How a message ended, such as `done 1` or `malformed 2`: all of its ends, and there should be one.
    pub(crate) fn ends(&self, id: &str) -> Vec<String> {
        let end = |kind: &EventKind| match kind {
            EventKind::Done { message_id, attempt, .. } if message_id == id => {
                Some(format!("done {attempt}"))
            }
            EventKind::DeadLettered { message_id, attempt, reason, .. } if message_id == id => {
                Some(format!("{reason} {attempt}"))
            }
            _ => None,
        };
        self.kinds().filter_map(end).collect()
    }

    pub(crate) fn kinds(&self) -> impl Iterator<Item = &EventKind> {
        self.events.iter().map(|event| &event.kind)
    }

    pub(crate) fn outcomes(&self) -> Vec<&InvocationOutcome> {
        let outcomes = self.kinds().filter_map(|kind| match kind {
            EventKind::InvocationEnded { outcome, .. } => Some(outcome),
            _ => None,
        });
        outcomes.collect()
    }
}
