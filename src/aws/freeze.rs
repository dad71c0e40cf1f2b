//! Detects connections that may have died while Lambda froze the sandbox between invocations.

use std::time::{Duration, Instant, SystemTime};

/// The longest time that a connection may be idle. AWS does not document how long SQS keeps connections open. S3 closes them
/// after seconds. A new connection costs milliseconds, a dead one costs a try.
pub(super) const IDLE: Duration = Duration::from_secs(15);

/// The largest difference between the two clocks without a freeze.
const AWAKE: Duration = Duration::from_secs(1);

/// The same moment on both clocks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clocks {
    pub(super) wall: SystemTime,
    /// May stand still while Lambda freezes the sandbox.
    pub(super) steady: Instant,
}

/// Returns true if connections may have died unnoticed between two calls, because the sandbox was frozen or they were idle for
/// too long.
pub(super) fn was_frozen(last: Clocks, now: Clocks) -> bool {
    let steady = now.steady.saturating_duration_since(last.steady);
    let apart = match now.wall.duration_since(last.wall) {
        Ok(wall) => wall.abs_diff(steady),
        Err(set_back) => steady + set_back.duration(),
    };
    steady > IDLE || apart > AWAKE
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "any time will do")]

    use super::*;

    #[test]
    fn connections_outlive_neither_a_freeze_nor_a_long_pause() {
        let (wall, steady) = (SystemTime::now(), Instant::now());
        let last = Clocks { wall, steady };
        for (wall_ms, steady_ms, expected) in [
            (0, 0, false),
            (5, 5, false),
            (10_000, 10_000, false),
            (15_000, 15_000, false),
            // The wall clock was corrected while the sandbox ran.
            (10_900, 10_000, false),
            (9_100, 10_000, false),
            // The sandbox was frozen, and the steady clock stood still.
            (11_500, 10_000, true),
            (300_000, 5, true),
            // The sandbox was frozen, and the steady clock continued.
            (300_000, 300_000, true),
            (16_000, 16_000, true),
            // The wall clock was set back.
            (2_000, 10_000, true),
            (-5_000, 5, true),
            (-100, 5, false),
        ] {
            let apart = Duration::from_millis(i64::unsigned_abs(wall_ms));
            let wall = if wall_ms < 0 { wall - apart } else { wall + apart };
            let now = Clocks { wall, steady: steady + Duration::from_millis(steady_ms) };
            assert_eq!(was_frozen(last, now), expected, "{wall_ms} ms and {steady_ms} ms later");
        }
    }
}
