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

pub(crate) use errors::{DescribeError, answered, answered_of, code_of, describe_error};
pub(crate) use redrive_local::command::aws::Place;

/// Timeout for STS, which a subnet may be unable to reach.
const IDENTITY: Duration = Duration::from_secs(2);

/// The configuration from which clients are made.
#[derive(Debug, Clone)]
pub(crate) struct Aws {
    pub(crate) config: SdkConfig,
    wire: Wire,
    profile: Option<String>,
    identity: Arc<OnceCell<Option<String>>>,
}

impl Aws {
    /// Reads the settings. Calls no service but the one that provides the credentials.
    ///
    /// # Errors
    /// There is no region, or there are no credentials.
    pub(crate) async fn connect(place: &Place) -> anyhow::Result<Self> {
        let (config, wire) = connect(place).await?;
        let of_environment = || std::env::var("AWS_PROFILE").ok().filter(|name| !name.is_empty());
        let profile = place.profile.clone().or_else(of_environment);
        Ok(Self { config, wire, profile, identity: Arc::default() })
    }

    /// Returns a connection that attempts each call more often and without a timeout over all attempts.
    pub(crate) fn with_attempts(&self, attempts: u32) -> Self {
        let timeouts = self.config.timeout_config().map(|config| config.to_builder()).unwrap_or_default();
        let config = self.config.to_builder().timeout_config(timeouts.disable_operation_timeout().build());
        let retries = RetryConfig::standard().with_max_attempts(attempts);
        Self { config: config.retry_config(retries).build(), ..self.clone() }
    }

    /// Returns a connection for long polling, where an answer may take `wait` longer.
    pub(crate) fn polling(&self, wait: Duration) -> Self {
        let wire = self.wire.polling(wait);
        Self { config: wire.on(self.config.clone()), wire, ..self.clone() }
    }

    /// Returns true unless the endpoint of SQS cannot be AWS's.
    pub(crate) fn is_aws(&self) -> bool {
        !of_sqs(&self.config).is_some_and(|url| is_emulator(&url))
    }

    /// Describes a queue's place: `account 123456789012, eu-west-1, http://127.0.0.1:9324`.
    pub(crate) fn place(&self, queue_arn: &str) -> String {
        let endpoint = self.wire.endpoint().unwrap_or_default();
        match QueueArn::parse(queue_arn) {
            Some(arn) => format!("account {}, {}, {endpoint}", arn.account, arn.region),
            None => endpoint,
        }
    }

    /// Describes the place of this connection: `eu-west-1, profile shop, http://127.0.0.1:9324`.
    pub(crate) fn here(&self) -> String {
        let profile = self.profile.as_ref().map(|name| format!(", profile {name}"));
        let endpoint = self.emulator().map(|endpoint| format!(", {endpoint}"));
        format!("{}{}{}", self.region(), profile.unwrap_or_default(), endpoint.unwrap_or_default())
    }

    pub(crate) fn profile(&self) -> Option<&str> {
        self.profile.as_deref()
    }

    /// Returns the ARN of the user or the role's session, if STS answers within 2 s. An emulator that has only SQS lacks STS.
    /// <https://docs.aws.amazon.com/STS/latest/APIReference/API_GetCallerIdentity.html>
    pub(crate) async fn identity(&self) -> Option<&str> {
        let ask = async || {
            if !self.is_aws() && self.config.endpoint_url().is_none() {
                return None;
            }
            let config =
                aws_sdk_sts::config::Builder::from(&self.config).retry_config(RetryConfig::disabled());
            let sts = aws_sdk_sts::Client::from_conf(config.build());
            // Boxed, because its future is large and nested in those of all verbs.
            let asking = Box::pin(sts.get_caller_identity().send());
            timeout(IDENTITY, asking).await.ok()?.ok()?.arn
        };
        self.identity.get_or_init(ask).await.as_deref()
    }

    /// Returns the endpoint, if it cannot be AWS's.
    pub(crate) fn emulator(&self) -> Option<String> {
        self.wire.endpoint().filter(|_| !self.is_aws())
    }

    /// Prints the place on a terminal before a change without a question.
    pub(crate) fn announce(&self, doing: &str, queue: &Queue) {
        if Stream::Stderr.is_terminal() {
            tell(format_args!("redrive: {doing} {} ({})", queue.name(), self.place(&queue.arn)));
        }
    }

    /// Returns the timeout of a call, from `--timeout`.
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

    /// Returns a client for this region, else for the connection's.
    pub(crate) fn dynamodb(&self, region: Option<&str>) -> aws_sdk_dynamodb::Client {
        let config = aws_sdk_dynamodb::config::Builder::from(&self.config);
        let config = match region {
            Some(region) => config.region(aws_sdk_dynamodb::config::Region::new(region.to_owned())),
            None => config,
        };
        aws_sdk_dynamodb::Client::from_conf(config.build())
    }

    /// Returns a client that puts the bucket into the path if the endpoint is not AWS's, where its name is not a host name.
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
