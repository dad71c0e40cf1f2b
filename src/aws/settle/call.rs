//! Makes calls to SQS, never past their deadline, and repeats the entries that may be sent again.
#![expect(clippy::disallowed_methods, reason = "impure: it reads the clock")]

use std::future::Future;
use std::time::Duration;

use aws_sdk_sqs::config::http::HttpResponse;
use aws_sdk_sqs::error::{DisplayErrorContext, ProvideErrorMetadata, SdkError};
use futures_util::{FutureExt, StreamExt, stream};
use redrive_sqs::batch::{Next, Reply};
use redrive_sqs::{MAX_ENTRIES, is_fifo};
use tokio::time::{Instant, sleep_until};
use tracing::warn;

use super::entry::{Answer, Entry, Ruled, fall_back, place};
use super::{Entries, by_size};
use crate::aws::{CallOutcome, Endpoint, Sqs};
use redrive_engine::Confirmation;

/// The maximum number of calls that write letters at the same time.
const IN_FLIGHT: usize = 16;
const TRIES: usize = 2;
/// The number of tries after a failed connection, because others may have died with it.
const TRIES_AFTER_A_LOSS: usize = 3;
const CALL_TIMEOUT: Duration = Duration::from_secs(2);
/// The minimum time for a call. It is not started with less time left.
const SHORTEST: Duration = Duration::from_millis(20);
/// The pause between two tries.
const PAUSE: Duration = Duration::from_millis(50);
/// The time before a message may be visible again in which its visibility timeout is no longer set.
const MARGIN: Duration = Duration::from_millis(500);

/// Sends entries by an operation of the SDK. The operations have different types with the same methods.
macro_rules! send_by {
    ($call:expr, $entries:expr, $kind:expr) => {
        send($entries, $kind, |entries| {
            let call = $call.clone().set_entries(Some(entries));
            async move {
                let output = call.send().await?;
                let confirmed = output.successful.into_iter().map(|entry| entry.id).collect();
                Ok(Answer { confirmed, failed: output.failed })
            }
        })
    };
}

impl Entries {
    /// Sends the entries to `queue`, or letters to `dead`, and returns the answers of SQS that are certain.
    pub(crate) async fn send(self, sqs: &Sqs, queue: &str, dead: &str, until: Instant) -> Vec<Ruled> {
        let (client, endpoint) = (&sqs.client, &sqs.endpoint);
        let kind = |operation, order| CallKind { operation, endpoint, until, order };
        match self {
            Self::Letters(letters) => {
                // A FIFO queue gets its letters in order.
                let (order, at_a_time) =
                    if is_fifo(dead) { (Order::Kept, 1) } else { (Order::Free, IN_FLIGHT) };
                let call = client.send_message_batch().queue_url(dead);
                let kind = kind("SendMessageBatch", order);
                let calls = by_size(letters).into_iter().map(|entries| send_by!(call, entries, kind));
                let calls: Vec<_> = calls.collect();
                stream::iter(calls).buffered(at_a_time).concat().await
            }
            Self::Deletes(entries) => {
                let call = client.delete_message_batch().queue_url(queue);
                send_by!(call, entries, kind("DeleteMessageBatch", Order::Free)).await
            }
            Self::Changes(entries) => {
                let call = client.change_message_visibility_batch().queue_url(queue);
                send_by!(call, entries, kind("ChangeMessageVisibilityBatch", Order::Free)).await
            }
        }
    }
}

/// The parameters that all calls of an operation share.
#[derive(Debug, Clone, Copy)]
struct CallKind<'a> {
    operation: &'static str,
    endpoint: &'a Endpoint,
    until: Instant,
    order: Order,
}

/// The order in which entries must arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    Kept,
    Free,
}

/// Sends these entries and returns the answers that are certain. An entry that the answer does not mention is not confirmed. If
/// SQS refuses the whole call for the content of an entry, each entry is sent again alone.
async fn send<T, E, R>(entries: Vec<T>, kind: CallKind<'_>, call: impl Fn(Vec<T>) -> R) -> Vec<Ruled>
where
    T: Entry,
    E: ProvideErrorMetadata + std::error::Error + 'static,
    R: Future<Output = Result<Answer, SdkError<E, HttpResponse>>>,
{
    let (mut ruled, rest, unclear_since) = try_together(entries, None, kind, &call).await;
    let alone = rest
        .into_iter()
        .map(|entry| try_together(vec![entry], unclear_since, kind, &call).map(|(ruled, ..)| ruled));
    let alone: Vec<_> = alone.collect();
    let at_a_time = if kind.order == Order::Kept { 1 } else { MAX_ENTRIES };
    ruled.extend(stream::iter(alone).buffered(at_a_time).concat().await);
    ruled
}

/// Sends entries in one call, and sends those again that were not confirmed but may be. Returns the answers that are certain,
/// the entries to send one by one, and the time of the first call that SQS may have carried out.
///
/// SQS may carry out a call whose answer is lost. Once the message may be visible again, another process may have it, and on a
/// standard queue the old receipt handle would still change its visibility.
async fn try_together<T, E, R>(
    mut entries: Vec<T>,
    mut unclear_since: Option<Instant>,
    kind: CallKind<'_>,
    call: impl Fn(Vec<T>) -> R,
) -> (Vec<Ruled>, Vec<T>, Option<Instant>)
where
    T: Entry,
    E: ProvideErrorMetadata + std::error::Error + 'static,
    R: Future<Output = Result<Answer, SdkError<E, HttpResponse>>>,
{
    let CallKind { operation, endpoint, until, .. } = kind;
    let mut ruled = Vec::with_capacity(entries.len());
    let (mut usual, mut tries) = endpoint.limits(CALL_TIMEOUT, TRIES);
    let mut attempt = 0;
    while attempt < tries && !entries.is_empty() {
        attempt += 1;
        if attempt > 1 {
            sleep_until(until.min(Instant::now() + PAUSE)).await;
        }
        let sent = Instant::now();
        let mut until = until;
        if let Some(since) = unclear_since {
            entries.retain(|entry| {
                entry.hides_for().is_none_or(|hidden| sent + SHORTEST + MARGIN < since + hidden)
            });
            let hidden = entries.iter().filter_map(|entry| entry.hides_for()).min();
            until = hidden.map_or(until, |hidden: Duration| until.min(since + hidden - MARGIN));
        }
        let limit = usual.min(until.saturating_duration_since(sent).mul_f64(0.8));
        // SQS may carry out a call whose answer nobody waits for.
        if limit < SHORTEST || entries.is_empty() {
            break;
        }
        let outcome = endpoint.call(limit, call(entries.clone())).await;
        if matches!(outcome, CallOutcome::Answered(_) | CallOutcome::Refused(_)) {
            (usual, tries) = (CALL_TIMEOUT, tries.max(TRIES));
        }
        let mut is_clear = false;
        match outcome {
            CallOutcome::Answered(answer) => {
                is_clear = true;
                for entry in &answer.failed {
                    warn!(
                        operation,
                        attempt,
                        code = entry.code(),
                        message = entry.message(),
                        "entry refused"
                    );
                }
                for entry in std::mem::take(&mut entries) {
                    match answer.reply(entry.id()).next() {
                        Next::Done => ruled.push((place(&entry), Confirmation::Done)),
                        Next::Bad => {
                            if fall_back(entry, &mut entries, &mut ruled) {
                                tries = tries.max(attempt + 1);
                            }
                        }
                        next @ (Next::Again | Next::Alone | Next::Denied | Next::Unclear) => {
                            is_clear &= next != Next::Unclear;
                            entries.push(entry);
                        }
                    }
                }
            }
            CallOutcome::Refused(error) => {
                warn!(operation, attempt, entries = entries.len(), error = %DisplayErrorContext(&error), "call failed");
                let next = reply(&error, entries.len()).next();
                is_clear = next != Next::Unclear;
                match next {
                    Next::Alone => return (ruled, entries, unclear_since),
                    Next::Bad => {
                        tries = tries.max(attempt + 1);
                        for entry in std::mem::take(&mut entries) {
                            fall_back(entry, &mut entries, &mut ruled);
                        }
                    }
                    Next::Done | Next::Again | Next::Denied | Next::Unclear => {}
                }
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
        if !is_clear {
            unclear_since.get_or_insert(sent);
        }
    }
    if unclear_since.is_none() {
        ruled.extend(entries.iter().map(|entry| (place(entry), Confirmation::NotDone)));
    }
    (ruled, Vec::new(), unclear_since)
}

fn reply<E: ProvideErrorMetadata>(error: &SdkError<E, HttpResponse>, entries: usize) -> Reply<'_> {
    let SdkError::ServiceError(service) = error else { return Reply::Lost };
    Reply::Refused { status: service.raw().status().as_u16(), code: error.code(), entries }
}

#[cfg(test)]
mod tests;
