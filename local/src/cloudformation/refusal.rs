//! What CloudFormation answers when it refuses.

/// A refusal, always with status 400.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) code: &'static str,
    pub(super) message: String,
}

impl Refusal {
    pub(super) fn validation(message: impl Into<String>) -> Self {
        Self { code: "ValidationError", message: message.into() }
    }

    pub(super) fn missing(parameter: &str) -> Self {
        Self::validation(format!(
            "1 validation error detected: Value null at '{parameter}' failed to satisfy constraint: Member must not be null"
        ))
    }

    pub(super) fn unknown(operation: &str) -> Self {
        let message = format!("redrive-local has no operation {operation} of CloudFormation");
        Self { code: "InvalidAction", message }
    }
}
