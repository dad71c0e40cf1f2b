//! What CloudWatch Logs answers when it refuses.

use std::fmt::Display;

use serde_json::{Value, json};

/// A refusal, always with status 400.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    shape: &'static str,
    message: String,
}

impl Refusal {
    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self { shape: "InvalidParameterException", message: message.into() }
    }

    pub(super) fn constraint(value: impl Display, member: &str, constraint: impl Display) -> Self {
        Self::invalid(format!(
            "1 validation error detected: Value '{value}' at '{member}' failed to satisfy constraint: Member must {constraint}"
        ))
    }

    pub(super) fn no_such_group() -> Self {
        Self {
            shape: "ResourceNotFoundException",
            message: "The specified log group does not exist.".to_owned(),
        }
    }

    pub(super) fn unreadable(reason: impl Display) -> Self {
        Self { shape: "SerializationException", message: reason.to_string() }
    }

    pub(super) fn unknown(operation: &str) -> Self {
        let message = format!("redrive-local has no operation {operation} of CloudWatch Logs");
        Self { shape: "UnknownOperationException", message }
    }

    pub(super) fn body(&self) -> Value {
        json!({ "__type": self.shape, "message": self.message })
    }
}
