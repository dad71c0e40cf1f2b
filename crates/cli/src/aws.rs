//! A connection to AWS, from which each service's client is made.

mod errors;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use aws_config::SdkConfig;
use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use redrive_local::command::aws::{Wire, connect, is_emulator, of_sqs};
use redrive_sqs::QueueArn;
use tokio::sync::OnceCell;
use tokio::time::timeout;

use crate::find::Queue;
use crate::output::Stream;
use crate::tell::tell;

pub(crate) use errors::{DescribeError, answered_of, code_of, describe_error};
pub(crate) use redrive_local::command::aws::Place;

/// How long STS may take: a subnet may have no way to it.
const IDENTITY: Duration = Duration::from_secs(2);

/// What clients are made of.
#[derive(Debug, Clone)]
pub(crate) struct Aws {
    pub(crate) config: SdkConfig,
    wire: Wire,
    profile: Option<String>,
    identity: Arc<OnceCell<Option<String>>>,
}

impl Aws {
    /// Reads the settings, without a call to any service but that which gives the credentials.
    ///
    /// # Errors
    /// No region, or no credentials.
    pub(crate) async fn connect(place: &Place) -> anyhow::Result<Self> {
        let (config, wire) = connect(place).await?;
        let of_environment = || std::env::var("AWS_PROFILE").ok().filter(|name| !name.is_empty());
        let profile = place.profile.clone().or_else(of_environment);
        Ok(Self { config, wire, profile, identity: Arc::default() })
    }

    /// With more tries for each call, which may take as long as they need.
    pub(crate) fn with_attempts(&self, attempts: u32) -> Self {
        let timeouts = self.config.timeout_config().map(|config| config.to_builder()).unwrap_or_default();
        let config = self.config.to_builder().timeout_config(timeouts.disable_operation_timeout().build());
        let retries = RetryConfig::standard().with_max_attempts(attempts);
        Self { config: config.retry_config(retries).build(), ..self.clone() }
    }

    /// For calls that SQS answers after so long if it has nothing to say sooner, which is no silence.
    pub(crate) fn polling(&self, wait: Duration) -> Self {
        let wire = self.wire.polling(wait);
        Self { config: wire.on(self.config.clone()), wire, ..self.clone() }
    }

    /// Whether the queues may be AWS's: they are unless an endpoint was set that cannot be.
    pub(crate) fn is_aws(&self) -> bool {
        !of_sqs(&self.config).is_some_and(|url| is_emulator(&url))
    }

    /// Where a queue is, for a question or beside it: `account 123456789012, eu-west-1, http://127.0.0.1:9324`.
    pub(crate) fn place(&self, queue_arn: &str) -> String {
        let endpoint = self.wire.endpoint().unwrap_or_default();
        match QueueArn::parse(queue_arn) {
            Some(arn) => format!("account {}, {}, {endpoint}", arn.account, arn.region),
            None => endpoint,
        }
    }

    /// Where something was looked for: `eu-west-1, profile shop, http://127.0.0.1:9324`.
    pub(crate) fn here(&self) -> String {
        let profile = self.profile.as_ref().map(|name| format!(", profile {name}"));
        let endpoint = self.emulator().map(|endpoint| format!(", {endpoint}"));
        format!("{}{}{}", self.region(), profile.unwrap_or_default(), endpoint.unwrap_or_default())
    }

    pub(crate) fn profile(&self) -> Option<&str> {
        self.profile.as_deref()
    }

    /// The ARN of the user or of the role's session that AWS knows this command by, if STS says so within 2 s. An emulator of
    /// SQS alone has no STS.
    /// <https://docs.aws.amazon.com/STS/latest/APIReference/API_GetCallerIdentity.html>
    pub(crate) async fn identity(&self) -> Option<&str> {
        let ask = async || {
            if !self.is_aws() && self.config.endpoint_url().is_none() {
                return None;
            }
            let config =
                aws_sdk_sts::config::Builder::from(&self.config).retry_config(RetryConfig::disabled());
            let sts = aws_sdk_sts::Client::from_conf(config.build());
            // Its future is a large one, deep in those of all verbs.
            let asking = Box::pin(sts.get_caller_identity().send());
            timeout(IDENTITY, asking).await.ok()?.ok()?.arn
        };
        self.identity.get_or_init(ask).await.as_deref()
    }

    /// The endpoint, if it cannot be AWS's.
    pub(crate) fn emulator(&self) -> Option<String> {
        self.wire.endpoint().filter(|_| !self.is_aws())
    }

    /// Says the place to somebody at a terminal, where something is changed without a question.
    pub(crate) fn announce(&self, doing: &str, queue: &Queue) {
        if Stream::Stderr.is_terminal() {
            tell(format_args!("redrive: {doing} {} ({})", queue.name(), self.place(&queue.arn)));
        }
    }

    /// How long a call may take, by `--timeout`.
    pub(crate) fn limit(&self) -> Duration {
        let limit = self.config.timeout_config().and_then(TimeoutConfig::operation_timeout);
        limit.unwrap_or(Duration::MAX)
    }

    pub(crate) fn region(&self) -> &str {
        self.config.region().map_or("", AsRef::as_ref)
    }

    pub(crate) fn sqs(&self) -> aws_sdk_sqs::Client {
        aws_sdk_sqs::Client::new(&self.config)
    }

    pub(crate) fn cloudwatch(&self) -> aws_sdk_cloudwatch::Client {
        aws_sdk_cloudwatch::Client::new(&self.config)
    }

    pub(crate) fn logs(&self) -> aws_sdk_cloudwatchlogs::Client {
        aws_sdk_cloudwatchlogs::Client::new(&self.config)
    }

    /// Of this region, unless it is that of all.
    pub(crate) fn dynamodb(&self, region: Option<&str>) -> aws_sdk_dynamodb::Client {
        let config = aws_sdk_dynamodb::config::Builder::from(&self.config);
        let config = match region {
            Some(region) => config.region(aws_sdk_dynamodb::config::Region::new(region.to_owned())),
            None => config,
        };
        aws_sdk_dynamodb::Client::from_conf(config.build())
    }

    /// With the bucket in the path, where its name is no host's.
    pub(crate) fn s3(&self) -> aws_sdk_s3::Client {
        let config = aws_sdk_s3::config::Builder::from(&self.config).force_path_style(!self.is_aws());
        aws_sdk_s3::Client::from_conf(config.build())
    }

    pub(crate) fn lambda(&self) -> aws_sdk_lambda::Client {
        aws_sdk_lambda::Client::new(&self.config)
    }

    pub(crate) fn cloudformation(&self) -> aws_sdk_cloudformation::Client {
        aws_sdk_cloudformation::Client::new(&self.config)
    }
}
