//! Decides when a task requests protection and releases it. Times are counted from the worker's start.

use std::time::Duration;

/// Minutes of protection in each request.
pub(super) const MINUTES: u64 = 60;

/// Time until renewal: half of that, so that half an hour is left for calls that fail.
const RENEWED_AFTER: Duration = Duration::from_secs(MINUTES * 30);

/// Time without messages after which a task is idle. Until then it stays protected, so that the next message costs no call.
const IDLE_AFTER: Duration = Duration::from_secs(10);

/// Pause after the first failed call, doubled each time.
const FIRST_PAUSE: Duration = Duration::from_secs(2);
const LONGEST_PAUSE: Duration = Duration::from_secs(300);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProtectionStep {
    /// Request protection, to be confirmed by [`ProtectionPlan::answered`].
    Protect,
    Release,
    /// Wait until then, or until something changes.
    WaitUntil(Duration),
    Wait,
}

#[derive(Debug, Default)]
pub(super) struct ProtectionPlan {
    is_busy: bool,
    idle_since: Duration,
    /// Time of the last request that was granted. After a call without an answer, the task may be protected too.
    protected: Option<Duration>,
    may_be_protected: bool,
    failures: u32,
    not_before: Duration,
}

impl ProtectionPlan {
    pub(super) fn in_hand(&mut self, messages: usize, now: Duration) {
        let was_busy = std::mem::replace(&mut self.is_busy, messages > 0);
        if was_busy && !self.is_busy {
            self.idle_since = now;
        }
    }

    pub(super) fn next(&self, now: Duration) -> ProtectionStep {
        let (step, due) = if self.is_busy {
            (ProtectionStep::Protect, self.protected.map_or(Duration::ZERO, |since| since + RENEWED_AFTER))
        } else if self.may_be_protected {
            (ProtectionStep::Release, self.idle_since + IDLE_AFTER)
        } else {
            return ProtectionStep::Wait;
        };
        let due = due.max(self.not_before);
        if due <= now { step } else { ProtectionStep::WaitUntil(due) }
    }

    /// Records a request before its call, because protection may be granted without an answer.
    pub(super) fn request_begins(&mut self) {
        self.may_be_protected = true;
    }

    /// Records an answer. Returns true if it is the first failure after a success.
    pub(super) fn answered(&mut self, step: ProtectionStep, is_ok: bool, now: Duration) -> bool {
        if !is_ok {
            let pause = FIRST_PAUSE.saturating_mul(2_u32.saturating_pow(self.failures));
            self.not_before = now + pause.min(LONGEST_PAUSE);
            self.failures += 1;
            return self.failures == 1;
        }
        self.failures = 0;
        self.not_before = now;
        self.protected = (step == ProtectionStep::Protect).then_some(now);
        self.may_be_protected = step == ProtectionStep::Protect;
        false
    }

    /// Returns true if a call should release protection at the worker's end.
    pub(super) fn may_be_protected(&self) -> bool {
        self.may_be_protected
    }
}

#[cfg(test)]
mod tests;
