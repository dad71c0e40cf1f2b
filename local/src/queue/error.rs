//! What SQS answers when it refuses.

use std::fmt;

/// A refusal by SQS. It displays as SQS's own message; [`code`](Self::code) is what SDKs match on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SqsError {
    kind: ErrorKind,
    message: String,
}

impl SqsError {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    /// An `InvalidParameterValue` in the sentence that SQS uses for most of them.
    pub(crate) fn invalid(parameter: &str, value: impl fmt::Display, reason: impl fmt::Display) -> Self {
        let message = format!("Value {value} for parameter {parameter} is invalid. Reason: {reason}");
        Self::new(ErrorKind::InvalidParameterValue, message)
    }

    pub(crate) fn missing(parameter: &str) -> Self {
        let message = format!("The request must contain the parameter {parameter}.");
        Self::new(ErrorKind::MissingParameter, message)
    }

    pub(crate) fn no_such_queue() -> Self {
        Self::new(ErrorKind::QueueDoesNotExist, "The specified queue does not exist.")
    }

    /// The code of the retired query protocol, which SDKs still match on: `AWS.SimpleQueueService.NonExistentQueue`.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.kind.names().1
    }

    pub(crate) fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The name of the JSON shape with its namespace: `com.amazonaws.sqs#QueueDoesNotExist`.
    pub(crate) fn shape(&self) -> &'static str {
        self.kind.names().0
    }

    /// The code inside the `Failed` list of a batch, where a vanished message has a name of its own.
    pub(crate) fn entry_code(&self) -> &'static str {
        match self.kind {
            ErrorKind::MessageNotAvailable => "ReceiptHandleIsInvalid",
            _ => self.code(),
        }
    }

    /// The message inside the `Failed` list of a batch, which has other words for a message that is too long.
    pub(crate) fn entry_message(&self) -> String {
        self.message.replacen("parameters are invalid", "parameters cannot be validated", 1)
    }

    pub(crate) fn status(&self) -> http::StatusCode {
        match self.kind {
            ErrorKind::OverLimit | ErrorKind::PurgeQueueInProgress => http::StatusCode::FORBIDDEN,
            ErrorKind::ResourceNotFound => http::StatusCode::NOT_FOUND,
            _ => http::StatusCode::BAD_REQUEST,
        }
    }
}

/// Every kind of refusal, named as the shape of the JSON protocol where there is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ErrorKind {
    BatchEntryIdsNotDistinct,
    BatchRequestTooLong,
    EmptyBatchRequest,
    InvalidAttributeName,
    InvalidAttributeValue,
    InvalidBatchEntryId,
    InvalidMessageContents,
    InvalidParameterValue,
    /// A visibility change on a message that is gone.
    MessageNotAvailable,
    MissingParameter,
    OverLimit,
    PurgeQueueInProgress,
    QueueDeletedRecently,
    QueueDoesNotExist,
    QueueNameExists,
    ReceiptHandleIsInvalid,
    RequestThrottled,
    ResourceNotFound,
    SerializationException,
    TooManyEntriesInBatchRequest,
    UnknownOperation,
}

impl ErrorKind {
    /// The shape of the JSON protocol, and the code of the query protocol.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::BatchEntryIdsNotDistinct => (
                "com.amazonaws.sqs#BatchEntryIdsNotDistinct",
                "AWS.SimpleQueueService.BatchEntryIdsNotDistinct",
            ),
            Self::BatchRequestTooLong => {
                ("com.amazonaws.sqs#BatchRequestTooLong", "AWS.SimpleQueueService.BatchRequestTooLong")
            }
            Self::EmptyBatchRequest => {
                ("com.amazonaws.sqs#EmptyBatchRequest", "AWS.SimpleQueueService.EmptyBatchRequest")
            }
            Self::InvalidAttributeName => ("com.amazonaws.sqs#InvalidAttributeName", "InvalidAttributeName"),
            Self::InvalidAttributeValue => {
                ("com.amazonaws.sqs#InvalidAttributeValue", "InvalidAttributeValue")
            }
            Self::InvalidBatchEntryId => {
                ("com.amazonaws.sqs#InvalidBatchEntryId", "AWS.SimpleQueueService.InvalidBatchEntryId")
            }
            Self::InvalidMessageContents => {
                ("com.amazonaws.sqs#InvalidMessageContents", "InvalidMessageContents")
            }
            Self::InvalidParameterValue | Self::MessageNotAvailable => {
                ("com.amazon.coral.service#InvalidParameterValueException", "InvalidParameterValue")
            }
            Self::MissingParameter => {
                ("com.amazon.coral.service#MissingRequiredParameterException", "MissingParameter")
            }
            Self::OverLimit => ("com.amazonaws.sqs#OverLimit", "OverLimit"),
            Self::PurgeQueueInProgress => {
                ("com.amazonaws.sqs#PurgeQueueInProgress", "AWS.SimpleQueueService.PurgeQueueInProgress")
            }
            Self::QueueDeletedRecently => {
                ("com.amazonaws.sqs#QueueDeletedRecently", "AWS.SimpleQueueService.QueueDeletedRecently")
            }
            Self::QueueDoesNotExist => {
                ("com.amazonaws.sqs#QueueDoesNotExist", "AWS.SimpleQueueService.NonExistentQueue")
            }
            Self::QueueNameExists => ("com.amazonaws.sqs#QueueNameExists", "QueueAlreadyExists"),
            Self::ReceiptHandleIsInvalid => {
                ("com.amazonaws.sqs#ReceiptHandleIsInvalid", "ReceiptHandleIsInvalid")
            }
            Self::RequestThrottled => ("com.amazonaws.sqs#RequestThrottled", "RequestThrottled"),
            Self::ResourceNotFound => {
                ("com.amazonaws.sqs#ResourceNotFoundException", "ResourceNotFoundException")
            }
            Self::SerializationException => {
                ("com.amazon.coral.service#SerializationException", "SerializationException")
            }
            Self::TooManyEntriesInBatchRequest => (
                "com.amazonaws.sqs#TooManyEntriesInBatchRequest",
                "AWS.SimpleQueueService.TooManyEntriesInBatchRequest",
            ),
            Self::UnknownOperation => ("com.amazon.coral.service#UnknownOperationException", "InvalidAction"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_queue_has_the_code_that_the_rust_sdk_matches_on() {
        let error = SqsError::no_such_queue();
        assert_eq!(error.code(), "AWS.SimpleQueueService.NonExistentQueue");
        assert_eq!(error.shape(), "com.amazonaws.sqs#QueueDoesNotExist");
        assert_eq!(error.to_string(), "The specified queue does not exist.");
    }

    #[test]
    fn a_vanished_message_has_one_code_alone_and_another_in_a_batch() {
        let error = SqsError::new(ErrorKind::MessageNotAvailable, "gone");
        assert_eq!((error.code(), error.entry_code()), ("InvalidParameterValue", "ReceiptHandleIsInvalid"));
    }

    #[test]
    fn a_limit_is_forbidden_a_missing_resource_not_found_all_else_a_bad_request() {
        assert_eq!(SqsError::new(ErrorKind::OverLimit, "").status(), 403);
        assert_eq!(SqsError::new(ErrorKind::ResourceNotFound, "").status(), 404);
        assert_eq!(SqsError::new(ErrorKind::PurgeQueueInProgress, "").status(), 403);
        assert_eq!(SqsError::no_such_queue().status(), 400);
    }
}
