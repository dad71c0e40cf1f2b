//! Checks messages as SQS does.
//!
//! <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html>

use std::time::Duration;

use redrive_sqs::{LONGEST_DELAY, MAX_ATTRIBUTES, is_attribute_name, is_attribute_number};

use super::error;
use super::message::{AttributeValue, MessageAttribute, NewMessage};
use super::settings::Settings;
use crate::protocol::AwsError;

/// Returns the bytes that count toward the limit of 1 MiB: the body, and the names, types and values of attributes.
pub(crate) fn size(message: &NewMessage) -> usize {
    let attributes = message.attributes.iter();
    let attributes =
        attributes.map(|(name, it)| name.len() + it.data_type.len() + it.value.bytes().len()).sum::<usize>();
    message.body.len() + attributes
}

/// Refuses a message that SQS refuses.
pub(super) fn check(message: &NewMessage, settings: &Settings) -> Result<(), AwsError> {
    check_group(message, settings)?;
    check_delay(message, settings)?;
    if message.body.is_empty() {
        return Err(error::missing("MessageBody"));
    }
    check_characters(&message.body).map_err(|message| error::INVALID_MESSAGE_CONTENTS.error(message))?;
    let count = message.attributes.len();
    if count > MAX_ATTRIBUTES {
        return Err(invalid(format!(
            "Number of message attributes [{count}] exceeds the allowed maximum [{MAX_ATTRIBUTES}]."
        )));
    }
    message.attributes.iter().try_for_each(|(name, attribute)| check_attribute(name, attribute))?;
    let limit = settings.maximum_message_size;
    if size(message) > limit {
        return Err(invalid(format!(
            "One or more parameters are invalid. Reason: Message must be shorter than {limit} bytes."
        )));
    }
    Ok(())
}

/// Refuses a whole batch to a FIFO queue if an entry lacks a group or a deduplication id. The code for a missing group
/// differs from that of a single message. AWS was observed to answer so:
/// <https://github.com/localstack/localstack/blob/8b9a79f/tests/aws/services/sqs/test_sqs.snapshot.json>
pub(super) fn check_batch(message: &NewMessage, settings: &Settings) -> Result<(), AwsError> {
    if settings.fifo && message.group_id.is_none() {
        return Err(invalid(error::missing("MessageGroupId").to_string()));
    }
    if settings.fifo && message.deduplication_id.is_none() && !settings.content_based_deduplication {
        return Err(invalid(NO_DEDUPLICATION));
    }
    Ok(())
}

fn check_group(message: &NewMessage, settings: &Settings) -> Result<(), AwsError> {
    if settings.fifo && message.group_id.is_none() {
        return Err(error::missing("MessageGroupId"));
    }
    let ids = [("MessageGroupId", &message.group_id), ("MessageDeduplicationId", &message.deduplication_id)];
    for (parameter, id) in ids {
        id.as_ref().map_or(Ok(()), |id| check_id(parameter, id))?;
    }
    match &message.deduplication_id {
        Some(id) => check_fifo_only("MessageDeduplicationId", id, settings),
        None if settings.fifo && !settings.content_based_deduplication => Err(invalid(NO_DEDUPLICATION)),
        _ => Ok(()),
    }
}

const NO_DEDUPLICATION: &str = "The queue should either have ContentBasedDeduplication enabled or \
                                MessageDeduplicationId provided explicitly";

fn check_delay(message: &NewMessage, settings: &Settings) -> Result<(), AwsError> {
    let refused =
        |delay: Duration, reason: &str| Err(error::invalid("DelaySeconds", delay.as_secs(), reason));
    match message.delay {
        Some(delay) if settings.fifo && !delay.is_zero() => {
            refused(delay, "The request include parameter that is not valid for this queue type.")
        }
        Some(delay) if delay > LONGEST_DELAY => refused(delay, &error::delay_seconds()),
        _ => Ok(()),
    }
}

fn check_attribute(name: &str, attribute: &MessageAttribute) -> Result<(), AwsError> {
    if !is_attribute_name(name) {
        return Err(invalid(format!(
            "Message (user) attribute name '{name}' must have 1 to 256 letters, digits, underscores, hyphens and single \
             periods within, and must not begin with 'AWS.' or 'Amazon.'."
        )));
    }
    let data_type = &attribute.data_type;
    let is_typed = matches!(
        (data_type.split('.').next(), &attribute.value),
        (Some("String" | "Number"), AttributeValue::Text(_)) | (Some("Binary"), AttributeValue::Binary(_))
    );
    if !is_typed || data_type.len() > 256 {
        return Err(invalid(format!(
            "The message attribute '{name}' has an invalid message attribute type, the set of supported type \
             prefixes is Binary, Number, and String."
        )));
    }
    if attribute.value.bytes().is_empty() {
        return Err(invalid(format!(
            "Message (user) attribute '{name}' must contain a non-empty value of type '{data_type}'."
        )));
    }
    let AttributeValue::Text(text) = &attribute.value else { return Ok(()) };
    if data_type.starts_with("Number") && !is_attribute_number(text) {
        return Err(invalid(format!("Can't cast the value of message attribute '{name}' to a number.")));
    }
    check_characters(text).map_err(invalid)
}

/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessage.html>
fn check_characters(text: &str) -> Result<(), String> {
    let Some(char) = text.chars().find(|char| !redrive_sqs::is_sqs_char(*char)) else { return Ok(()) };
    Err(format!(
        "Invalid binary character '#x{:X}' was found, the set of allowed characters is #x9 | #xA | #xD | \
         #x20 to #xD7FF | #xE000 to #xFFFD | #x10000 to #x10FFFF",
        u32::from(char)
    ))
}

fn invalid(message: impl Into<String>) -> AwsError {
    error::INVALID_PARAMETER_VALUE.error(message)
}

/// Checks an id that a client chose: of a group, of duplicates or of receive attempts.
pub(super) fn check_id(parameter: &str, id: &str) -> Result<(), AwsError> {
    if redrive_sqs::is_message_id(id) {
        return Ok(());
    }
    let reason =
        format!("{parameter} can only include alphanumeric and punctuation characters. 1 to 128 in length.");
    Err(error::invalid(parameter, id, reason))
}

pub(super) fn check_fifo_only(parameter: &str, id: &str, settings: &Settings) -> Result<(), AwsError> {
    if settings.fifo {
        return Ok(());
    }
    let reason = "The request includes a parameter that is not valid for this queue type.";
    Err(error::invalid(parameter, id, reason))
}
