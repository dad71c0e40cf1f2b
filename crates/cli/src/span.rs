//! Reads and writes durations such as `90`, `90s`, `17m 2s`, `14d`.

use std::time::Duration;

use crate::counted::counted;

/// Reads seconds, or numbers with units.
///
/// # Errors
/// The text is neither.
pub(crate) fn parse(text: &str) -> Result<Duration, String> {
    let parsed = match text.parse::<u64>() {
        Ok(seconds) => Some(Duration::from_secs(seconds)),
        Err(_) => humantime::parse_duration(text).ok(),
    };
    parsed.ok_or_else(|| "expected seconds, or units such as 90s, 15m, 12h, 4d".to_owned())
}

/// Formats a duration for [`parse`], to the second unless it is shorter.
pub(crate) fn words(time: Duration) -> String {
    let seconds = time.as_secs();
    let parts =
        [(seconds / 86_400, "d"), (seconds / 3_600 % 24, "h"), (seconds / 60 % 60, "m"), (seconds % 60, "s")];
    let parts = parts.iter().filter(|(count, _)| *count > 0).map(|(count, unit)| format!("{count}{unit}"));
    let written = parts.collect::<Vec<_>>().join(" ");
    match (written.is_empty(), time.subsec_millis()) {
        (false, _) => written,
        (true, 0) => "0s".to_owned(),
        (true, milliseconds) => format!("{milliseconds}ms"),
    }
}

const UNITS: [u64; 4] = [86_400, 3_600, 60, 1];
const NAMES: [&str; 4] = ["day", "hour", "minute", "second"];

/// Formats the two largest units in words, such as `3 days 4 hours`.
pub(crate) fn lasting(time: Duration) -> String {
    let counts = UNITS.iter().zip(NAMES).scan(time.as_secs(), |left, (unit, name)| {
        let count = *left / unit;
        *left %= unit;
        Some((count, name))
    });
    let parts = counts.skip_while(|(count, _)| *count == 0).take(2).filter(|(count, _)| *count > 0);
    let written: Vec<String> =
        parts.map(|(count, name)| counted(usize::try_from(count).unwrap_or(usize::MAX), name)).collect();
    if written.is_empty() { "0 seconds".to_owned() } else { written.join(" ") }
}

/// Formats the two largest units, such as `3d 4h`.
pub(crate) fn span(time: Duration) -> String {
    let seconds = time.as_secs();
    let smallest = UNITS.iter().skip_while(|unit| seconds < **unit).nth(1).unwrap_or(&1);
    words(Duration::from_secs(seconds - seconds % smallest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_formatted_duration_can_be_parsed() {
        for (seconds, expected) in [
            (0, "0s"),
            (59, "59s"),
            (60, "1m"),
            (1_022, "17m 2s"),
            (42_720, "11h 52m"),
            (86_400, "1d"),
            (1_209_601, "14d 1s"),
        ] {
            let time = Duration::from_secs(seconds);
            assert_eq!(words(time), expected);
            assert_eq!(parse(expected), Ok(time));
            assert_eq!(parse(&seconds.to_string()), Ok(time));
        }
        assert_eq!(words(Duration::from_millis(250)), "250ms");
        assert_eq!(parse("250ms"), Ok(Duration::from_millis(250)));
    }

    #[test]
    fn a_text_that_is_not_a_duration_is_refused() {
        for wrong in ["", "-1", "soon", "4 potatoes", "1e99"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_span_is_said_in_its_two_largest_units() {
        for (seconds, expected) in [
            (0, "0s"),
            (59, "59s"),
            (60, "1m"),
            (125, "2m 5s"),
            (3_600 + 59, "1h"),
            (86_400 + 7_260, "1d 2h"),
            (1_209_600, "14d"),
        ] {
            assert_eq!(span(Duration::from_secs(seconds)), expected);
        }
    }

    #[test]
    fn a_duration_is_described_in_words() {
        for (seconds, expected) in [
            (0, "0 seconds"),
            (60, "1 minute"),
            (1_022, "17 minutes 2 seconds"),
            (86_400 + 60, "1 day"),
            (237_614, "2 days 18 hours"),
            (345_600, "4 days"),
            (1_209_601, "14 days"),
        ] {
            assert_eq!(lasting(Duration::from_secs(seconds)), expected);
        }
    }
}
