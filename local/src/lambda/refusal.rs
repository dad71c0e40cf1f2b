//! What Lambda answers when it refuses.

use std::fmt::Display;

use http::StatusCode;
use serde_json::{Value, json};

/// A refusal: the name of an exception, and the words of Lambda.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    kind: Kind,
    message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    InvalidParameterValue,
    ResourceInUse,
    ResourceNotFound,
    UnknownOperation,
    Validation,
}

impl Refusal {
    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self::new(Kind::InvalidParameterValue, message)
    }

    pub(super) fn in_use(message: impl Into<String>) -> Self {
        Self::new(Kind::ResourceInUse, message)
    }

    pub(super) fn no_such_function(arn: &str) -> Self {
        Self::new(Kind::ResourceNotFound, format!("Function not found: {arn}"))
    }

    pub(super) fn no_such_mapping() -> Self {
        Self::new(Kind::ResourceNotFound, "The resource you requested does not exist.")
    }

    pub(super) fn unknown(what: &str) -> Self {
        Self::new(Kind::UnknownOperation, format!("redrive-local has no {what} of Lambda"))
    }

    /// A value outside of what the model of the API allows.
    pub(super) fn constraint(value: impl Display, member: &str, constraint: impl Display) -> Self {
        let message = format!(
            "1 validation error detected: Value '{value}' at '{member}' failed to satisfy constraint: Member must {constraint}"
        );
        Self::new(Kind::Validation, message)
    }

    pub(super) fn unreadable(reason: impl Display) -> Self {
        Self::new(Kind::InvalidParameterValue, format!("Could not parse request body into json: {reason}"))
    }

    fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    pub(super) fn status(&self) -> StatusCode {
        match self.kind {
            Kind::InvalidParameterValue | Kind::ResourceInUse | Kind::Validation => StatusCode::BAD_REQUEST,
            Kind::ResourceNotFound | Kind::UnknownOperation => StatusCode::NOT_FOUND,
        }
    }

    pub(super) fn shape(&self) -> &'static str {
        match self.kind {
            Kind::InvalidParameterValue => "InvalidParameterValueException",
            Kind::ResourceInUse => "ResourceInUseException",
            Kind::ResourceNotFound => "ResourceNotFoundException",
            Kind::UnknownOperation => "UnknownOperationException",
            Kind::Validation => "ValidationException",
        }
    }

    /// The message's key is not the same in all exceptions of the model.
    pub(super) fn body(&self) -> Value {
        match self.kind {
            Kind::InvalidParameterValue => json!({ "Type": "User", "message": self.message }),
            Kind::ResourceInUse | Kind::ResourceNotFound => {
                json!({ "Type": "User", "Message": self.message })
            }
            Kind::UnknownOperation | Kind::Validation => json!({ "message": self.message }),
        }
    }
}
