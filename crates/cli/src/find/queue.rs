//! A queue that exists, with its attributes.

use std::collections::HashMap;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use aws_sdk_sqs::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_sqs::types::QueueAttributeName;
use redrive_sqs::{
    Address, InvalidAddress, QueueArn, Quoted, RedriveAllowPolicy, RedrivePolicy, is_fifo, queue_name,
};

use crate::aws::{Aws, DescribeError, code_of};

/// A queue and its attributes from SQS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Queue {
    pub(crate) url: String,
    pub(crate) arn: String,
    attributes: HashMap<QueueAttributeName, String>,
}

impl Queue {
    #[cfg(test)]
    pub(crate) fn new(url: String, arn: String, attributes: HashMap<QueueAttributeName, String>) -> Self {
        Self { url, arn, attributes }
    }

    /// Looks a queue up by its name, URL or ARN.
    ///
    /// # Errors
    /// The queue does not exist, or not in this region, or permission is missing.
    pub(crate) async fn find(aws: &Aws, given: &str) -> anyhow::Result<Self> {
        match Self::find_if_exists(aws, given).await? {
            Some(queue) => Ok(queue),
            None => bail!("could not find the queue {given}: {}", absent(aws, given).await),
        }
    }

    /// Looks a queue up, and returns none if it does not exist.
    ///
    /// # Errors
    /// The queue is in another region, or permission is missing.
    pub(crate) async fn find_if_exists(aws: &Aws, given: &str) -> anyhow::Result<Option<Self>> {
        let address =
            Address::parse(given).map_err(|allowed| anyhow!("the queue is {}, {allowed}", Quoted(given)))?;
        if let Some(region) = address.region()
            && !region.eq_ignore_ascii_case(aws.region())
        {
            bail!("{given} is in {region}, not in {}: pass --region {region}", aws.region());
        }
        let url = match address {
            Address::Url(url) => Some(url.to_owned()),
            Address::Arn(QueueArn { account, name, .. }) => url_of(aws, name, Some(account)).await?,
            Address::Name(name) => url_of(aws, name, None).await?,
        };
        match url {
            Some(url) => Self::read_if_exists(aws, url).await,
            None => Ok(None),
        }
    }

    /// Reads the attributes again.
    ///
    /// # Errors
    /// The queue is gone, or permission is missing.
    pub(crate) async fn refresh(&self, aws: &Aws) -> anyhow::Result<Self> {
        Self::read_if_exists(aws, self.url.clone())
            .await?
            .with_context(|| format!("could not read the queue {}: {}", self.name(), absent_here(aws)))
    }

    async fn read_if_exists(aws: &Aws, url: String) -> anyhow::Result<Option<Self>> {
        let read = aws
            .sqs()
            .get_queue_attributes()
            .queue_url(&url)
            .attribute_names(QueueAttributeName::All)
            .send()
            .await;
        if is_absent(&read) {
            return Ok(None);
        }
        let read =
            read.describe_error(&format!("read the queue {}", queue_name(&url)), "sqs:GetQueueAttributes")?;
        let attributes = read.attributes.unwrap_or_default();
        let arn = attributes.get(&QueueAttributeName::QueueArn).cloned().unwrap_or_default();
        Ok(Some(Self { url, arn, attributes }))
    }

    /// Returns the name, with account and region if they differ from those of the other queue.
    pub(crate) fn name_beside(&self, other: &Self) -> String {
        let near = QueueArn::parse(&other.arn).map(|other| (other.account, other.region));
        match QueueArn::parse(&self.arn) {
            Some(own) if near != Some((own.account, own.region)) => {
                format!("{} (account {}, {})", self.name(), own.account, own.region)
            }
            _ => self.name().to_owned(),
        }
    }

    pub(crate) fn name(&self) -> &str {
        queue_name(&self.url)
    }

    /// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/FIFO-queues.html>
    pub(crate) fn is_fifo(&self) -> bool {
        is_fifo(&self.url)
    }

    pub(crate) fn text(&self, name: &QueueAttributeName) -> Option<&str> {
        self.attributes.get(name).map(String::as_str)
    }

    /// Returns a count, 0 if SQS does not give it.
    pub(crate) fn count(&self, name: &QueueAttributeName) -> u64 {
        self.text(name).and_then(|text| text.parse().ok()).unwrap_or_default()
    }

    /// Returns the number of messages that can be received.
    pub(crate) fn visible(&self) -> u64 {
        self.count(&QueueAttributeName::ApproximateNumberOfMessages)
    }

    /// Returns the number of messages, with those in flight and delayed.
    pub(crate) fn counted(&self) -> u64 {
        self.visible()
            + self.count(&QueueAttributeName::ApproximateNumberOfMessagesNotVisible)
            + self.count(&QueueAttributeName::ApproximateNumberOfMessagesDelayed)
    }

    /// Returns the retention period, which starts when a message is sent.
    pub(crate) fn retention(&self) -> Duration {
        Duration::from_secs(self.count(&QueueAttributeName::MessageRetentionPeriod))
    }

    pub(crate) fn visibility_timeout(&self) -> Duration {
        Duration::from_secs(self.count(&QueueAttributeName::VisibilityTimeout))
    }

    pub(crate) fn redrive_policy(&self) -> Option<RedrivePolicy> {
        RedrivePolicy::parse(self.text(&QueueAttributeName::RedrivePolicy)?).ok()
    }

    /// Returns the redrive allow policy, or SQS's default if it is not set or cannot be read.
    pub(crate) fn redrive_allow_policy(&self) -> RedriveAllowPolicy {
        let policy = self.text(&QueueAttributeName::RedriveAllowPolicy);
        policy.and_then(|policy| RedriveAllowPolicy::parse(policy).ok()).unwrap_or_default()
    }
}

/// Parses a queue for clap.
pub(crate) fn queue_address(given: &str) -> Result<String, InvalidAddress> {
    Address::parse(given).map(|_| given.to_owned())
}

fn absent_here(aws: &Aws) -> String {
    format!("no such queue in {}: check the name, the region and the account", aws.here())
}

fn is_absent<T, E: ProvideErrorMetadata, R>(read: &Result<T, SdkError<E, R>>) -> bool {
    let code = read.as_ref().err().and_then(code_of);
    matches!(code, Some("QueueDoesNotExist" | "NonExistentQueue"))
}

/// Returns the error for a missing queue, with its namesake of the other type, if that exists.
async fn absent(aws: &Aws, given: &str) -> String {
    if let Ok(Address::Name(name)) = Address::parse(given) {
        let other = name.strip_suffix(".fifo").map_or_else(|| format!("{name}.fifo"), str::to_owned);
        if let Ok(Some(_)) = url_of(aws, &other, None).await {
            return format!("no such queue; did you mean {other}?");
        }
    }
    absent_here(aws)
}

async fn url_of(aws: &Aws, name: &str, account: Option<&str>) -> anyhow::Result<Option<String>> {
    let found = aws
        .sqs()
        .get_queue_url()
        .queue_name(name)
        .set_queue_owner_aws_account_id(account.map(str::to_owned))
        .send()
        .await;
    if is_absent(&found) {
        return Ok(None);
    }
    let found = found.describe_error(&format!("find the queue {name}"), "sqs:GetQueueUrl")?;
    Ok(Some(found.queue_url.unwrap_or_default()))
}
