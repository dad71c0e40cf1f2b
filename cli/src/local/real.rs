//! In front of real queues: functions here, messages from an endpoint or from AWS.

use std::io::{self, IsTerminal, Write};
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_sqs::Client;
use aws_sdk_sqs::config::{Credentials, ProvideCredentials};
use aws_smithy_http_client::tls::{Provider, rustls_provider::CryptoMode};
use redrive_local::{Access, Remote, RemoteConfig, RemoteQueue};

use super::plan::{Plan, QueuesAt, REGION};
use crate::problem::{OrProblem, Problem};

/// More than a poll may take, which is 20 s.
const ATTEMPT: Duration = Duration::from_secs(30);

/// A connection to where the queues are.
pub(super) struct Connection {
    client: Client,
    access: Access,
    queues: Vec<RemoteQueue>,
    at: String,
}

impl Connection {
    /// Connects and looks up the queues that feed functions.
    pub(super) async fn new(plan: &Plan) -> Result<Self, Problem> {
        let (config, access) = connect(plan).await.or_failed()?;
        let client = Client::new(&config);
        let mut queues = Vec::new();
        for name in plan.stack.sources() {
            queues.push(RemoteQueue::find(&client, name).await.or_failed()?);
        }
        let at = match &access.endpoint_url {
            Some(url) => url.clone(),
            None => "AWS".to_owned(),
        };
        Ok(Self { client, access, queues, at })
    }

    /// Asks whether to take messages from queues that are not on this machine.
    pub(super) fn confirm(&self, plan: &Plan) -> Result<(), Problem> {
        if plan.yes || self.access.endpoint_url.as_deref().is_some_and(is_loopback) {
            return Ok(());
        }
        let queues: Vec<&str> = self.queues.iter().map(|queue| queue.arn.as_str()).collect();
        let question = format!("take messages from {} at {}", queues.join(", "), self.at);
        if !io::stdin().is_terminal() {
            return Err(Problem::Input(anyhow!("nobody to ask whether to {question}: give --yes")));
        }
        // Without an answer nothing is taken.
        let _ = write!(io::stderr(), "Really {question}? Done and unwanted messages are deleted. [y/N] ");
        let mut answer = String::new();
        io::stdin().read_line(&mut answer).context("could not read the answer").or_failed()?;
        match answer.trim() {
            "y" | "Y" | "yes" => Ok(()),
            _ => Err(Problem::Failed(anyhow!("not confirmed, nothing was taken"))),
        }
    }

    /// Starts the functions' mappings.
    pub(super) fn start(&self, plan: &Plan, executables: &[PathBuf]) -> Result<Remote, Problem> {
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

    /// What is polled, for people.
    pub(super) fn lines(&self) -> Vec<String> {
        vec![format!("endpoint  {}", self.at), "waiting   real time; Ctrl-C ends it".to_owned()]
    }
}

async fn connect(plan: &Plan) -> anyhow::Result<(SdkConfig, Access)> {
    let http =
        aws_smithy_http_client::Builder::new().tls_provider(Provider::Rustls(CryptoMode::Ring)).build_https();
    let timeouts = TimeoutConfig::builder().operation_attempt_timeout(ATTEMPT).build();
    let mut loader =
        aws_config::defaults(BehaviorVersion::latest()).http_client(http).timeout_config(timeouts);
    let endpoint_url = match &plan.queues {
        QueuesAt::Endpoint(url) => Some(url.clone()),
        QueuesAt::Here | QueuesAt::Aws => None,
    };
    match (&plan.region, &endpoint_url) {
        (Some(region), _) => loader = loader.region(Region::new(region.clone())),
        (None, Some(_)) => loader = loader.region(Region::new(REGION)),
        (None, None) => (),
    }
    if let Some(url) = &endpoint_url {
        loader = loader.endpoint_url(url);
        if is_loopback(url) {
            loader = loader.credentials_provider(for_this_machine());
        }
    }
    let config = loader.load().await;
    if config.region().is_none() {
        bail!("no region: give --region, or set AWS_REGION");
    }
    let provider = config.credentials_provider().context("no credentials for AWS")?;
    let credentials = provider.provide_credentials().await.context("no credentials for AWS")?;
    Ok((config, Access { endpoint_url, credentials }))
}

/// What an emulator gets: never the credentials of a profile.
fn for_this_machine() -> Credentials {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let id = variable("AWS_ACCESS_KEY_ID").zip(variable("AWS_SECRET_ACCESS_KEY"));
    let (id, secret) = id.unwrap_or_else(|| ("local".to_owned(), "local".to_owned()));
    Credentials::new(id, secret, variable("AWS_SESSION_TOKEN"), None, "redrive")
}

fn is_loopback(url: &str) -> bool {
    let host = url.split("://").nth(1).unwrap_or(url).split('/').next().unwrap_or_default();
    let host = match host.strip_prefix('[') {
        Some(v6) => v6.split(']').next(),
        None => host.split(':').next(),
    };
    host.is_some_and(|host| {
        host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_not_asked_about() {
        for (url, expected) in [
            ("http://127.0.0.1:4566", true),
            ("http://localhost:4566/", true),
            ("http://[::1]:4566", true),
            ("http://127.1.2.3", true),
            ("https://sqs.eu-west-1.amazonaws.com", false),
            ("http://localhost.example.com", false),
            ("http://10.0.0.1:4566", false),
            ("http://127.0.0.1.example.com", false),
        ] {
            assert_eq!(is_loopback(url), expected, "{url}");
        }
    }
}
