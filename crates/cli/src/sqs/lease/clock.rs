//! The clock for visibility timeouts. It counts while this machine sleeps, as SQS does and the standard library's need not.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// <https://man7.org/linux/man-pages/man2/clock_gettime.2.html>
#[cfg(target_os = "linux")]
const CLOCK: ClockId = ClockId::Boottime;
/// On macOS this clock counts during sleep.
#[cfg(not(target_os = "linux"))]
const CLOCK: ClockId = ClockId::Monotonic;

/// Returns the time since a fixed moment.
pub(super) fn now() -> Duration {
    let now = clock_gettime(CLOCK);
    Duration::new(now.tv_sec.try_into().unwrap_or_default(), now.tv_nsec.try_into().unwrap_or_default())
}
