//! The clock of a client, which does not know simulated time.

use std::time::{Duration, SystemTime};

/// The difference between a client's clock and the simulated one. A moment is equally long ago on both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ClientClock {
    ahead: Duration,
    behind: Duration,
}

/// Clocks that differ by less count as equal. Otherwise minutes would not begin at full minutes.
const SAME: Duration = Duration::from_secs(1);

impl ClientClock {
    /// Creates the clock of a client that shows `there` at `now`.
    pub(crate) fn showing(there: SystemTime, now: SystemTime) -> Self {
        let differs = |by: &Duration| *by >= SAME;
        let whole = |by: Duration| Duration::from_millis(by.as_millis() as u64);
        let ahead = now.duration_since(there).ok().filter(differs).map(whole);
        let behind = there.duration_since(now).ok().filter(differs).map(whole);
        Self { ahead: ahead.unwrap_or_default(), behind: behind.unwrap_or_default() }
    }

    pub(crate) fn to_simulated(self, stamp: SystemTime) -> SystemTime {
        shift(stamp, self.ahead, self.behind)
    }

    pub(crate) fn to_client(self, stamp: SystemTime) -> SystemTime {
        shift(stamp, self.behind, self.ahead)
    }
}

fn shift(stamp: SystemTime, forward: Duration, back: Duration) -> SystemTime {
    let later = stamp.checked_add(forward).unwrap_or(stamp);
    later.checked_sub(back).unwrap_or(SystemTime::UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;

    fn at(seconds: f64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs_f64(seconds)
    }

    #[test]
    fn a_moment_is_equally_long_ago_on_both_clocks() {
        for (there, now, stamp, simulated) in [
            (1_000.0, 5_000.0, 990.0, 4_990.0),
            (5_000.0, 1_000.0, 4_990.0, 990.0),
            (1_000.0, 1_000.4, 960.0, 960.0),
            (1_000.4, 1_000.0, 960.0, 960.0),
        ] {
            let clock = ClientClock::showing(at(there), at(now));
            assert_eq!(clock.to_simulated(at(stamp)), at(simulated));
            assert_eq!(clock.to_client(at(simulated)), at(stamp));
        }
    }
}
