//! The worker's clock: the time since its start, with what the steady clock missed while the machine slept.
#![expect(clippy::disallowed_methods, reason = "impure: it reads the clock")]

use std::time::{Duration, SystemTime};

use tokio::time::Instant;

/// By how much the two clocks may differ without a sleep.
const AWAKE: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Clock {
    steady: Instant,
    wall: SystemTime,
    /// How far the wall clock has gone ahead of the steady one.
    slept: Duration,
}

impl Clock {
    pub(super) fn start() -> Self {
        Self { steady: Instant::now(), wall: SystemTime::now(), slept: Duration::ZERO }
    }

    /// A wall clock that is set forward counts as a sleep too: leases then end too early, which is safe.
    pub(super) fn now(&mut self) -> Duration {
        let steady = self.steady.elapsed();
        let wall = SystemTime::now().duration_since(self.wall).unwrap_or_default();
        let ahead = wall.saturating_sub(steady);
        if ahead > self.slept + AWAKE {
            self.slept = ahead;
        }
        steady + self.slept
    }

    /// When it will be so late, if the machine does not sleep.
    pub(super) fn instant(&self, at: Duration) -> Instant {
        self.steady + at.saturating_sub(self.slept)
    }
}
