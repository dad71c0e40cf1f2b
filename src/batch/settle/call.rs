//! A call with up to ten entries, and which of them are sent again, and how.
#![expect(clippy::disallowed_methods, reason = "impure: it reads the clock")]

use std::collections::HashSet;
use std::future::Future;
use std::time::Duration;

use aws_sdk_sqs::config::http::HttpResponse;
use aws_sdk_sqs::error::{DisplayErrorContext, ProvideErrorMetadata, SdkError};
use aws_sdk_sqs::types::BatchResultErrorEntry;
use futures_util::{StreamExt, stream};
use redrive_sqs::{MAX_ENTRIES, Refusal};
use tokio::time::{Instant, sleep_until};
use tracing::warn;

use super::entry::Entry;
use crate::aws::{CallOutcome, Endpoint};

const TRIES: usize = 2;
/// After a failed connection, since others may have died with it.
const TRIES_AFTER_A_LOSS: usize = 3;
const CALL_TIMEOUT: Duration = Duration::from_secs(2);
/// A call is not started with less time left.
const SHORTEST: Duration = Duration::from_millis(20);
/// Between two tries.
const PAUSE: Duration = Duration::from_millis(50);

/// What all calls of an operation have in common.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallKind<'a> {
    pub(super) operation: &'static str,
    pub(super) endpoint: &'a Endpoint,
    pub(super) until: Instant,
    pub(super) order: Order,
}

/// Whether entries must arrive in the order in which they are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    Kept,
    Free,
}

/// SQS's answer to one call.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) confirmed: HashSet<String>,
    pub(super) failed: Vec<BatchResultErrorEntry>,
}

/// Sends these entries and returns the indices that SQS confirmed; an entry that the answer does not mention is not
/// confirmed. If SQS refuses the whole call for the content of an entry, each entry is sent again by itself.
pub(super) async fn send<T, E, R>(
    entries: Vec<T>,
    kind: CallKind<'_>,
    call: impl Fn(Vec<T>) -> R,
) -> Vec<usize>
where
    T: Entry,
    E: ProvideErrorMetadata + std::error::Error + 'static,
    R: Future<Output = Result<Answer, SdkError<E, HttpResponse>>>,
{
    let (mut confirmed, refused) = try_together(entries, kind, &call).await;
    let alone = refused.into_iter().map(|entry| try_together(vec![entry], kind, &call));
    let alone: Vec<_> = alone.collect();
    let mut alone = stream::iter(alone).buffered(if kind.order == Order::Kept { 1 } else { MAX_ENTRIES });
    while let Some((done, _)) = alone.next().await {
        confirmed.extend(done);
    }
    confirmed
}

/// Sends entries in one call, and again those that were not confirmed but may be. Returns what was confirmed, and what is
/// to be sent one by one.
async fn try_together<T, E, R>(
    mut entries: Vec<T>,
    kind: CallKind<'_>,
    call: impl Fn(Vec<T>) -> R,
) -> (Vec<usize>, Vec<T>)
where
    T: Entry,
    E: ProvideErrorMetadata + std::error::Error + 'static,
    R: Future<Output = Result<Answer, SdkError<E, HttpResponse>>>,
{
    let CallKind { operation, endpoint, until, .. } = kind;
    let mut confirmed = Vec::with_capacity(entries.len());
    let (mut usual, mut tries) = endpoint.limits(CALL_TIMEOUT, TRIES);
    let mut attempt = 0;
    while attempt < tries && !entries.is_empty() {
        attempt += 1;
        if attempt > 1 {
            sleep_until(until.min(Instant::now() + PAUSE)).await;
        }
        let limit = usual.min(until.saturating_duration_since(Instant::now()).mul_f64(0.8));
        // SQS may carry out a call whose answer nobody waits for.
        if limit < SHORTEST {
            break;
        }
        let outcome = endpoint.call(limit, call(entries.clone())).await;
        if matches!(outcome, CallOutcome::Answered(_) | CallOutcome::Refused(_)) {
            (usual, tries) = (CALL_TIMEOUT, tries.max(TRIES));
        }
        match outcome {
            CallOutcome::Answered(answer) => {
                for entry in &answer.failed {
                    warn!(
                        operation,
                        attempt,
                        code = entry.code(),
                        message = entry.message(),
                        "entry refused"
                    );
                }
                let (done, left): (Vec<_>, Vec<_>) =
                    entries.into_iter().partition(|entry| answer.confirmed.contains(entry.id()));
                confirmed.extend(done.iter().filter_map(|entry| entry.id().parse::<usize>().ok()));
                let is_bad =
                    |id: &str| answer.failed.iter().any(|failed| failed.id() == id && is_at_fault(failed));
                let left = left.into_iter().filter_map(|entry| {
                    if !is_bad(entry.id()) {
                        return Some(entry);
                    }
                    let fallback = entry.fallback()?;
                    tries = tries.max(attempt + 1);
                    Some(fallback)
                });
                entries = left.collect();
            }
            CallOutcome::Refused(error) => {
                warn!(operation, attempt, entries = entries.len(), error = %DisplayErrorContext(&error), "call failed");
                if !is_for_an_entry(&error) {
                    continue;
                }
                if entries.len() > 1 {
                    return (confirmed, entries);
                }
                tries = tries.max(attempt + 1);
                entries = entries.into_iter().filter_map(Entry::fallback).collect();
            }
            CallOutcome::ConnectionFailed(error) => {
                warn!(operation, attempt, entries = entries.len(), error = %DisplayErrorContext(&error), "call failed");
                if tries > 1 {
                    tries = TRIES_AFTER_A_LOSS;
                }
            }
            CallOutcome::TimedOut => {
                warn!(operation, attempt, entries = entries.len(), patience = ?limit, "call timed out");
            }
        }
    }
    (confirmed, Vec::new())
}

/// Whether sending this entry again unchanged is pointless.
fn is_at_fault(failed: &BatchResultErrorEntry) -> bool {
    failed.sender_fault() && is_content(failed.code())
}

/// A code that is not known here may be about an entry too: one by one, nothing is lost.
fn is_content(code: &str) -> bool {
    matches!(Refusal::of(code), Refusal::OfTheEntry | Refusal::Unknown)
}

/// Whether the call was refused for the content of one of its entries.
fn is_for_an_entry<E: ProvideErrorMetadata>(error: &SdkError<E, HttpResponse>) -> bool {
    let SdkError::ServiceError(service) = error else { return false };
    let status = service.raw().status();
    !status.is_server_error()
        && !matches!(status.as_u16(), 401 | 403 | 429)
        && error.code().is_some_and(is_content)
}

#[cfg(test)]
mod tests;
