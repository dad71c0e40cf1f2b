//! When a process tries to pause the mapping, and whether it keeps its batches meanwhile. Pure.

use std::time::Duration;

use crate::attempt::{End, REST, Time};

/// A dependency that is back within this time causes no pause.
const EVIDENCE: Duration = Duration::from_secs(60);
/// A thousand processes make 17 attempts a second in this time. The first of them stops the others, without a call to Lambda.
const SPREAD: Duration = Duration::from_secs(60);

/// Of the present outage.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Turn {
    seen: Time,
    due: Time,
    keeps_batches: bool,
}

impl Turn {
    /// Whether the process is to try now. `random` is from 0 to 1.
    pub(crate) fn is_due(&mut self, began: Time, now: Time, random: f64) -> bool {
        let wait = EVIDENCE + SPREAD.mul_f64(random);
        // Or the wall clock was set back.
        if began > self.seen || self.due > now + REST {
            *self = Self { seen: now, due: began + wait, keeps_batches: true };
        }
        self.seen = now;
        let is_due = self.due <= now;
        if is_due {
            self.due = now + wait;
        }
        is_due
    }

    pub(crate) fn ended(&mut self, end: End, now: Time) {
        self.keeps_batches = end != End::Failed;
        if end == End::Failed {
            self.due = now + REST;
        }
    }

    /// Whether a batch waits before it goes back. A pause takes effect late, and Lambda delivers less until then.
    pub(crate) fn keeps_batches(self) -> bool {
        self.keeps_batches
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: u64) -> Time {
        Duration::from_secs(1_000_000 + second)
    }

    #[test]
    fn a_process_tries_after_a_minute_of_outage_and_then_once_a_minute_or_two() {
        let mut turn = Turn::default();
        let due: Vec<_> = (0..400).filter(|&second| turn.is_due(at(0), at(second), 0.5)).collect();
        assert_eq!(due, [90, 180, 270, 360]);
        assert!(turn.keeps_batches());
        assert!(!turn.is_due(at(500), at(501), 0.0), "another outage");
        assert!(turn.is_due(at(500), at(560), 0.0));
        let before = at(0) - Duration::from_secs(86_400);
        assert!(!turn.is_due(before, before, 0.0) && turn.is_due(before, before + EVIDENCE, 0.0), "set back");
    }

    #[test]
    fn after_a_failure_it_goes_on_as_without_for_five_minutes() {
        let mut turn = Turn::default();
        assert!(turn.is_due(at(0), at(60), 0.0));
        turn.ended(End::Failed, at(61));
        assert!(!turn.keeps_batches());
        let due: Vec<_> = (61..500).filter(|&second| turn.is_due(at(0), at(second), 0.0)).collect();
        assert_eq!(due, [361, 421, 481]);
        turn.ended(End::NotNeeded, at(481));
        assert!(turn.keeps_batches());
    }
}
