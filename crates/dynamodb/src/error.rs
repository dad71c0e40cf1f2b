//! Why a record could not be read or written. redrive reports these as texts.

use std::error::Error;

use aws_sdk_dynamodb::config::http::HttpResponse;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};

/// The environment names no table.
#[derive(Debug, thiserror::Error)]
#[error("REDRIVE_IDEMPOTENCY_TABLE is not set, allowed: the name or the ARN of a table")]
#[non_exhaustive]
pub struct MissingTable;

/// Why a record could not be read or written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StoreError {
    /// DynamoDB refused the call or did not answer it.
    #[error("{operation} on the table {table}: {said}")]
    Call { operation: &'static str, table: String, said: String },
    /// Nobody with this layout has written the item.
    #[error("the item {id} of the table {table} has {fault}")]
    Item { id: String, table: String, fault: String },
    /// It was free whenever it was looked at, and taken whenever it was claimed.
    #[error("the item {id} of the table {table} changes too often to be claimed")]
    Contended { id: String, table: String },
}

/// `AccessDeniedException: …` if DynamoDB says so, else the status of the answer, and what went wrong if there is none.
pub(crate) fn said<E>(error: &SdkError<E, HttpResponse>) -> String
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

/// The cause of all causes, without the layers of the SDK around it.
fn innermost(error: &dyn Error) -> String {
    error.source().map_or_else(|| error.to_string(), innermost)
}
