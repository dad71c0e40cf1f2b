//! The time until which the messages of a worker's batch are its own. After that, handlers are not polled until the engine has
//! checked the leases, because the process may have been stopped, or the machine may have slept.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use tokio::time::{Duration, Instant};

use crate::runners::wall::Wall;

/// The end of the first lease of a batch by two clocks: the steady clock may stand still while the machine sleeps, and the wall clock
/// may be set back.
#[derive(Debug)]
pub(crate) struct Lease {
    wall: Wall,
    /// Nanoseconds: by the steady clock since the start of `wall`, and by the wall clock since its epoch.
    until: [AtomicU64; 2],
}

impl Lease {
    /// Creates a lease that has ended.
    pub(crate) fn new(wall: Wall) -> Self {
        Self { wall, until: Default::default() }
    }

    /// Sets the end by each clock. Nobody else receives the messages before. `None` ends the lease.
    pub(crate) fn set(&self, until: Option<(Instant, SystemTime)>) {
        let until = until.map_or([Duration::ZERO; 2], |(steady, wall)| {
            [steady.saturating_duration_since(self.wall.started), since_epoch(wall)]
        });
        for (known, until) in self.until.iter().zip(until) {
            known.store(nanos(until), Ordering::Relaxed);
        }
    }

    /// Returns true if another process may have the messages by now.
    pub(crate) fn has_ended(&self) -> bool {
        let (steady, wall) = self.wall.read();
        let now = [steady, since_epoch(wall)];
        self.until.iter().zip(now).any(|(until, now)| until.load(Ordering::Relaxed) <= nanos(now))
    }
}

fn since_epoch(wall: SystemTime) -> Duration {
    wall.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_ends_by_whichever_clock_is_ahead() {
        let mut lease = Lease::new(Wall::new());
        assert!(lease.has_ended(), "it has not begun");
        let (minute, steady, wall) = (Duration::from_secs(60), Instant::now(), SystemTime::now());
        lease.set(Some((steady + minute, wall + minute)));
        assert!(!lease.has_ended());
        lease.set(Some((steady + minute, wall - minute)));
        assert!(lease.has_ended(), "the machine has slept");
        lease.set(Some((steady + minute, wall + 60 * minute)));
        assert!(!lease.has_ended(), "the wall clock was set back by an hour");
        // The wall clock is ahead by as much.
        lease.wall.started = steady - 2 * minute;
        lease.set(Some((steady - minute, wall + 3 * minute)));
        assert!(lease.has_ended(), "by the steady clock");
        lease.set(Some((steady + minute, wall + 3 * minute)));
        assert!(!lease.has_ended());
        lease.set(None);
        assert!(lease.has_ended());
    }
}
