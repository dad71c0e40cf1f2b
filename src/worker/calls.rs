//! The calls of a worker that settling does not make: receives, and extensions of leases.

use std::sync::Arc;
use std::time::Duration;

use aws_lambda_events::encodings::Base64Data;
use aws_lambda_events::sqs::{SqsEvent, SqsMessage, SqsMessageAttribute};
use aws_sdk_sqs::error::{DisplayErrorContext, ProvideErrorMetadata};
use aws_sdk_sqs::types::{
    ChangeMessageVisibilityBatchRequestEntry, Message, MessageAttributeValue, MessageSystemAttributeName,
};
use redrive_sqs::has_lease_ended;

use super::hold::Key;
use super::queue::SourceQueue;
use crate::aws::{CallOutcome, Sqs};

/// How much longer than its wait a receive may take. The SDK's own timeouts do not bound a receive that is never answered.
/// <https://github.com/awslabs/aws-sdk-rust/issues/1094>
const MARGIN: Duration = Duration::from_secs(5);
/// How long an extension may take.
const EXTENSION: Duration = Duration::from_secs(2);

/// Receives up to so many messages. The error is one line for the log.
pub(super) async fn receive(
    sqs: &Sqs,
    queue: &SourceQueue,
    messages: usize,
    wait: Duration,
) -> Result<Vec<Message>, String> {
    let seconds = |duration: Duration| i32::try_from(duration.as_secs()).unwrap_or(i32::MAX);
    let call = sqs.client.receive_message().queue_url(&queue.url);
    let call = call
        .max_number_of_messages(i32::try_from(messages).unwrap_or(1))
        .wait_time_seconds(seconds(wait))
        .visibility_timeout(seconds(queue.visibility))
        .message_system_attribute_names(MessageSystemAttributeName::All)
        .message_attribute_names("All");
    match sqs.endpoint.call(wait + MARGIN, call.send()).await {
        CallOutcome::Answered(output) => Ok(output.messages.unwrap_or_default()),
        CallOutcome::Refused(error) | CallOutcome::ConnectionFailed(error) => {
            Err(DisplayErrorContext(&error).to_string())
        }
        CallOutcome::TimedOut => Err(format!("no answer within {:?}", wait + MARGIN)),
    }
}

/// What became of the extension of a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extension {
    Granted,
    /// The message is deleted, or visible.
    Refused,
    Unanswered,
}

/// Extends leases to so many seconds from now.
pub(super) async fn extend(
    sqs: &Sqs,
    queue: &SourceQueue,
    leases: &[(Key, Arc<str>, u64)],
) -> Result<Vec<(Key, Extension)>, String> {
    let entry = |(key, handle, seconds): &(Key, Arc<str>, u64)| {
        ChangeMessageVisibilityBatchRequestEntry::builder()
            .id(key.to_string())
            .receipt_handle(&**handle)
            .visibility_timeout(i32::try_from(*seconds).unwrap_or(i32::MAX))
            .build()
            .expect("id and receipt handle are set")
    };
    let call = sqs.client.change_message_visibility_batch().queue_url(&queue.url);
    let call = call.set_entries(Some(leases.iter().map(entry).collect()));
    // So that it can be tried again while the lease holds.
    let limit = EXTENSION.min(queue.visibility / 4);
    let output = match sqs.endpoint.call(limit, call.send()).await {
        CallOutcome::Answered(output) => output,
        CallOutcome::Refused(error) | CallOutcome::ConnectionFailed(error) => {
            return Err(DisplayErrorContext(&error).to_string());
        }
        CallOutcome::TimedOut => return Err(format!("no answer within {limit:?}")),
    };
    let outcome = |(key, ..): &(Key, Arc<str>, u64)| {
        let id = key.to_string();
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

/// How many bytes the body and the attributes of a message have.
pub(super) fn bytes(message: &Message) -> usize {
    let attributes = message.message_attributes().into_iter().flatten();
    let attributes = attributes.map(|(name, value)| {
        let text = value.string_value().map_or(0, str::len);
        name.len() + text + value.binary_value().map_or(0, |blob| blob.as_ref().len())
    });
    message.body().map_or(0, str::len) + attributes.sum::<usize>()
}

/// The event that Lambda would make of these messages.
pub(super) fn event(messages: Vec<Message>, arn: &str) -> SqsEvent {
    let mut event = SqsEvent::default();
    event.records = messages.into_iter().map(|message| record(message, arn)).collect();
    event
}

fn record(message: Message, arn: &str) -> SqsMessage {
    let mut record = SqsMessage::default();
    record.message_id = message.message_id;
    record.receipt_handle = message.receipt_handle;
    record.body = message.body;
    let system = message.attributes.unwrap_or_default();
    record.attributes = system.into_iter().map(|(name, value)| (name.as_str().to_owned(), value)).collect();
    let attributes = message.message_attributes.unwrap_or_default();
    record.message_attributes =
        attributes.into_iter().map(|(name, value)| (name, attribute(value))).collect();
    record.event_source_arn = Some(arn.to_owned());
    record.event_source = Some("aws:sqs".to_owned());
    record
}

fn attribute(value: MessageAttributeValue) -> SqsMessageAttribute {
    let mut attribute = SqsMessageAttribute::default();
    attribute.string_value = value.string_value;
    attribute.binary_value = value.binary_value.map(|blob| {
        let mut data = Base64Data::default();
        data.0 = blob.into_inner();
        data
    });
    attribute.data_type = Some(value.data_type);
    attribute
}

/// The error code of a call, and what SQS says of it.
pub(super) fn reason<E: ProvideErrorMetadata>(error: &E) -> Option<String> {
    let code = error.code()?;
    Some(error.message().map_or_else(|| code.to_owned(), |message| format!("{code}: {message}")))
}
