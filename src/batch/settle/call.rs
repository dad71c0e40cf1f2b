//! A call for up to ten entries: what of it is tried again, and how.

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
use crate::aws::{Endpoint, Heard};

const TRIES: usize = 2;
/// Where a connection failed, since another may have died with it.
const TRIES_AFTER_A_LOSS: usize = 3;
const PATIENCE: Duration = Duration::from_secs(2);
/// What a call is begun for.
const SHORTEST: Duration = Duration::from_millis(20);
/// Before the next try.
const PAUSE: Duration = Duration::from_millis(50);

/// What calls of one kind have in common.
#[derive(Debug, Clone, Copy)]
pub(super) struct Terms<'a> {
    pub(super) operation: &'static str,
    pub(super) endpoint: &'a Endpoint,
    pub(super) until: Instant,
    pub(super) order: Order,
}

/// Whether what goes to a queue must arrive as it was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    Kept,
    Free,
}

/// What SQS said of the entries of one call.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) confirmed: HashSet<String>,
    pub(super) failed: Vec<BatchResultErrorEntry>,
}

/// Sends these entries, and hands back the indices that SQS confirmed; what it does not mention is not. A call that is
/// refused for what one of them has in it is made again for each by itself.
pub(super) async fn send<T, E, R>(entries: Vec<T>, terms: Terms<'_>, call: impl Fn(Vec<T>) -> R) -> Vec<usize>
where
    T: Entry,
    E: ProvideErrorMetadata + std::error::Error + 'static,
    R: Future<Output = Result<Answer, SdkError<E, HttpResponse>>>,
{
    let (mut confirmed, refused) = try_together(entries, terms, &call).await;
    let alone = refused.into_iter().map(|entry| try_together(vec![entry], terms, &call));
    let alone: Vec<_> = alone.collect();
    let mut alone = stream::iter(alone).buffered(if terms.order == Order::Kept { 1 } else { MAX_ENTRIES });
    while let Some((done, _)) = alone.next().await {
        confirmed.extend(done);
    }
    confirmed
}

/// Sends entries in one call, and again those that were not confirmed and may be. What was confirmed, and what is to be
/// sent one by one.
async fn try_together<T, E, R>(
    mut entries: Vec<T>,
    terms: Terms<'_>,
    call: impl Fn(Vec<T>) -> R,
) -> (Vec<usize>, Vec<T>)
where
    T: Entry,
    E: ProvideErrorMetadata + std::error::Error + 'static,
    R: Future<Output = Result<Answer, SdkError<E, HttpResponse>>>,
{
    let Terms { operation, endpoint, until, .. } = terms;
    let mut confirmed = Vec::with_capacity(entries.len());
    let (mut usual, mut tries) = endpoint.terms(PATIENCE, TRIES);
    let mut attempt = 0;
    while attempt < tries && !entries.is_empty() {
        attempt += 1;
        if attempt > 1 {
            sleep_until(until.min(Instant::now() + PAUSE)).await;
        }
        let patience = usual.min(until.saturating_duration_since(Instant::now()).mul_f64(0.8));
        // A call that nobody waits for could still be carried out.
        if patience < SHORTEST {
            break;
        }
        let heard = endpoint.hear(patience, call(entries.clone())).await;
        if matches!(heard, Heard::Answer(_) | Heard::Refusal(_)) {
            (usual, tries) = (PATIENCE, tries.max(TRIES));
        }
        match heard {
            Heard::Answer(answer) => {
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
                    let mended = entry.mended()?;
                    tries = tries.max(attempt + 1);
                    Some(mended)
                });
                entries = left.collect();
            }
            Heard::Refusal(error) => {
                warn!(operation, attempt, entries = entries.len(), error = %DisplayErrorContext(&error), "call failed");
                if !is_for_an_entry(&error) {
                    continue;
                }
                if entries.len() > 1 {
                    return (confirmed, entries);
                }
                tries = tries.max(attempt + 1);
                entries = entries.into_iter().filter_map(Entry::mended).collect();
            }
            Heard::Lost(error) => {
                warn!(operation, attempt, entries = entries.len(), error = %DisplayErrorContext(&error), "call failed");
                if tries > 1 {
                    tries = TRIES_AFTER_A_LOSS;
                }
            }
            Heard::Silence => {
                warn!(operation, attempt, entries = entries.len(), ?patience, "call timed out");
            }
        }
    }
    (confirmed, Vec::new())
}

/// Whether there is no use in sending this entry again as it is.
fn is_at_fault(failed: &BatchResultErrorEntry) -> bool {
    failed.sender_fault() && is_content(failed.code())
}

/// A code that is not known here may be about an entry too: one by one, nothing is lost.
fn is_content(code: &str) -> bool {
    matches!(Refusal::of(code), Refusal::OfTheEntry | Refusal::Unknown)
}

/// Whether the other entries may have what this call was refused for.
fn is_for_an_entry<E: ProvideErrorMetadata>(error: &SdkError<E, HttpResponse>) -> bool {
    let SdkError::ServiceError(service) = error else { return false };
    let status = service.raw().status();
    !status.is_server_error()
        && !matches!(status.as_u16(), 401 | 403 | 429)
        && error.code().is_some_and(is_content)
}

#[cfg(test)]
mod tests;
