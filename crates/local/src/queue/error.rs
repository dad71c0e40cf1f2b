//! SQS's errors.

use std::fmt::Display;

use http::StatusCode;
use redrive_sqs::{LONGEST_DELAY, LONGEST_VISIBILITY};

use crate::protocol::{AwsError, ErrorKind};

pub(crate) const BATCH_ENTRY_IDS_NOT_DISTINCT: ErrorKind = ErrorKind::new(
    "com.amazonaws.sqs#BatchEntryIdsNotDistinct",
    "AWS.SimpleQueueService.BatchEntryIdsNotDistinct",
);
pub(crate) const BATCH_REQUEST_TOO_LONG: ErrorKind =
    ErrorKind::new("com.amazonaws.sqs#BatchRequestTooLong", "AWS.SimpleQueueService.BatchRequestTooLong");
pub(crate) const EMPTY_BATCH_REQUEST: ErrorKind =
    ErrorKind::new("com.amazonaws.sqs#EmptyBatchRequest", "AWS.SimpleQueueService.EmptyBatchRequest");
pub(crate) const INVALID_ATTRIBUTE_NAME: ErrorKind =
    ErrorKind::new("com.amazonaws.sqs#InvalidAttributeName", "InvalidAttributeName");
pub(crate) const INVALID_ATTRIBUTE_VALUE: ErrorKind =
    ErrorKind::new("com.amazonaws.sqs#InvalidAttributeValue", "InvalidAttributeValue");
pub(crate) const INVALID_BATCH_ENTRY_ID: ErrorKind =
    ErrorKind::new("com.amazonaws.sqs#InvalidBatchEntryId", "AWS.SimpleQueueService.InvalidBatchEntryId");
pub(crate) const INVALID_MESSAGE_CONTENTS: ErrorKind =
    ErrorKind::new("com.amazonaws.sqs#InvalidMessageContents", "InvalidMessageContents");
pub(crate) const INVALID_PARAMETER_VALUE: ErrorKind =
    ErrorKind::new("com.amazon.coral.service#InvalidParameterValueException", "InvalidParameterValue");
/// The error for a visibility change of a message that is gone.
pub(crate) const MESSAGE_NOT_AVAILABLE: ErrorKind =
    INVALID_PARAMETER_VALUE.in_batch("ReceiptHandleIsInvalid");
pub(crate) const MISSING_PARAMETER: ErrorKind =
    ErrorKind::new("com.amazon.coral.service#MissingRequiredParameterException", "MissingParameter");
pub(crate) const OVER_LIMIT: ErrorKind =
    ErrorKind::new("com.amazonaws.sqs#OverLimit", "OverLimit").with_status(StatusCode::FORBIDDEN);
pub(crate) const PURGE_QUEUE_IN_PROGRESS: ErrorKind =
    ErrorKind::new("com.amazonaws.sqs#PurgeQueueInProgress", "AWS.SimpleQueueService.PurgeQueueInProgress")
        .with_status(StatusCode::FORBIDDEN);
pub(crate) const QUEUE_DELETED_RECENTLY: ErrorKind =
    ErrorKind::new("com.amazonaws.sqs#QueueDeletedRecently", "AWS.SimpleQueueService.QueueDeletedRecently");
/// The error for a missing queue. In the query protocol it is missing "for this wsdl version".
pub(crate) const QUEUE_DOES_NOT_EXIST: ErrorKind =
    ErrorKind::new("com.amazonaws.sqs#QueueDoesNotExist", "AWS.SimpleQueueService.NonExistentQueue")
        .in_query("The specified queue does not exist for this wsdl version.");
pub(crate) const QUEUE_NAME_EXISTS: ErrorKind =
    ErrorKind::new("com.amazonaws.sqs#QueueNameExists", "QueueAlreadyExists");
pub(crate) const RECEIPT_HANDLE_IS_INVALID: ErrorKind =
    ErrorKind::new("com.amazonaws.sqs#ReceiptHandleIsInvalid", "ReceiptHandleIsInvalid");
pub(crate) const REQUEST_THROTTLED: ErrorKind =
    ErrorKind::new("com.amazonaws.sqs#RequestThrottled", "RequestThrottled");
pub(crate) const RESOURCE_NOT_FOUND: ErrorKind =
    ErrorKind::new("com.amazonaws.sqs#ResourceNotFoundException", "ResourceNotFoundException")
        .with_status(StatusCode::NOT_FOUND);
pub(crate) const TOO_MANY_ENTRIES_IN_BATCH_REQUEST: ErrorKind = ErrorKind::new(
    "com.amazonaws.sqs#TooManyEntriesInBatchRequest",
    "AWS.SimpleQueueService.TooManyEntriesInBatchRequest",
);

/// Returns an `InvalidParameterValue` with the sentence that SQS uses for most of them.
pub(crate) fn invalid(parameter: &str, value: impl Display, reason: impl Display) -> AwsError {
    INVALID_PARAMETER_VALUE
        .error(format!("Value {value} for parameter {parameter} is invalid. Reason: {reason}"))
}

/// Returns the reason for which a visibility timeout is refused.
pub(crate) fn visibility_timeout() -> String {
    format!("Must be between 0 and {}, if provided.", LONGEST_VISIBILITY.as_secs())
}

/// Returns the reason for which a delay is refused.
pub(crate) fn delay_seconds() -> String {
    format!("DelaySeconds must be >= 0 and <= {}.", LONGEST_DELAY.as_secs())
}

pub(crate) fn missing(parameter: &str) -> AwsError {
    MISSING_PARAMETER.error(format!("The request must contain the parameter {parameter}."))
}

pub(crate) fn no_such_queue() -> AwsError {
    QUEUE_DOES_NOT_EXIST.error("The specified queue does not exist.")
}
