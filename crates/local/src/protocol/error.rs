//! Errors of services.

use std::fmt::Display;

use http::StatusCode;

/// A refusal by a service of AWS. It displays as the service's own message. SDKs match on the [`code`](Self::code).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct AwsError {
    kind: ErrorKind,
    message: String,
}

/// A kind of error, as a row in its service's table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ErrorKind {
    shape: &'static str,
    code: &'static str,
    status: StatusCode,
    query_status: Option<StatusCode>,
    in_query: Option<&'static str>,
    in_batch: Option<&'static str>,
}

pub(crate) const SERIALIZATION: ErrorKind =
    ErrorKind::new("com.amazon.coral.service#SerializationException", "SerializationException");
pub(crate) const UNKNOWN_OPERATION: ErrorKind =
    ErrorKind::new("com.amazon.coral.service#UnknownOperationException", "InvalidAction");
pub(crate) const VALIDATION: ErrorKind =
    ErrorKind::new("com.amazon.coral.validate#ValidationException", "ValidationError");

impl ErrorKind {
    /// Creates a kind from its shape's name in JSON and CBOR, and its code in the query protocol.
    pub(crate) const fn new(shape: &'static str, code: &'static str) -> Self {
        let status = StatusCode::BAD_REQUEST;
        Self { shape, code, status, query_status: None, in_query: None, in_batch: None }
    }

    /// Creates a kind of a service whose codes are the names of its shapes.
    pub(crate) const fn named(name: &'static str) -> Self {
        Self::new(name, name)
    }

    /// Replaces the status 400.
    pub(crate) const fn with_status(self, status: StatusCode) -> Self {
        Self { status, ..self }
    }

    /// Replaces the status 400 in the query protocol, and for clients that request its codes.
    pub(crate) const fn with_query_status(self, status: StatusCode) -> Self {
        Self { query_status: Some(status), ..self }
    }

    /// Replaces the message in the query protocol.
    pub(crate) const fn in_query(self, message: &'static str) -> Self {
        Self { in_query: Some(message), ..self }
    }

    /// Replaces the code in the entries of a batch.
    pub(crate) const fn in_batch(self, code: &'static str) -> Self {
        Self { in_batch: Some(code), ..self }
    }

    pub(crate) fn error(self, message: impl Into<String>) -> AwsError {
        AwsError { kind: self, message: message.into() }
    }

    /// Returns the error for a value that the API's model does not allow.
    pub(crate) fn constraint(self, value: impl Display, member: &str, must: impl Display) -> AwsError {
        self.violation(format!("'{value}'"), member, must)
    }

    pub(crate) fn not_null(self, member: &str) -> AwsError {
        self.violation("null", member, "not be null")
    }

    fn violation(self, value: impl Display, member: &str, must: impl Display) -> AwsError {
        self.error(format!(
            "1 validation error detected: Value {value} at '{member}' failed to satisfy constraint: Member must {must}"
        ))
    }
}

impl AwsError {
    /// Returns the code of the query protocol, on which SDKs still match: `AWS.SimpleQueueService.NonExistentQueue`.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.kind.code
    }

    pub(crate) fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Returns the name of the shape with its namespace, if it has one: `com.amazonaws.sqs#QueueDoesNotExist`.
    pub(crate) fn shape(&self) -> &'static str {
        self.kind.shape
    }

    /// Returns the name of the shape without its namespace.
    pub(crate) fn name(&self) -> &'static str {
        self.kind.shape.rsplit('#').next().unwrap_or_default()
    }

    /// Returns the message, which is empty if only the code matters.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    pub(crate) fn message_in_query(&self) -> &str {
        self.kind.in_query.unwrap_or(&self.message)
    }

    pub(crate) fn code_in_batch(&self) -> &'static str {
        self.kind.in_batch.unwrap_or(self.kind.code)
    }

    pub(crate) fn status(&self, in_query: bool) -> StatusCode {
        self.kind.query_status.filter(|_| in_query).unwrap_or(self.kind.status)
    }

    /// Returns the party at fault, as the query protocol and the entries of a batch name it.
    pub(crate) fn fault(&self) -> &'static str {
        if self.kind.status.is_server_error() { "Receiver" } else { "Sender" }
    }
}
