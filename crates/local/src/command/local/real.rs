//! Runs functions here on messages of real queues, from an endpoint or from AWS.

use std::time::Duration;

use anyhow::{Context, anyhow};
use aws_config::SdkConfig;
use aws_sdk_sqs::Client;

use super::executable::Executable;
use super::plan::{Plan, QueuesAt, REGION};
use crate::command::ask;
use crate::command::aws::{self, Place, Wire, check_is_aws, is_loopback};
use crate::command::problem::{OrProblem, Problem};
use crate::{Access, Remote, RemoteConfig, RemoteQueue};

/// How long SQS waits for a message before it answers.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-short-and-long-polling.html>
const POLL: Duration = Duration::from_secs(20);

/// A connection to the real queues.
pub(super) struct Connection {
    client: Client,
    access: Access,
    queues: Vec<RemoteQueue>,
    at: String,
}

impl Connection {
    /// Connects and looks up the queues that feed functions.
    pub(super) async fn new(plan: &Plan) -> Result<Self, Problem> {
        let (config, wire, access) = connect(plan).await?;
        let client = Client::new(&config);
        let at = access.endpoint_url.clone().unwrap_or_else(|| "AWS".to_owned());
        let mut queues = Vec::new();
        for name in plan.stack.sources() {
            queues.push(RemoteQueue::find(&client, name).await.with_context(|| at.clone()).or_failed()?);
        }
        let client = Client::new(&wire.polling(POLL).on(config));
        Ok(Self { client, access, queues, at })
    }

    /// Asks before receiving messages from queues that are not on this machine.
    pub(super) fn confirm(&self, plan: &Plan) -> Result<(), Problem> {
        if plan.yes || self.access.endpoint_url.as_deref().is_some_and(is_loopback) {
            return Ok(());
        }
        let queues: Vec<&str> = self.queues.iter().map(|queue| queue.arn.as_str()).collect();
        let question = format!("receive messages from {} at {}", queues.join(", "), self.at);
        ask::confirm(
            &question,
            "Messages that succeed or match no filter are deleted.",
            "nothing was received",
        )
    }

    pub(super) fn start(&self, plan: &Plan, executables: &[Executable]) -> Result<Remote, Problem> {
        let [first, ..] = self.queues.as_slice() else {
            return Err(Problem::Input(anyhow!("no queue feeds a function")));
        };
        let stack = plan.stack_beside(first, executables).or_input()?;
        let config = RemoteConfig {
            sqs: self.client.clone(),
            access: self.access.clone(),
            queues: self.queues.clone(),
            functions: stack.functions,
            mappings: stack.mappings,
        };
        Remote::start(config).context(plan.template.display().to_string()).or_input()
    }

    /// Returns lines for people about the polled queues.
    pub(super) fn lines(&self) -> Vec<String> {
        vec![format!("endpoint  {}", self.at), "clock     real time; Ctrl-C ends it".to_owned()]
    }
}

async fn connect(plan: &Plan) -> Result<(SdkConfig, Wire, Access), Problem> {
    let endpoint_url = match &plan.queues {
        QueuesAt::Endpoint(url) => Some(url.clone()),
        QueuesAt::Here | QueuesAt::Aws => None,
    };
    // An endpoint is an emulator, whose region has nothing to do with the profile.
    let region = plan.region.clone().or_else(|| endpoint_url.as_ref().map(|_| REGION.to_owned()));
    let place =
        Place { region, endpoint_url: endpoint_url.clone(), timeout: plan.timeout, ..Place::default() };
    let (config, wire) = aws::connect(&place).await.or_failed()?;
    if endpoint_url.is_none() {
        check_is_aws(&config).or_input()?;
    }
    let credentials = aws::credentials(&config, &place).await.or_failed()?;
    Ok((config, wire, Access { endpoint_url, credentials }))
}
