//! Formats times for people. Pure.

use std::time::SystemTime;

use crate::span::span;

/// Formats the time since then. A time in the future counts as now.
pub(crate) fn ago(time: SystemTime, now: SystemTime) -> String {
    span(now.duration_since(time).unwrap_or_default())
}

/// Formats a time as `2026-11-21T07:50:00.123Z`.
pub(crate) fn rfc3339(time: SystemTime) -> String {
    humantime::format_rfc3339_millis(time).to_string()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_time_in_the_future_is_zero_seconds_ago() {
        let later = SystemTime::UNIX_EPOCH + Duration::from_secs(90);
        assert_eq!(ago(SystemTime::UNIX_EPOCH, later), "1m 30s");
        assert_eq!(ago(later, SystemTime::UNIX_EPOCH), "0s");
        assert_eq!(rfc3339(later), "1970-01-01T00:01:30.000Z");
    }
}
