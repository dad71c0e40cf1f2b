//! An AWS of one's own on a loopback port, and the command pointed at it.

pub(crate) mod running;

use std::collections::BTreeMap;
use std::process::Output;
use std::time::Duration;

use assert_cmd::Command;
use aws_sdk_sqs::Client;
use aws_sdk_sqs::config::{BehaviorVersion, Credentials, Region};
use redrive_local::{Config, Local, QueueConfig};
use tokio::runtime::Runtime;

/// The region and the account of every test.
pub(crate) const REGION: &str = "eu-west-1";
pub(crate) const ACCOUNT: &str = "123456789012";

/// How long a command may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// SQS and CloudWatch, until dropped.
pub(crate) struct Aws {
    runtime: Runtime,
    local: Option<Local>,
    pub(crate) url: String,
    pub(crate) sqs: Client,
}

/// What a command printed and how it ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Aws {
    /// With these queues, dead-letter queues first.
    pub(crate) fn start(queues: Vec<QueueConfig>) -> Self {
        let runtime = Runtime::new().expect("a runtime starts");
        let config =
            Config { region: REGION.to_owned(), account: ACCOUNT.to_owned(), queues, ..Config::default() };
        let mut local = runtime.block_on(Local::start(config)).expect("it starts");
        drop(local.take_events());
        let url = local.endpoint_url();
        let config = aws_sdk_sqs::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::new(REGION))
            .credentials_provider(Credentials::new("local", "local", None, None, "tests"))
            .http_client(aws_smithy_http_client::Builder::new().build_http())
            .endpoint_url(&url)
            .build();
        Self { runtime, local: Some(local), url, sqs: Client::from_conf(config) }
    }

    /// A queue `orders` whose letters end in `orders-dead` after three deliveries; with `.fifo` at the end of both if asked.
    pub(crate) fn with_orders(fifo: bool) -> Self {
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
        Self::start(vec![
            QueueConfig { name: format!("orders-dead{end}"), attributes: kind(BTreeMap::new()) },
            QueueConfig {
                name: format!("orders{end}"),
                attributes: kind(BTreeMap::from([("RedrivePolicy".to_owned(), policy)])),
            },
        ])
    }

    /// Runs `redrive`, with nothing on its standard input.
    pub(crate) fn redrive(&self, arguments: &[&str]) -> Ran {
        self.redrive_with(arguments, "")
    }

    /// Runs `redrive` with a text on its standard input.
    pub(crate) fn redrive_with(&self, arguments: &[&str], stdin: &str) -> Ran {
        let output = self.command(arguments).write_stdin(stdin).output().expect("the command runs and ends");
        Ran::new(&output)
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        Self::command_at(&self.url, arguments)
    }

    /// `redrive` with another endpoint, such as that of a proxy.
    pub(crate) fn command_at(url: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_redrive"));
        command.args(arguments).args(["--endpoint-url", url, "--region", REGION]).timeout(PATIENCE);
        command.env_remove("AWS_PROFILE").env("AWS_EC2_METADATA_DISABLED", "true");
        command
    }

    /// Waits for calls of a client.
    pub(crate) fn wait<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }

    pub(crate) fn queue_url(&self, name: &str) -> String {
        format!("{}/{ACCOUNT}/{name}", self.url)
    }
}

impl Drop for Aws {
    fn drop(&mut self) {
        if let Some(local) = self.local.take() {
            self.runtime.block_on(local.stop());
        }
    }
}

impl Ran {
    pub(crate) fn new(output: &Output) -> Self {
        Self {
            code: output.status.code().expect("it was not killed"),
            stdout: String::from_utf8(output.stdout.clone()).expect("stdout is text"),
            stderr: String::from_utf8(output.stderr.clone()).expect("stderr is text"),
        }
    }
}
