//! The calls of a worker that settling does not make: receives, and extensions of leases.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use aws_sdk_sqs::config::http::HttpResponse;
use aws_sdk_sqs::error::{DisplayErrorContext, ProvideErrorMetadata, SdkError};
use aws_sdk_sqs::types::{ChangeMessageVisibilityBatchRequestEntry, MessageSystemAttributeName};
use redrive_sqs::has_lease_ended;
use tracing::warn;

use super::queue::SourceQueue;
use crate::aws::{CallOutcome, Sqs};
use crate::engine::keys::LeaseKey;
use crate::engine::{Extension, Poll};
use crate::polled::Polled;

/// How much longer than its wait a receive may take. The SDK's own timeouts do not bound a receive that is never answered.
/// <https://github.com/awslabs/aws-sdk-rust/issues/1094>
const MARGIN: Duration = Duration::from_secs(5);
/// How long an extension may take.
const EXTENSION: Duration = Duration::from_secs(2);

/// Receives up to so many messages. The error is one line for the log.
pub(super) async fn receive(
    sqs: &Sqs,
    queue: &SourceQueue,
    Poll { messages, wait, .. }: Poll,
) -> Result<Vec<Arc<Polled>>, String> {
    let seconds = |duration: Duration| i32::try_from(duration.as_secs()).unwrap_or(i32::MAX);
    let call = sqs.client.receive_message().queue_url(&queue.url);
    let call = call
        .max_number_of_messages(i32::try_from(messages).unwrap_or(1))
        .wait_time_seconds(seconds(wait))
        .visibility_timeout(seconds(queue.visibility))
        .message_system_attribute_names(MessageSystemAttributeName::All)
        .message_attribute_names("All");
    let output = answer(sqs, wait + MARGIN, call.send()).await?;
    let known = |message| {
        let message = Polled::new(message);
        if message.is_none() {
            warn!("a message without an id was received, and is not handled");
        }
        message.map(Arc::new)
    };
    Ok(output.messages.unwrap_or_default().into_iter().filter_map(known).collect())
}

/// Extends leases to so many seconds from now.
pub(super) async fn extend(
    sqs: &Sqs,
    queue: &SourceQueue,
    leases: &[(LeaseKey, Arc<Polled>, u64)],
) -> Result<Vec<(LeaseKey, Extension)>, String> {
    let entry = |(key, message, seconds): &(LeaseKey, Arc<Polled>, u64)| {
        ChangeMessageVisibilityBatchRequestEntry::builder()
            .id(key.0.to_string())
            .receipt_handle(message.receipt_handle())
            .visibility_timeout(i32::try_from(*seconds).unwrap_or(i32::MAX))
            .build()
            .expect("id and receipt handle are set")
    };
    let call = sqs.client.change_message_visibility_batch().queue_url(&queue.url);
    let call = call.set_entries(Some(leases.iter().map(entry).collect()));
    // So that it can be tried again while the lease holds.
    let limit = EXTENSION.min(queue.visibility / 4);
    let output = answer(sqs, limit, call.send()).await?;
    let outcome = |(key, ..): &(LeaseKey, Arc<Polled>, u64)| {
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

/// What a call brings, or one line for the log.
async fn answer<T, E: Error + 'static>(
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

/// The error code of a call, and what SQS says of it.
pub(super) fn reason<E: ProvideErrorMetadata>(error: &E) -> Option<String> {
    let code = error.code()?;
    Some(error.message().map_or_else(|| code.to_owned(), |message| format!("{code}: {message}")))
}
