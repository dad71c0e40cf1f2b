//! Times and durations in few letters. Pure.

use std::time::{Duration, SystemTime};

const UNITS: [(u64, &str); 3] = [(86_400, "d"), (3_600, "h"), (60, "m")];

/// Its largest unit: `45s`, `12m`, `3h`, `2d`.
pub(crate) fn brief(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match UNITS.iter().find(|(unit, _)| seconds >= *unit) {
        Some((unit, name)) => format!("{}{name}", seconds / unit),
        None => format!("{seconds}s"),
    }
}

/// How long ago; a clock that is ahead of ours is now.
pub(crate) fn ago(time: SystemTime, now: SystemTime) -> String {
    brief(now.duration_since(time).unwrap_or_default())
}

/// `2026-11-21T07:50:00.123Z`.
pub(crate) fn rfc3339(time: SystemTime) -> String {
    humantime::format_rfc3339_millis(time).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_its_largest_unit() {
        for (seconds, expected) in [
            (0, "0s"),
            (59, "59s"),
            (60, "1m"),
            (3_599, "59m"),
            (7_300, "2h"),
            (86_400, "1d"),
            (1_209_600, "14d"),
        ] {
            assert_eq!(brief(Duration::from_secs(seconds)), expected);
        }
        let later = SystemTime::UNIX_EPOCH + Duration::from_secs(90);
        assert_eq!(ago(SystemTime::UNIX_EPOCH, later), "1m");
        assert_eq!(ago(later, SystemTime::UNIX_EPOCH), "0s");
        assert_eq!(rfc3339(later), "1970-01-01T00:01:30.000Z");
    }
}
