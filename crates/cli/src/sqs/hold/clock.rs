//! The clock by which holds end: SQS counts on while this machine sleeps, and the clock of the standard library need not.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// <https://man7.org/linux/man-pages/man2/clock_gettime.2.html>
#[cfg(target_os = "linux")]
const CLOCK: ClockId = ClockId::Boottime;
/// On macOS this one counts on too.
#[cfg(not(target_os = "linux"))]
const CLOCK: ClockId = ClockId::Monotonic;

/// Since some time that stays the same.
pub(super) fn now() -> Duration {
    let now = clock_gettime(CLOCK);
    Duration::new(now.tv_sec.try_into().unwrap_or_default(), now.tv_nsec.try_into().unwrap_or_default())
}
