//! Handles a message once. Decides after the answer to a claim, after the end of a handler, and after the answer to a change of the
//! record. The rules of a record itself are in `crate::once`.

use std::borrow::Cow;
use std::time::Duration;

use redrive_engine::{Disposition, ErrorSummary, Outcome};

use crate::failure::Failure;
use crate::once::{Change, Claimed, End};

/// The time that a lease lasts beyond the message's deadline: the clocks of two machines may differ, and the record is written
/// after the handler has ended.
pub(crate) const MARGIN: Duration = Duration::from_secs(5);
/// The timeout of a call to the store.
pub(crate) const ANSWER: Duration = Duration::from_secs(5);
/// The longest time in which an unanswered claim is tried again. After that, the message waits in the queue.
const PATIENCE: Duration = Duration::from_secs(30);
/// The time that is reserved for the last try of a claim and for the message after it.
const LAST_TRY: Duration = ANSWER.saturating_add(Duration::from_secs(1));
/// The gap between the end of another delivery's lease and the return of a deferred message.
const BEHIND: Duration = Duration::from_secs(1);
/// The reason for a message whose key another message has used with another body.
const KEY_REUSED: &str = "key-reused";
/// The reason for a message whose sender has set its key.
const ORIGIN: &str = "origin-sender";
/// The reason for a message whose claim was not answered.
const UNREACHABLE: &str = "idempotency-store";
/// The reason for a message that another delivery is working on.
const IN_PROGRESS: &str = "in-progress";

/// The next step after the answer to a claim.
#[derive(Debug, Clone)]
pub(crate) enum Next {
    /// The handler runs.
    Run,
    /// Claim the key again after a pause, since the store did not answer.
    TryAgain(String),
    /// Claim the key again after this time.
    ClaimAfter(Duration),
    /// The handler does not run.
    Ended(Outcome),
}

impl Next {
    /// Returns the next step for a message of a batch that starts no more handlers.
    pub(crate) fn of_stopped(self) -> Self {
        match self {
            Self::Ended(outcome) => Self::Ended(outcome),
            Self::Run | Self::TryAgain(_) | Self::ClaimAfter(_) => Self::Ended(Outcome::NotStarted),
        }
    }
}

/// The time that is left when a claim is answered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TimeLeft {
    /// The time left for the claim, without the margin.
    pub(crate) claim: Duration,
    /// The time left for the message.
    pub(crate) message: Duration,
    /// The time left to try an unanswered claim again.
    pub(crate) patience: Duration,
}

/// Returns the time in which an unanswered claim is tried again. The message's other deliveries may have to last for hours. The last
/// delivery has no others, so its claim is tried for almost all of the time left.
pub(crate) fn patience(is_last: bool, left: Duration) -> Duration {
    if is_last { left.saturating_sub(LAST_TRY) } else { PATIENCE.min(left / 4) }
}

/// Decides after the answer to a claim of a message with this `payload`. A deferral costs a delivery, so on its last one the
/// message waits for the other's lease.
pub(crate) fn after_claim(
    answer: Result<Claimed, String>,
    payload: Option<&str>,
    is_last: bool,
    left: TimeLeft,
) -> Next {
    let claimed = match answer {
        Ok(claimed) => claimed,
        Err(error) if !left.patience.is_zero() => return Next::TryAgain(error),
        Err(error) => {
            let error = format!("the idempotency store did not answer: {error}");
            return ended(Disposition::Outage, Some(UNREACHABLE.into()), error);
        }
    };
    let other = match &claimed {
        // Its process was stopped meanwhile: another may have the key by now.
        Claimed::Granted if left.claim.is_zero() => return Next::Ended(Outcome::TimedOut),
        Claimed::Granted => return Next::Run,
        Claimed::InProgress { payload, .. } | Claimed::Ended { payload, .. } => payload.as_deref(),
    };
    if other.zip(payload).is_some_and(|(other, own)| other != own) {
        let error = "another message has used this idempotency key with another body";
        return ended(Disposition::Reject, Some(KEY_REUSED.into()), error.to_owned());
    }
    match claimed {
        Claimed::Granted => Next::Run,
        Claimed::InProgress { left: lease, .. } if is_last && lease + BEHIND < left.message => {
            Next::ClaimAfter(lease + BEHIND)
        }
        Claimed::InProgress { left: lease, .. } => {
            let error = "another delivery has the idempotency key".to_owned();
            ended(Disposition::Defer(lease + BEHIND), Some(IN_PROGRESS.into()), error)
        }
        Claimed::Ended { end: End::Done | End::Discarded, .. } => Next::Ended(Outcome::Replayed),
        Claimed::Ended { end: End::Rejected { reason, error }, .. } => {
            ended(Disposition::Reject, reason.map(Cow::Owned), error)
        }
    }
}

fn ended(disposition: Disposition, code: Option<Cow<'static, str>>, error: String) -> Next {
    let (exception, is_of_store) = (Cow::Borrowed(""), true);
    let summary =
        ErrorSummary { disposition, code, error, exception, delay: None, dependency: None, is_of_store };
    Next::Ended(Outcome::Failed(Box::new(summary)))
}

/// Returns the failure of a message whose origin an unknown sender has set. A sender that chooses the key of a message can make
/// another message look done. Without its origin, the message would have a new key, and its effect would happen again. So it does
/// not run at all.
pub(crate) fn origin_of_anybody(sender: &str) -> Failure {
    let error = format!(
        "redrive.origin was set by the sender {sender}, and its key may be that of another message: name this sender in \
         REDRIVE_ORIGIN_SENDERS if it sends letters back"
    );
    Failure::reject(error).with_reason(ORIGIN)
}

/// Returns the change of the record after this outcome, if any. A blocked handler still runs, so its lease is not released.
pub(crate) fn change_after(outcome: &Outcome, keep: Duration) -> Option<Change> {
    let end = match outcome {
        Outcome::Done => End::Done,
        Outcome::Failed(summary) => match summary.disposition {
            Disposition::Discard => End::Discarded,
            Disposition::Reject => End::Rejected {
                reason: summary.code.as_deref().map(str::to_owned),
                error: summary.error.clone(),
            },
            Disposition::Retry
            | Disposition::RetryAfter(_)
            | Disposition::Defer(_)
            | Disposition::Outage
            | Disposition::Malformed => {
                return Some(Change::Release);
            }
        },
        Outcome::Panicked { .. }
        | Outcome::TimedOut
        | Outcome::Interrupted
        | Outcome::LeaseLost
        | Outcome::NotStarted
        | Outcome::BreakerOpen => return Some(Change::Release),
        Outcome::Stuck | Outcome::Replayed | Outcome::Unrecorded => return None,
    };
    Some(Change::End { end, keep })
}

/// Returns the outcome after the store has answered. A message whose handler returned `Ok` is not retried even if that was not
/// recorded: the retry would repeat its effect.
pub(crate) fn after_change(outcome: Outcome, is_recorded: bool) -> Outcome {
    match outcome {
        Outcome::Done if !is_recorded => Outcome::Unrecorded,
        outcome => outcome,
    }
}

#[cfg(test)]
mod explorer;
#[cfg(test)]
mod tests;
