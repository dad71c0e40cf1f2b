//! A wall clock that stands still and skips time as tokio's clock does. Without it, a test that pauses tokio's clock and waits for a
//! processor would look to a worker like a machine that slept.
#![expect(clippy::disallowed_methods, reason = "impure: it reads the clocks")]

use std::time::{Duration, SystemTime};

use tokio::time::Instant;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Wall {
    pub(crate) started: Instant,
    /// The same moment on a clock that never stands still.
    steady: std::time::Instant,
}

impl Wall {
    pub(crate) fn new() -> Self {
        Self { started: Instant::now(), steady: std::time::Instant::now() }
    }

    /// Returns the time since the start by tokio's clock, and the wall-clock time of that moment.
    pub(crate) fn read(self) -> (Duration, SystemTime) {
        let (passed, steady) = (self.started.elapsed(), self.steady.elapsed());
        (passed, SystemTime::now() + passed - steady)
    }

    pub(crate) fn now(self) -> SystemTime {
        self.read().1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_wall_clock_pauses_and_skips_time_with_tokios_clock() {
        let (wall, moment) = (Wall::new(), Duration::from_millis(50));
        // The thread may lose its processor between the two clocks, but not each time.
        let now = || (0..100).map(|_| wall.now()).min().unwrap();
        let apart = |then: SystemTime, now: SystemTime, expected: u64| {
            let passed = now.duration_since(then).unwrap_or_default();
            assert!(passed.abs_diff(Duration::from_secs(expected)) < moment, "{passed:?}, not {expected} s");
        };
        let first = now();
        std::thread::sleep(2 * moment);
        let waited = now();
        apart(first, waited, 0);
        tokio::time::advance(Duration::from_secs(3_600)).await;
        apart(waited, now(), 3_600);
    }
}
