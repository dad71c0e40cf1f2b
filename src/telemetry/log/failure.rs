//! Describes messages that did not succeed, for the log.

use redrive_engine::{Action, Outcome, Settlement};

/// Returns true if the message gets its own line. A message that no handler has begun gets one only on its last delivery.
pub(super) fn is_logged(settled: &Settlement) -> bool {
    match settled.outcome {
        Outcome::Done | Outcome::Replayed => false,
        Outcome::NotStarted | Outcome::BreakerOpen => {
            matches!(settled.action, Action::DeadLetter { .. } | Action::ByRedrivePolicy)
        }
        Outcome::Failed(_)
        | Outcome::Panicked { .. }
        | Outcome::TimedOut
        | Outcome::Stuck
        | Outcome::Interrupted
        | Outcome::LeaseLost
        | Outcome::Unrecorded => true,
    }
}

/// Returns what happens to the message, and the seconds until it is visible again.
pub(super) fn describe(settled: &Settlement) -> (&'static str, Option<u64>) {
    let seconds = settled.action.back_after().map(|after| after.as_secs());
    match &settled.action {
        Action::Ack if matches!(settled.outcome, Outcome::Unrecorded) => {
            ("message done, but not recorded", None)
        }
        Action::Ack => ("message discarded", None),
        Action::Retry { .. } if settled.outcome.is_deferral() => ("message deferred", seconds),
        Action::Retry { .. } if settled.outcome.is_outage() => {
            ("message met an outage, to be retried", seconds)
        }
        Action::Retry { .. } | Action::Release { .. } => ("message failed, to be retried", seconds),
        Action::ByRedrivePolicy => ("message failed on its last delivery, left to the redrive policy", None),
        Action::DeadLetter { .. } if settled.is_confirmed() => ("message dead-lettered", None),
        Action::DeadLetter { .. } => ("message failed, its dead letter was not confirmed", seconds),
        Action::Leave => ("message failed, its visibility timeout is not changed", None),
    }
}
