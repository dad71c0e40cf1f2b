//! Lengths of time as people write them: `90`, `90s`, `17m 2s`, `14d`.

use std::time::Duration;

/// Reads seconds, or numbers with units.
///
/// # Errors
/// Neither of them.
pub(crate) fn parse(text: &str) -> Result<Duration, String> {
    let parsed = match text.parse::<u64>() {
        Ok(seconds) => Some(Duration::from_secs(seconds)),
        Err(_) => humantime::parse_duration(text).ok(),
    };
    parsed.ok_or_else(|| "expected seconds, or units such as 90s, 15m, 12h, 4d".to_owned())
}

/// Writes it so that [`parse`] reads it again, to the second unless it is shorter.
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

/// Its two largest units, such as `3d 4h`.
pub(crate) fn span(time: Duration) -> String {
    let seconds = time.as_secs();
    let smallest = UNITS.iter().skip_while(|unit| seconds < **unit).nth(1).unwrap_or(&1);
    words(Duration::from_secs(seconds - seconds % smallest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_can_be_read() {
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
    fn what_is_no_length_of_time_is_refused() {
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
}
