//! One invocation as the page shows it. Pure.

use serde::Serialize;

use crate::InvocationOutcome;

/// A bar of the page.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Invocation {
    pub(super) number: u64,
    pub(super) request_id: String,
    pub(super) function: String,
    /// When it began, in simulated seconds since the start.
    pub(super) at: f64,
    /// The size of its batch.
    pub(super) messages: usize,
    /// How many of them were not done.
    pub(super) failed: usize,
    /// Real time; none while it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) duration_ms: Option<u64>,
    /// What went wrong with the whole of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) trouble: Option<String>,
}

impl Invocation {
    pub(super) fn new(number: u64, request_id: &str, at: f64) -> Self {
        Self {
            number,
            request_id: request_id.to_owned(),
            function: String::new(),
            at,
            messages: 0,
            failed: 0,
            duration_ms: None,
            trouble: None,
        }
    }
}

/// What went wrong with a whole invocation, in a few words.
pub(super) fn trouble(outcome: &InvocationOutcome) -> Option<String> {
    match outcome {
        InvocationOutcome::Succeeded => None,
        InvocationOutcome::BadResponse(what) => Some(format!("invalid response: {what}")),
        InvocationOutcome::Error(what) => Some(format!("error: {what}")),
        InvocationOutcome::NotStarted(failure) => Some(format!("did not start: {failure}")),
        InvocationOutcome::TimedOut => Some("timed out".to_owned()),
        InvocationOutcome::Exited(what) => Some(format!("ended: {what}")),
    }
}
