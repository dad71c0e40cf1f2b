//! Reads the history of a message from the function's log, from its first attempt to its last.

use std::collections::HashMap;
use std::time::Duration;

use serde::Serialize;

use crate::dlq::letter::Letter;
use crate::dlq::logs::{LogEntry, Logs};
use crate::dlq::when::rfc3339;

/// An event in the history of a message.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Event {
    pub(crate) at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) attempt: Option<u64>,
    /// The outcome that redrive logged for the attempt, or the text that the handler logged.
    pub(crate) what: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) error: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) exception: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) back_in_seconds: Option<u64>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) request_id: String,
    /// Duration of the invocation, which may have had other messages too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) invocation_milliseconds: Option<f64>,
}

/// # Errors
/// The log cannot be read.
pub(super) async fn read(logs: &mut Logs, letter: &Letter) -> anyhow::Result<Vec<Event>> {
    let entries = logs.entries(&[letter]).await?.remove(letter.message_id()).unwrap_or_default();
    let mut requests: Vec<String> = entries.iter().map(|entry| entry.logged.request_id.clone()).collect();
    requests.retain(|id| !id.is_empty());
    requests.sort();
    requests.dedup();
    let durations = match letter.sent_at() {
        Some(since) => logs.durations(&requests, since).await?,
        None => HashMap::new(),
    };
    Ok(entries.into_iter().map(|entry| event(entry, &durations)).collect())
}

fn event(entry: LogEntry, durations: &HashMap<String, Duration>) -> Event {
    let duration = durations.get(&entry.logged.request_id);
    Event {
        at: rfc3339(entry.at),
        attempt: entry.attempt,
        what: entry.what,
        error: entry.logged.error,
        exception: entry.logged.exception,
        reason: entry.reason,
        back_in_seconds: entry.back_in_seconds,
        invocation_milliseconds: duration.map(|duration| duration.as_secs_f64() * 1_000.0),
        request_id: entry.logged.request_id,
    }
}
