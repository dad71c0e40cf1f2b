//! The calls of a worker that do not settle messages: queue attributes, receives, and extensions of leases.

use std::error::Error as StdError;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use aws_credential_types::provider::error::CredentialsError;
use aws_sdk_sqs::config::http::HttpResponse;
use aws_sdk_sqs::error::{DisplayErrorContext, ProvideErrorMetadata, SdkError};
use aws_sdk_sqs::types::{
    ChangeMessageVisibilityBatchRequestEntry, MessageSystemAttributeName, QueueAttributeName,
};
use aws_smithy_runtime_api::client::result::ConnectorError;
use futures_util::FutureExt;
use redrive_sqs::{RedrivePolicy, Refusal, has_lease_ended, is_expired_or_skewed};
use tokio::time::{sleep, timeout};
use tracing::warn;

use super::queue::{Attributes, SourceQueue};
use crate::aws::{CallOutcome, Sqs};
use crate::error::Error;
use crate::message::received::{ReceiveContext, ReceivedMessage};
use crate::tokens::{AnyTokens, Lease};
use redrive_engine::keys::LeaseKey;
use redrive_engine::{Extension, Poll, Rate};

/// The time that a receive may take beyond its wait. The SDK's own timeouts do not bound a receive that is never answered.
/// <https://github.com/awslabs/aws-sdk-rust/issues/1094>
const MARGIN: Duration = Duration::from_secs(5);
/// The timeout of an extension.
const EXTENSION: Duration = Duration::from_secs(2);
/// The timeout for reading the queue's attributes.
const ATTRIBUTES: Duration = Duration::from_secs(5);
/// The timeout of a lease of tokens.
const LEASE: Duration = Duration::from_secs(3);
/// The advice for a profile that the SDK can read only with features that most workers do not need.
const FEATURES: &str = r#"add aws-config = { version = "1", default-features = false, features = ["sso", "credentials-login"] } to the dependencies in your Cargo.toml"#;
/// The pause between two tries to reach SQS.
const PAUSE: Duration = Duration::from_secs(2);

/// Asks for the queue's attributes until SQS answers.
///
/// # Errors
/// SQS refuses the call, for example because the queue does not exist or must not be read, or there are no credentials.
pub(super) async fn attributes(sqs: &Sqs, url: &str) -> Result<Attributes, Error> {
    let call = sqs.client.get_queue_attributes().queue_url(url).set_attribute_names(Some(vec![
        QueueAttributeName::QueueArn,
        QueueAttributeName::VisibilityTimeout,
        QueueAttributeName::RedrivePolicy,
    ]));
    let mut has_failed = false;
    loop {
        let (is_final, why) = match sqs.endpoint.call(ATTRIBUTES, call.clone().send()).await {
            CallOutcome::Answered(output) => {
                let all = output.attributes.unwrap_or_default();
                let text = |name: QueueAttributeName| all.get(&name).map(String::as_str);
                let seconds = text(QueueAttributeName::VisibilityTimeout).and_then(|text| text.parse().ok());
                let policy = text(QueueAttributeName::RedrivePolicy);
                return Ok(Attributes {
                    arn: text(QueueAttributeName::QueueArn).unwrap_or_default().to_owned(),
                    visibility: seconds.map(Duration::from_secs),
                    policy: policy.and_then(|policy| RedrivePolicy::parse(policy).ok()),
                });
            }
            CallOutcome::Refused(error) => {
                let code = error.as_service_error().and_then(ProvideErrorMetadata::code);
                let is_passing = match (code.map(Refusal::of), error.raw_response()) {
                    _ if code.is_some_and(is_expired_or_skewed) => true,
                    // The answer is cut off or garbled.
                    (None, answer) => {
                        let status = answer.map(|answer| answer.status());
                        status.is_some_and(|status| status.is_success() || status.is_server_error())
                    }
                    (Some(Refusal::Throttled | Refusal::OfTheService), _) => true,
                    (Some(_), answer) => answer.is_some_and(|answer| answer.status().is_server_error()),
                };
                let why = error.as_service_error().and_then(reason);
                (!is_passing, why.unwrap_or_else(|| DisplayErrorContext(&error).to_string()))
            }
            CallOutcome::ConnectionFailed(error) => {
                let why = DisplayErrorContext(&error).to_string();
                // The lines that follow name every place where the SDK looks for credentials.
                let first = why.lines().next().unwrap_or_default().trim_end_matches(" Attempted:");
                match has_no_credentials(&error) {
                    true if first.contains("cargo feature") => (true, format!("{first}; {FEATURES}")),
                    true => (true, first.to_owned()),
                    false => (false, why),
                }
            }
            CallOutcome::TimedOut => (false, format!("no answer within {ATTRIBUTES:?}")),
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

/// Returns true if there are no credentials for SQS. False if their source does not answer, because it may answer later.
fn has_no_credentials(error: &(dyn StdError + 'static)) -> bool {
    let causes = std::iter::successors(Some(error), |&error| error.source());
    let mut causes = causes.skip_while(|error| !error.is::<CredentialsError>());
    let first = causes.next().and_then(|error| error.downcast_ref());
    first.is_some_and(|error| !matches!(error, CredentialsError::ProviderTimedOut(_)))
        && !causes.any(|error| error.is::<ConnectorError>())
}

/// Receives up to this many messages. The error is one line for the log.
pub(super) async fn receive(
    sqs: &Sqs,
    queue: &SourceQueue,
    Poll { messages, wait, .. }: Poll,
    context: ReceiveContext,
) -> Result<Vec<Arc<ReceivedMessage>>, String> {
    let seconds = |duration: Duration| i32::try_from(duration.as_secs()).unwrap_or(i32::MAX);
    let call = sqs.client.receive_message().queue_url(&queue.url);
    let call = call
        .max_number_of_messages(i32::try_from(messages).unwrap_or(1))
        .wait_time_seconds(seconds(wait))
        .visibility_timeout(seconds(queue.visibility))
        .message_system_attribute_names(MessageSystemAttributeName::All)
        .message_attribute_names("All");
    let output = answer(sqs, wait + MARGIN, call.send()).await?;
    let context = Arc::new(context);
    let known = |message| {
        let message = ReceivedMessage::new(message, &context);
        if message.is_none() {
            warn!("a message without an id was received, and is not handled");
        }
        message.map(Arc::new)
    };
    Ok(output.messages.unwrap_or_default().into_iter().filter_map(known).collect())
}

/// Extends each lease to its number of seconds from now.
pub(super) async fn extend(
    sqs: &Sqs,
    queue: &SourceQueue,
    leases: &[(LeaseKey, Arc<ReceivedMessage>, u64)],
) -> Result<Vec<(LeaseKey, Extension)>, String> {
    let entry = |(key, message, seconds): &(LeaseKey, Arc<ReceivedMessage>, u64)| {
        ChangeMessageVisibilityBatchRequestEntry::builder()
            .id(key.0.to_string())
            .receipt_handle(message.receipt_handle())
            .visibility_timeout(i32::try_from(*seconds).unwrap_or(i32::MAX))
            .build()
            .expect("id and receipt handle are set")
    };
    let call = sqs.client.change_message_visibility_batch().queue_url(&queue.url);
    let call = call.set_entries(Some(leases.iter().map(entry).collect()));
    // Leaves time for another try while the lease lasts.
    let limit = EXTENSION.min(queue.visibility / 4);
    let output = answer(sqs, limit, call.send()).await?;
    let outcome = |(key, ..): &(LeaseKey, Arc<ReceivedMessage>, u64)| {
        let id = key.0.to_string();
        let refused = output.failed.iter().find(|failed| failed.id() == id);
        let extension = match refused {
            Some(failed) if has_lease_ended(failed.code(), failed.message()) => Extension::Refused,
            None if output.successful.iter().any(|entry| entry.id() == id) => Extension::Granted,
            Some(_) | None => Extension::Unanswered,
        };
        (*key, extension)
    };
    Ok(leases.iter().map(outcome).collect())
}

/// Leases tokens with the user's code.
pub(super) async fn lease(tokens: &dyn AnyTokens, most: u32, rate: Rate) -> Result<Lease, String> {
    let call = AssertUnwindSafe(async { tokens.lease(most, &rate).await }).catch_unwind();
    match timeout(LEASE, call).await {
        Ok(Ok(answer)) => answer.map_err(|error| error.to_string()),
        Ok(Err(_)) => Err("Tokens::lease panicked".to_owned()),
        Err(_) => Err(format!("no answer within {LEASE:?}")),
    }
}

/// Waits for a call. Returns its output, or one line for the log.
async fn answer<T, E: StdError + 'static>(
    sqs: &Sqs,
    limit: Duration,
    call: impl Future<Output = Result<T, SdkError<E, HttpResponse>>>,
) -> Result<T, String> {
    match sqs.endpoint.call(limit, call).await {
        CallOutcome::Answered(output) => Ok(output),
        CallOutcome::Refused(error) | CallOutcome::ConnectionFailed(error) => {
            Err(DisplayErrorContext(&error).to_string())
        }
        CallOutcome::TimedOut => Err(format!("no answer within {limit:?}")),
    }
}

/// Returns the error code of a call, with the message of SQS.
fn reason<E: ProvideErrorMetadata>(error: &E) -> Option<String> {
    let code = error.code()?;
    Some(error.message().map_or_else(|| code.to_owned(), |message| format!("{code}: {message}")))
}
