//! The worker's clock: the time since its start, including the time that the steady clock missed while the machine slept.

use std::time::{Duration, SystemTime};

/// The largest difference between the two clocks from one reading to the next without a sleep.
const AWAKE: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Clock {
    /// The last reading of both clocks.
    last: (Duration, SystemTime),
    slept: Duration,
}

impl Clock {
    pub(super) fn new(wall: SystemTime) -> Self {
        Self { last: (Duration::ZERO, wall), slept: Duration::ZERO }
    }

    /// Returns the time, given readings of both clocks. A wall clock that is set forward counts as a sleep too: leases then end
    /// too early, which is safe.
    pub(super) fn read(&mut self, steady: Duration, wall: SystemTime) -> Duration {
        let (steady_then, wall_then) = std::mem::replace(&mut self.last, (steady, wall));
        let ahead = wall.duration_since(wall_then).unwrap_or_default().saturating_sub(steady - steady_then);
        if ahead > AWAKE {
            self.slept += ahead;
        }
        steady + self.slept
    }

    /// Returns the reading of the steady clock at this time, if the machine does not sleep.
    pub(super) fn steady(&self, at: Duration) -> Duration {
        at.saturating_sub(self.slept)
    }

    /// Returns the wall-clock time at this time, by the last reading.
    pub(super) fn wall(&self, at: Duration) -> SystemTime {
        let (steady, wall) = self.last;
        let now = steady + self.slept;
        if at < now { wall - (now - at) } else { wall + (at - now) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleep_counts_and_a_wall_clock_that_is_set_does_so_only_forward() {
        let wall = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        let seconds = Duration::from_secs;
        let mut clock = Clock::new(wall(1_000));
        assert_eq!(clock.read(seconds(10), wall(1_010)), seconds(10));
        assert_eq!(clock.read(seconds(11), wall(1_071)), seconds(71), "it slept for a minute");
        assert_eq!(clock.steady(seconds(80)), seconds(20));
        assert_eq!([clock.wall(seconds(80)), clock.wall(seconds(70))], [wall(1_080), wall(1_070)]);
        assert_eq!(clock.read(seconds(12), wall(500)), seconds(72), "set back");
        assert_eq!(clock.read(seconds(14), wall(503)), seconds(74), "ahead by a second");
    }
}
