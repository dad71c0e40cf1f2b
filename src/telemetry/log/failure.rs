//! Describes messages that did not succeed, for the log.

use redrive_engine::{NextStep, Outcome, Settlement};

/// Returns true if the message gets its own line. A message that no handler has begun gets one only on its last delivery.
pub(super) fn is_logged(settled: &Settlement) -> bool {
    match settled.outcome {
        Outcome::Done | Outcome::Replayed => false,
        Outcome::NotStarted | Outcome::BreakerOpen => {
            matches!(settled.action, NextStep::DeadLetter { .. } | NextStep::ByRedrivePolicy)
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
        NextStep::Ack if matches!(settled.outcome, Outcome::Unrecorded) => {
            ("message done, but not recorded", None)
        }
        NextStep::Ack => ("message discarded", None),
        NextStep::Retry { .. } if settled.outcome.is_deferral() => ("message deferred", seconds),
        NextStep::Retry { .. } if settled.outcome.is_outage() => {
            ("message met an outage, to be retried", seconds)
        }
        NextStep::Retry { .. } | NextStep::Release { .. } => ("message failed, to be retried", seconds),
        NextStep::ByRedrivePolicy => {
            ("message failed on its last delivery, left to the redrive policy", None)
        }
        NextStep::DeadLetter { .. } if settled.is_confirmed() => ("message dead-lettered", None),
        NextStep::DeadLetter { .. } => ("message failed, its dead letter was not confirmed", seconds),
        NextStep::Leave => ("message failed, its visibility timeout is not changed", None),
    }
}
