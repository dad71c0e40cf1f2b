//! Reads a function's response about the messages of its batch.
//! <https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html>

use std::collections::BTreeSet;
use std::time::SystemTime;

use serde_json::Value;

use crate::queue::Received;
use crate::sqs::Sqs;

/// Deletes the messages that succeeded according to a function's response, and returns their ids.
///
/// # Errors
/// Returns the reason why the response is invalid. Nothing is deleted then.
pub fn settle(
    sqs: &mut Sqs,
    queue: &str,
    batch: &[Received],
    response: &[u8],
    now: SystemTime,
) -> Result<Vec<String>, String> {
    let known: BTreeSet<&str> = batch.iter().map(|message| message.message_id.as_str()).collect();
    let failed = failed_messages(response, &known)?;
    let done = batch.iter().filter(|message| !failed.contains(message.message_id.as_str()));
    let deleted = done.filter(|message| sqs.delete(queue, &message.receipt_handle, now).is_ok());
    Ok(deleted.map(|message| message.message_id.clone()).collect())
}

/// Returns the ids that a batch response reports as failed. All other messages are deleted.
///
/// # Errors
/// Returns the reason why the response is invalid, so that the whole batch has failed. An unknown, empty or missing id makes
/// it invalid too, because a message that should stay might otherwise be deleted.
pub fn failed_messages<'response>(
    response: &'response [u8],
    known: &BTreeSet<&'response str>,
) -> Result<BTreeSet<&'response str>, String> {
    if response.trim_ascii().is_empty() {
        return Ok(BTreeSet::new());
    }
    let response: Value =
        serde_json::from_slice(response).map_err(|error| format!("invalid JSON: {error}"))?;
    let failures = match &response {
        Value::Null => return Ok(BTreeSet::new()),
        Value::String(text) if text.is_empty() => return Ok(BTreeSet::new()),
        Value::Object(fields) => match fields.get("batchItemFailures") {
            None | Some(Value::Null) => return Ok(BTreeSet::new()),
            Some(failures) => failures.as_array().ok_or("batchItemFailures is not a list")?,
        },
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            return Err("the response is not an object".into());
        }
    };
    failures
        .iter()
        .map(|failure| match failure.get("itemIdentifier").and_then(Value::as_str) {
            None => Err(format!("an item of batchItemFailures has no itemIdentifier: {failure}")),
            Some("") => Err("an itemIdentifier is empty".into()),
            Some(id) => {
                known.get(id).copied().ok_or_else(|| format!("itemIdentifier {id} is not in the batch"))
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the response to a batch of m1, m2 and m3. `expected` has the failed ones, or None if the response is invalid.
    fn check(response: &str, expected: Option<&[&str]>) {
        let known = BTreeSet::from(["m1", "m2", "m3"]);
        let failed = failed_messages(response.as_bytes(), &known);
        assert_eq!(
            failed.as_ref().ok(),
            expected.map(|ids| ids.iter().copied().collect()).as_ref(),
            "{response}"
        );
    }

    #[test]
    fn a_response_without_failures_deletes_everything() {
        for response in [
            "",
            " \n",
            "null",
            "{}",
            "\"\"",
            "{\"batchItemFailures\":null}",
            "{\"batchItemFailures\":[]}",
            "{\"statusCode\":200}",
        ] {
            check(response, Some(&[]));
        }
    }

    #[test]
    fn a_list_of_failures_keeps_exactly_these() {
        check(r#"{"batchItemFailures":[{"itemIdentifier":"m2"}]}"#, Some(&["m2"]));
        check(
            r#"{"batchItemFailures":[{"itemIdentifier":"m3"},{"itemIdentifier":"m1"},{"itemIdentifier":"m3"}]}"#,
            Some(&["m1", "m3"]),
        );
    }

    #[test]
    fn a_response_that_cannot_be_understood_deletes_nothing() {
        for response in [
            "{",
            "ok",
            "\"ok\"",
            "42",
            "[]",
            r#"{"batchItemFailures":"m1"}"#,
            r#"{"batchItemFailures":["m1"]}"#,
            r#"{"batchItemFailures":[{"itemIdentifier":""}]}"#,
            r#"{"batchItemFailures":[{"itemIdentifier":null}]}"#,
            r#"{"batchItemFailures":[{"itemIdentifier":7}]}"#,
            r#"{"batchItemFailures":[{"foo":"notvalid"}]}"#,
            r#"{"batchItemFailures":[{"itemIdentifier":"m1"},{"itemIdentifier":"m4"}]}"#,
        ] {
            check(response, None);
        }
    }
}
