//! A real queue, with the properties that a mapping needs.

use std::time::Duration;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_sqs::types::QueueAttributeName;
use redrive_sqs::Quoted;

/// A queue of an endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteQueue {
    /// Its name.
    pub name: String,
    /// Its URL.
    pub url: String,
    /// Its ARN.
    pub arn: String,
    /// How long a received message is hidden.
    pub visibility_timeout: Duration,
}

/// The reason why a queue cannot be polled.
#[derive(Debug, thiserror::Error)]
#[error("queue {name}: {reason}")]
pub struct FindQueueError {
    name: String,
    reason: String,
}

impl RemoteQueue {
    /// Looks up a queue by its name.
    ///
    /// # Errors
    /// Returns an error if the queue does not exist, or if the endpoint does not answer or refuses the call.
    pub async fn find(sqs: &Client, name: &str) -> Result<Self, FindQueueError> {
        let failed = |reason: String| FindQueueError { name: name.to_owned(), reason };
        let found = sqs.get_queue_url().queue_name(name).send().await;
        let url = found.map_err(|error| failed(reason(&error)))?.queue_url;
        let url = url.ok_or_else(|| failed("the endpoint returned no URL".to_owned()))?;
        let asked = sqs
            .get_queue_attributes()
            .queue_url(&url)
            .attribute_names(QueueAttributeName::QueueArn)
            .attribute_names(QueueAttributeName::VisibilityTimeout)
            .send()
            .await;
        let attributes = asked.map_err(|error| failed(reason(&error)))?.attributes.unwrap_or_default();
        let attribute = |name: QueueAttributeName| {
            attributes.get(&name).ok_or_else(|| failed(format!("the endpoint returned no {name}")))
        };
        let arn = attribute(QueueAttributeName::QueueArn)?.clone();
        let seconds = attribute(QueueAttributeName::VisibilityTimeout)?;
        let seconds = seconds
            .parse()
            .map_err(|_| failed(format!("VisibilityTimeout is {}, not a number", Quoted(seconds))))?;
        Ok(Self { name: name.to_owned(), url, arn, visibility_timeout: Duration::from_secs(seconds) })
    }

    /// Returns the queue's region and account.
    #[must_use]
    pub fn place(&self) -> (&str, &str) {
        let mut parts = self.arn.split(':').skip(3);
        (parts.next().unwrap_or_default(), parts.next().unwrap_or_default())
    }
}

/// Returns the endpoint's error, or the reason why it did not answer, on one line.
pub(super) fn reason<E, R>(error: &SdkError<E, R>) -> String
where
    E: ProvideErrorMetadata + std::error::Error + 'static,
    R: std::fmt::Debug + 'static,
{
    if let SdkError::TimeoutError(_) = error {
        return "no answer in time: is the endpoint right, and is it running?".to_owned();
    }
    if let SdkError::DispatchFailure(_) = error {
        return format!("no connection ({}): is the endpoint right, and is it running?", innermost(error));
    }
    match (error.code(), error.message()) {
        (Some(code), Some(message)) => format!("{code}: {message}"),
        (Some(code), None) => code.to_owned(),
        (None, _) => format!("{error}: {}", innermost(error)),
    }
}

/// Returns the innermost cause of an error, without the layers of the SDK.
fn innermost(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(cause) => innermost(cause),
        None => error.to_string(),
    }
}
