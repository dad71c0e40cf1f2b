//! The worker's clock: the time since its start, with what the steady clock missed while the machine slept.
#![expect(clippy::disallowed_methods, reason = "impure: it reads the clock")]

use std::time::{Duration, SystemTime};

use tokio::time::Instant;

/// By how much the two clocks may differ between two readings without a sleep.
const AWAKE: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Clock {
    steady: Instant,
    /// The last reading of both clocks.
    last: (Duration, SystemTime),
    slept: Duration,
}

impl Clock {
    pub(super) fn start() -> Self {
        Self { steady: Instant::now(), last: (Duration::ZERO, SystemTime::now()), slept: Duration::ZERO }
    }

    /// A wall clock that is set forward counts as a sleep too: leases then end too early, which is safe.
    pub(super) fn now(&mut self) -> Duration {
        let (steady, wall) = (self.steady.elapsed(), SystemTime::now());
        let (steady_then, wall_then) = std::mem::replace(&mut self.last, (steady, wall));
        let ahead = wall.duration_since(wall_then).unwrap_or_default().saturating_sub(steady - steady_then);
        if ahead > AWAKE {
            self.slept += ahead;
        }
        steady + self.slept
    }

    /// When it will be so late, if the machine does not sleep.
    pub(super) fn instant(&self, at: Duration) -> Instant {
        self.steady + at.saturating_sub(self.slept)
    }
}
