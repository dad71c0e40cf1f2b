//! Spans of time as people say them.

use std::time::Duration;

const UNITS: [(u64, &str); 4] = [(86_400, "d"), (3_600, "h"), (60, "min"), (1, "s")];

/// The two largest units, such as `3 d 4 h`.
pub(crate) fn span(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let Some(first) = UNITS.iter().position(|(unit, _)| seconds >= *unit) else { return "0 s".to_owned() };
    let (unit, name) = UNITS[first];
    let rest = seconds % unit;
    match UNITS.get(first + 1).map(|(next, name)| (rest / next, name)) {
        Some((next @ 1.., next_name)) => format!("{} {name} {next} {next_name}", seconds / unit),
        _ => format!("{} {name}", seconds / unit),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_said_in_its_two_largest_units() {
        for (seconds, expected) in [
            (0, "0 s"),
            (59, "59 s"),
            (60, "1 min"),
            (125, "2 min 5 s"),
            (3_600 + 59, "1 h"),
            (86_400 + 7_260, "1 d 2 h"),
            (1_209_600, "14 d"),
        ] {
            assert_eq!(span(Duration::from_secs(seconds)), expected);
        }
    }
}
