//! Errors of reading and writing records. redrive reports them as text.

use std::error::Error;
use std::fmt;

use aws_sdk_dynamodb::config::http::HttpResponse;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};

/// The environment variable `REDRIVE_IDEMPOTENCY_TABLE` is not set, or empty.
#[derive(thiserror::Error)]
#[error("REDRIVE_IDEMPOTENCY_TABLE is not set, allowed: the name or the ARN of a table")]
#[non_exhaustive]
pub struct MissingTable;

/// The same text as `Display`, because that is what a `main` prints.
impl fmt::Debug for MissingTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The reason why a record could not be read or written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StoreError {
    /// DynamoDB refused the call or did not answer it.
    #[error("{operation} on the table {table}: {said}")]
    Call { operation: &'static str, table: String, said: String },
    /// The item has a different layout.
    #[error("the item {id} of the table {table} has {fault}")]
    Item { id: String, table: String, fault: String },
    /// The key was free whenever it was read, and taken whenever it was claimed.
    #[error("the item {id} of the table {table} changes too often to be claimed")]
    Contended { id: String, table: String },
}

/// Returns DynamoDB's code and message, such as `AccessDeniedException: …`. Without a code it returns the status of the answer,
/// and without an answer the innermost cause.
pub(crate) fn error_text<E>(error: &SdkError<E, HttpResponse>) -> String
where
    E: ProvideErrorMetadata + Error + 'static,
{
    match (error.code(), error.message()) {
        (Some(code), Some(message)) => format!("{code}: {message}"),
        (Some(code), None) => code.to_owned(),
        (None, _) => match error {
            // The SDK's own text is just `Error`.
            SdkError::ServiceError(answer) => {
                format!("HTTP status {} without an error code", answer.raw().status().as_u16())
            }
            _ => innermost(error),
        },
    }
}

/// Returns the innermost cause, without the layers of the SDK around it.
fn innermost(error: &dyn Error) -> String {
    error.source().map_or_else(|| error.to_string(), innermost)
}
