//! What CloudWatch answers when it refuses.

use std::fmt::Display;

use ciborium::Value;
use http::StatusCode;

/// A refusal. Shapes have names of their own; the codes are those of the query protocol, which SDKs match on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cloudwatch) struct Refusal {
    kind: Kind,
    message: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    InvalidFormat,
    InvalidNextToken,
    InvalidParameterCombination,
    InvalidParameterValue,
    MissingParameter,
    RequestTooLarge,
    ResourceNotFound,
    Serialization,
    UnknownOperation,
    Validation,
}

impl Refusal {
    pub(in crate::cloudwatch) fn invalid(message: impl Into<String>) -> Self {
        Self::new(Kind::InvalidParameterValue, message)
    }

    pub(in crate::cloudwatch) fn invalid_value(parameter: &str, value: impl Display) -> Self {
        Self::invalid(format!("The value {value} for parameter {parameter} is invalid."))
    }

    pub(in crate::cloudwatch) fn too_many(collection: &str, most: usize) -> Self {
        Self::invalid(format!("The collection {collection} must not have a size greater than {most}."))
    }

    pub(in crate::cloudwatch) fn combination(message: impl Into<String>) -> Self {
        Self::new(Kind::InvalidParameterCombination, message)
    }

    pub(in crate::cloudwatch) fn missing(parameter: &str) -> Self {
        Self::new(Kind::MissingParameter, format!("The parameter {parameter} is required."))
    }

    /// What no rule of the service has to be known for.
    pub(in crate::cloudwatch) fn validation(message: impl Into<String>) -> Self {
        Self::new(Kind::Validation, message)
    }

    pub(in crate::cloudwatch) fn constraint(
        value: impl Display,
        member: &str,
        constraint: impl Display,
    ) -> Self {
        Self::validation(format!(
            "1 validation error detected: Value {value} at '{member}' failed to satisfy constraint: {constraint}"
        ))
    }

    pub(in crate::cloudwatch) fn not_found() -> Self {
        Self { kind: Kind::ResourceNotFound, message: None }
    }

    pub(in crate::cloudwatch) fn next_token() -> Self {
        Self::new(Kind::InvalidNextToken, "NextToken is none that was given out")
    }

    pub(in crate::cloudwatch) fn format(message: impl Into<String>) -> Self {
        Self::new(Kind::InvalidFormat, message)
    }

    pub(in crate::cloudwatch) fn unknown(operation: &str) -> Self {
        let message = format!("redrive-local does not have the CloudWatch operation \"{operation}\"");
        Self::new(Kind::UnknownOperation, message)
    }

    pub(in crate::cloudwatch) fn unreadable(error: impl Display) -> Self {
        Self::new(Kind::Serialization, format!("the body is unreadable: {error}"))
    }

    pub(super) fn too_large(size: usize, most: usize) -> Self {
        Self::new(Kind::RequestTooLarge, format!("Request size {size} exceeded {most} bytes"))
    }

    fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: Some(message.into()) }
    }

    pub(super) fn status(&self) -> StatusCode {
        match self.kind {
            Kind::ResourceNotFound => StatusCode::NOT_FOUND,
            Kind::RequestTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            _ => StatusCode::BAD_REQUEST,
        }
    }

    pub(in crate::cloudwatch) fn code(&self) -> &'static str {
        self.names().1
    }

    pub(in crate::cloudwatch) fn message(&self) -> Option<&str> {
        self.message.as_deref()
    }

    pub(super) fn query_error(&self) -> String {
        format!("{};Sender", self.code())
    }

    pub(super) fn to_value(&self) -> Value {
        let member = |name: &str, text: &str| (Value::from(name), Value::from(text));
        let message = self.message.as_ref().map(|message| member("message", message));
        Value::Map([member("__type", self.names().0)].into_iter().chain(message).collect())
    }

    /// The shape, and the code.
    fn names(&self) -> (&'static str, &'static str) {
        match self.kind {
            Kind::InvalidFormat => {
                ("com.amazonaws.cloudwatch.v2010_08_01#InvalidFormatFault", "InvalidFormat")
            }
            Kind::InvalidNextToken => {
                ("com.amazonaws.cloudwatch.v2010_08_01#InvalidNextToken", "InvalidNextToken")
            }
            Kind::InvalidParameterCombination => (
                "com.amazonaws.cloudwatch.v2010_08_01#InvalidParameterCombinationException",
                "InvalidParameterCombination",
            ),
            Kind::InvalidParameterValue => (
                "com.amazonaws.cloudwatch.v2010_08_01#InvalidParameterValueException",
                "InvalidParameterValue",
            ),
            Kind::MissingParameter => {
                ("com.amazonaws.cloudwatch.v2010_08_01#MissingRequiredParameterException", "MissingParameter")
            }
            Kind::RequestTooLarge => {
                ("com.amazon.coral.service#RequestEntityTooLargeException", "RequestEntityTooLarge")
            }
            Kind::ResourceNotFound => {
                ("com.amazonaws.cloudwatch.v2010_08_01#ResourceNotFound", "ResourceNotFound")
            }
            Kind::Serialization => {
                ("com.amazon.coral.service#SerializationException", "SerializationException")
            }
            Kind::UnknownOperation => ("com.amazon.coral.service#UnknownOperationException", "InvalidAction"),
            Kind::Validation => ("com.amazon.coral.validate#ValidationException", "ValidationError"),
        }
    }
}
