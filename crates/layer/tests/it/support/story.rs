//! A function behind the layer at a queue of redrive-local, whose clock skips the waiting but not the work.

use std::collections::BTreeMap;
use std::time::Duration;

use redrive_local::{
    Config, EventKind, FunctionConfig, Local, MappingConfig, NewMessage, QueueConfig, Speed,
};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::{Language, PATIENCE};

const ACCOUNT: &str = "123456789012";

/// Settings of a queue and its function.
#[derive(Debug, Clone)]
pub(crate) struct Setup {
    pub(crate) language: Language,
    pub(crate) queue: &'static str,
    pub(crate) variables: Vec<(&'static str, String)>,
    pub(crate) batch_size: usize,
}

/// Events until everything was idle.
#[derive(Debug)]
pub(crate) struct Story {
    /// Ids of the messages, in the order of sending.
    pub(crate) ids: Vec<String>,
    pub(crate) kinds: Vec<EventKind>,
}

impl Setup {
    /// Creates a standard queue with batches of one message.
    pub(crate) fn new(language: Language) -> Self {
        Self { language, queue: "orders", variables: Vec::new(), batch_size: 1 }
    }

    pub(crate) fn variable(mut self, name: &'static str, value: &str) -> Self {
        self.variables.push((name, value.to_owned()));
        self
    }

    fn config(&self) -> Config {
        let dead = self.queue.replace("orders", "orders-dead");
        let arn = format!("arn:aws:sqs:eu-west-1:{ACCOUNT}:{dead}");
        let policy = json!({ "deadLetterTargetArn": arn, "maxReceiveCount": 3 }).to_string();
        let mut attributes: BTreeMap<_, _> =
            [("VisibilityTimeout".to_owned(), "120".to_owned()), ("RedrivePolicy".to_owned(), policy)].into();
        let mut of_dead = BTreeMap::new();
        if self.queue.ends_with(".fifo") {
            for attributes in [&mut attributes, &mut of_dead] {
                attributes.insert("FifoQueue".to_owned(), "true".to_owned());
                attributes.insert("ContentBasedDeduplication".to_owned(), "true".to_owned());
            }
        }
        let url = format!("https://sqs.eu-west-1.amazonaws.com/{ACCOUNT}/{dead}");
        let environment = [
            ("REDRIVE_DEAD_LETTER_QUEUE_URL", url),
            ("REDRIVE_MAX_RECEIVE_COUNT", "3".to_owned()),
            ("REDRIVE_VISIBILITY_TIMEOUT", "120".to_owned()),
            ("_HANDLER", "app.handler".to_owned()),
        ];
        let owned = |(name, value): (&str, String)| (name.to_owned(), value);
        Config {
            region: "eu-west-1".to_owned(),
            account: ACCOUNT.to_owned(),
            queues: vec![
                QueueConfig { name: dead, attributes: of_dead },
                QueueConfig { name: self.queue.to_owned(), attributes },
            ],
            functions: vec![FunctionConfig {
                name: "orders".to_owned(),
                command: self.language.bootstrap(),
                environment: environment.into_iter().chain(self.variables.clone()).map(owned).collect(),
                timeout: Duration::from_secs(20),
                memory_mb: 256,
                show_output: true,
                ..FunctionConfig::default()
            }],
            mappings: vec![MappingConfig {
                queue: self.queue.to_owned(),
                function: "orders".to_owned(),
                maximum_concurrency: Some(1),
                batch_size: self.batch_size,
                report_batch_item_failures: true,
                ..MappingConfig::default()
            }],
            speed: Speed::Max,
            ..Config::default()
        }
    }

    /// Sends messages with these bodies, and waits until all have ended.
    pub(crate) async fn run(&self, bodies: impl IntoIterator<Item = Value>) -> Story {
        let group = self.queue.ends_with(".fifo").then(|| "g".to_owned());
        let messages = bodies.into_iter().map(|body| NewMessage {
            body: body.to_string(),
            group_id: group.clone(),
            ..NewMessage::default()
        });
        let mut local = Local::start(self.config()).await.unwrap();
        let mut stream = local.take_events();
        let ids = messages.into_iter().map(|message| local.send(self.queue, message).unwrap()).collect();
        timeout(PATIENCE, local.until_idle()).await.expect("it comes to rest");
        timeout(PATIENCE, local.stop()).await.expect("it stops");
        let mut kinds = Vec::new();
        while let Some(event) = stream.recv().await {
            kinds.push(event.kind);
        }
        Story { ids, kinds }
    }
}

impl Story {
    /// Returns a message's end, such as `done 1` or `rejected 2`, and the error of its letter's note.
    pub(crate) fn end(&self, id: &str) -> (String, String) {
        let ends: Vec<_> = self.kinds.iter().filter_map(|kind| end(kind, id)).collect();
        let [end] = ends.as_slice() else { panic!("{id} has one end: {ends:?}\n{self:#?}") };
        end.clone()
    }

    /// Returns the ends of all messages, in the order of sending.
    pub(crate) fn ends(&self) -> Vec<String> {
        self.ids.iter().map(|id| self.end(id).0).collect()
    }

    /// Returns the values that the function printed after `told`.
    pub(crate) fn printed(&self) -> Vec<Value> {
        let told = self.kinds.iter().filter_map(|kind| match kind {
            EventKind::Output { line, .. } => serde_json::from_str(line.strip_prefix("told ")?).ok(),
            _ => None,
        });
        told.collect()
    }

    /// Returns the lines of the function's process and of the layer that contain this text.
    pub(crate) fn lines(&self, with: &str) -> Vec<&str> {
        let lines = self.kinds.iter().filter_map(|kind| match kind {
            EventKind::Output { line, .. } if line.contains(with) => Some(line.as_str()),
            _ => None,
        });
        lines.collect()
    }

    /// Returns a message's delays after each attempt, in seconds.
    pub(crate) fn waits(&self, id: &str) -> Vec<u64> {
        let waits = self.kinds.iter().filter_map(|kind| match kind {
            EventKind::BackIn { message_id, seconds, .. } if message_id == id => Some(*seconds),
            _ => None,
        });
        waits.collect()
    }
}

fn end(kind: &EventKind, id: &str) -> Option<(String, String)> {
    match kind {
        EventKind::Done { message_id, attempt, .. } if message_id == id => {
            Some((format!("done {attempt}"), String::new()))
        }
        EventKind::DeadLettered { message_id, attempt, reason, error, .. } if message_id == id => {
            Some((format!("{reason} {attempt}"), error.clone().unwrap_or_default()))
        }
        _ => None,
    }
}
