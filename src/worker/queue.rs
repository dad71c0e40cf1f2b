//! The queue that a worker reads, and what its attributes say where the settings do not.

use std::sync::Arc;
use std::time::Duration;

use aws_sdk_sqs::error::{DisplayErrorContext, ProvideErrorMetadata, SdkError};
use aws_sdk_sqs::types::QueueAttributeName;
use futures_util::stream::{Stream, StreamExt};
use redrive_sqs::{QueueArn, RedrivePolicy, Refusal, is_fifo};
use tokio::time::sleep;
use tracing::warn;

use super::calls::reason;
use crate::aws::{CallOutcome, Sqs};
use crate::error::Error;
use crate::settings::{InvalidSetting, LONGEST_VISIBILITY_TIMEOUT, Settings, Value, VisibilityTimeout};

const CALL_TIMEOUT: Duration = Duration::from_secs(5);
/// The shortest poll takes a second, and the lease of what it brings must last for longer.
const SHORTEST: Duration = Duration::from_secs(2);
/// The pause between two tries to reach SQS.
const PAUSE: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(super) struct SourceQueue {
    pub(super) url: String,
    pub(super) arn: Arc<str>,
    pub(super) is_fifo: bool,
    /// What each receive asks for, since the queue's own may change.
    pub(super) visibility: Duration,
}

/// Asks SQS for the queue's attributes until it answers, and takes those that the settings leave open. `None` if the worker
/// was told to end before.
///
/// # Errors
/// SQS refuses, as where there is no such queue or no right to read it, or there are no credentials; or the settings are not
/// for this queue.
pub(super) async fn reach(
    sqs: &Sqs,
    url: &str,
    settings: &Settings,
    stops: &mut (impl Stream<Item = &'static str> + Unpin),
) -> Result<Option<(SourceQueue, Settings)>, Error> {
    let attributes = tokio::select! {
        biased;
        Some(_) = stops.next() => return Ok(None),
        attributes = attributes(sqs, url) => attributes?,
    };
    let attribute = |name: QueueAttributeName| attributes.get(&name).map(String::as_str);
    let arn = attribute(QueueAttributeName::QueueArn).unwrap_or_default();
    let mut settings = settings.of_queue(arn)?.into_owned();
    let own = attribute(QueueAttributeName::VisibilityTimeout).and_then(|seconds| seconds.parse().ok());
    let own = own.map(Duration::from_secs);
    let set = settings.visibility_timeout.as_deref().copied();
    let visibility = set.or(own).unwrap_or_else(|| settings.visibility_timeout());
    if visibility < SHORTEST {
        let allowed = "at least 2 s for a worker: set REDRIVE_VISIBILITY_TIMEOUT";
        let visibility = format!("{visibility:?}");
        return Err(InvalidSetting::new(VisibilityTimeout::NAME, visibility, allowed).into());
    }
    settings.visibility_timeout = settings.keep(visibility.min(LONGEST_VISIBILITY_TIMEOUT));
    let policy =
        attribute(QueueAttributeName::RedrivePolicy).and_then(|policy| RedrivePolicy::parse(policy).ok());
    if let Some(policy) = policy {
        match settings.max_receive_count.as_deref().copied() {
            Some(set) if set != policy.max_receive_count => warn!(
                REDRIVE_MAX_RECEIVE_COUNT = set,
                max_receive_count = policy.max_receive_count,
                "the setting differs from the queue's redrive policy"
            ),
            _ => settings.max_receive_count = settings.keep(policy.max_receive_count),
        }
        if settings.dead_letter_queue_url.is_none() {
            let dead = QueueArn::parse(&policy.dead_letter_target_arn);
            settings.dead_letter_queue_url = dead.and_then(|dead| settings.keep(beside(url, &dead)));
        }
    }
    settings.check_dead_letter_queue(arn)?;
    let queue = SourceQueue { url: url.to_owned(), arn: arn.into(), is_fifo: is_fifo(arn), visibility };
    Ok(Some((queue, settings)))
}

/// The URL of another queue at the same endpoint: a redrive policy names one of the same account and region.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-dead-letter-queues.html>
fn beside(url: &str, other: &QueueArn<'_>) -> String {
    match url.rsplit_once('/') {
        Some((front, _)) => format!("{front}/{}", other.name),
        None => other.url(),
    }
}

type Attributes = std::collections::HashMap<QueueAttributeName, String>;

/// Asks until SQS answers. The error says why asking again would not help.
async fn attributes(sqs: &Sqs, url: &str) -> Result<Attributes, Error> {
    let call = sqs.client.get_queue_attributes().queue_url(url).set_attribute_names(Some(vec![
        QueueAttributeName::QueueArn,
        QueueAttributeName::VisibilityTimeout,
        QueueAttributeName::RedrivePolicy,
    ]));
    let mut has_failed = false;
    loop {
        let (is_final, why) = match sqs.endpoint.call(CALL_TIMEOUT, call.clone().send()).await {
            CallOutcome::Answered(output) => return Ok(output.attributes.unwrap_or_default()),
            CallOutcome::Refused(error) => {
                let refusal = error.as_service_error().and_then(ProvideErrorMetadata::code).map(Refusal::of);
                let is_passing = matches!(refusal, Some(Refusal::Throttled | Refusal::OfTheService))
                    || error.raw_response().is_some_and(|response| response.status().is_server_error());
                let why = error.as_service_error().and_then(reason);
                (!is_passing, why.unwrap_or_else(|| DisplayErrorContext(&error).to_string()))
            }
            CallOutcome::ConnectionFailed(error) => {
                let why = DisplayErrorContext(&error).to_string();
                // Before there was a connection: there are no credentials. The lines that follow name every place of the SDK's.
                match &error {
                    SdkError::DispatchFailure(failure) if failure.is_other() => {
                        let first = why.lines().next().unwrap_or_default();
                        (true, first.trim_end_matches(" Attempted:").to_owned())
                    }
                    _ => (false, why),
                }
            }
            CallOutcome::TimedOut => (false, format!("no answer within {CALL_TIMEOUT:?}")),
        };
        if is_final {
            return Err(Error::worker(format!("the queue {url} cannot be read: {why}")));
        }
        if !std::mem::replace(&mut has_failed, true) {
            warn!(queue = url, error = why, "SQS does not answer; redrive retries until it does");
        }
        sleep(PAUSE).await;
    }
}
