//! The rules that all batch operations share.

use std::collections::HashSet;

use redrive_sqs::MAX_ENTRIES;
use serde::Serialize;

use crate::protocol::AwsError;
use crate::queue::error;

/// An answer to a batch: HTTP 200, even if entries failed.
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Answer<T> {
    successful: Vec<T>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    failed: Vec<Failed>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
struct Failed {
    id: String,
    sender_fault: bool,
    code: &'static str,
    message: String,
}

/// Refuses a batch as a whole unless it has 1 to 10 entries with distinct, well-formed ids.
///
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessageBatch.html>
pub(super) fn check<'a>(ids: impl Iterator<Item = &'a str>, operation: &str) -> Result<(), AwsError> {
    let ids: Vec<_> = ids.collect();
    if ids.is_empty() {
        let message = format!("There should be at least one {operation}RequestEntry in the request.");
        return Err(error::EMPTY_BATCH_REQUEST.error(message));
    }
    if ids.len() > MAX_ENTRIES {
        let message =
            format!("Maximum number of entries per request are {MAX_ENTRIES}. You have sent {}.", ids.len());
        return Err(error::TOO_MANY_ENTRIES_IN_BATCH_REQUEST.error(message));
    }
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    if ids.iter().any(|id| !(1..=80).contains(&id.len()) || !id.bytes().all(is_word)) {
        let message = "A batch entry id can only contain alphanumeric characters, hyphens and underscores. \
                       It can be at most 80 letters long.";
        return Err(error::INVALID_BATCH_ENTRY_ID.error(message));
    }
    let mut seen = HashSet::new();
    match ids.iter().find(|id| !seen.insert(**id)) {
        None => Ok(()),
        Some(id) => Err(error::BATCH_ENTRY_IDS_NOT_DISTINCT.error(format!("Id {id} repeated."))),
    }
}

impl<T> Answer<T> {
    /// Separates the results by id into those that succeeded and those that failed.
    pub(super) fn new(results: impl IntoIterator<Item = (String, Result<T, AwsError>)>) -> Self {
        let mut answer = Self { successful: Vec::new(), failed: Vec::new() };
        for (id, result) in results {
            match result {
                Ok(entry) => answer.successful.push(entry),
                Err(error) => {
                    let (code, message) = (error.code_in_batch(), entry_message(&error));
                    answer.failed.push(Failed { id, sender_fault: true, code, message });
                }
            }
        }
        answer
    }
}

/// Returns the message of a failed entry. SQS uses a different text for a message that is too long in a batch.
fn entry_message(error: &AwsError) -> String {
    error.message().replacen("parameters are invalid", "parameters cannot be validated", 1)
}
