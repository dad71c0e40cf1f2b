//! Starts an AWS for a test on a loopback port, and runs the command against it.

pub(crate) mod ends;
mod faulty;
mod ran;
pub(crate) mod running;
mod shop;
mod words;

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Mutex;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::config::{BehaviorVersion, Credentials, Region};
use aws_sdk_sqs::types::QueueAttributeName;
use redrive_local::{Config, Event, EventKind, Local, QueueConfig};
use tokio::runtime::Runtime;
use tokio::sync::mpsc::UnboundedReceiver;

use self::running::until;
pub(crate) use faulty::{at_first, on};
pub(crate) use ran::{Ran, command, command_at, local, process, spawn, unread};
pub(crate) use words::Words;

/// The region and the account of every test.
pub(crate) const REGION: &str = "eu-west-1";
pub(crate) const ACCOUNT: &str = "123456789012";

/// SQS and CloudWatch, until dropped.
pub(crate) struct Aws {
    runtime: Runtime,
    local: Option<Local>,
    events: Mutex<UnboundedReceiver<Event>>,
    pub(crate) url: String,
    pub(crate) sqs: Client,
}

impl Aws {
    /// With these queues, dead-letter queues first.
    pub(crate) fn start(queues: Vec<QueueConfig>) -> Self {
        Self::of(Config { queues, ..Config::default() })
    }

    /// With more than queues.
    pub(crate) fn of(config: Config) -> Self {
        let runtime = Runtime::new().expect("a runtime starts");
        let config = Config { region: REGION.to_owned(), account: ACCOUNT.to_owned(), ..config };
        let mut local = runtime.block_on(Local::start(config)).expect("it starts");
        let events = Mutex::new(local.take_events());
        let url = local.endpoint_url();
        let sqs = client(&url, REGION);
        Self { runtime, local: Some(local), events, url, sqs }
    }

    /// A queue `orders` whose letters end in `orders-dead` after three deliveries; with `.fifo` at the end of both if asked.
    pub(crate) fn with_orders(fifo: bool) -> Self {
        Self::start(orders(fifo))
    }

    /// Runs `redrive`, with nothing on its standard input.
    pub(crate) fn redrive(&self, line: &(impl Words + ?Sized)) -> Ran {
        self.redrive_with(line, "")
    }

    /// Runs `redrive` with a text on its standard input.
    pub(crate) fn redrive_with(&self, line: &(impl Words + ?Sized), stdin: &str) -> Ran {
        Ran::of(command_at(&self.url, line).write_stdin(stdin))
    }

    /// Lets time pass at once.
    pub(crate) fn skip(&self, seconds: u64) {
        skip(self.url.trim_start_matches("http://"), seconds);
    }

    /// Waits until one more message is hidden for so many seconds, as it is with a delay before a retry.
    pub(crate) fn until_hidden(&self, for_seconds: u64) {
        until(&format!("hidden for {for_seconds} s"), || {
            let mut events = self.events.lock().expect("no test of it has failed");
            let is_meant = |kind| matches!(kind, EventKind::BackIn { seconds, .. } if seconds == for_seconds);
            std::iter::from_fn(|| events.try_recv().ok()).any(|event| is_meant(event.kind))
        });
    }

    /// Waits for calls of a client.
    pub(crate) fn wait<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }

    /// Beside the test, until this AWS ends.
    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.runtime.spawn(work);
    }

    /// Sends a text; returns its message id.
    pub(crate) fn send(&self, queue: &str, body: &str) -> String {
        let request = self.sqs.send_message().queue_url(self.queue_url(queue)).message_body(body);
        self.wait(request.send()).expect("it is sent").message_id.expect("it has an id")
    }

    /// An attribute of a queue, empty if it has none of this name.
    pub(crate) fn attribute(&self, queue: &str, name: &str) -> String {
        let request = self.sqs.get_queue_attributes().queue_url(self.queue_url(queue));
        let read = self.wait(request.attribute_names(QueueAttributeName::All).send());
        let attributes = read.expect("the queue is there").attributes.unwrap_or_default();
        attributes.get(&QueueAttributeName::from(name)).cloned().unwrap_or_default()
    }

    pub(crate) fn queue_url(&self, name: &str) -> String {
        format!("{}/{ACCOUNT}/{name}", self.url)
    }
}

/// Lets time pass at once at this host and port.
pub(crate) fn skip(host: &str, seconds: u64) {
    let body = seconds.to_string();
    let request = format!(
        "POST /_redrive/skip HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(host).expect("it listens");
    stream.write_all(request.as_bytes()).expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers with text");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

/// A client of what is at this endpoint.
pub(crate) fn client(url: &str, region: &'static str) -> Client {
    let config = aws_sdk_sqs::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new(region))
        .credentials_provider(Credentials::new("local", "local", None, None, "tests"))
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .endpoint_url(url);
    Client::from_conf(config.build())
}

/// What [`Aws::with_orders`] has.
pub(crate) fn orders(fifo: bool) -> Vec<QueueConfig> {
    let end = if fifo { ".fifo" } else { "" };
    let kind = |mut attributes: BTreeMap<String, String>| {
        if fifo {
            attributes.insert("FifoQueue".to_owned(), "true".to_owned());
        }
        attributes
    };
    let policy = format!(
        r#"{{"deadLetterTargetArn":"arn:aws:sqs:{REGION}:{ACCOUNT}:orders-dead{end}","maxReceiveCount":3}}"#
    );
    vec![
        QueueConfig { name: format!("orders-dead{end}"), attributes: kind(BTreeMap::new()) },
        QueueConfig {
            name: format!("orders{end}"),
            attributes: kind(BTreeMap::from([("RedrivePolicy".to_owned(), policy)])),
        },
    ]
}

impl Drop for Aws {
    fn drop(&mut self) {
        if let Some(local) = self.local.take() {
            self.runtime.block_on(local.stop());
        }
    }
}
