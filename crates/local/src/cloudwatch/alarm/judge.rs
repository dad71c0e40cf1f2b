//! Computes an alarm's state from its last periods.
//! <https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/alarms-and-missing-data.html>

use super::{AlarmState, Definition, MissingData};

/// A period as an alarm sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Period {
    Missing,
    Fine,
    Breaching,
}

/// Returns the state. `range` has the latest period first, and more periods than are evaluated: an older period replaces a
/// missing one. `TreatMissingData` counts only if too few periods have values.
pub(super) fn judge(range: &[Period], definition: &Definition, present: AlarmState) -> AlarmState {
    let periods = definition.evaluation_periods as usize;
    let needed = definition.needed() as usize;
    let used: Vec<_> = (1..)
        .zip(range)
        .filter(|(_, period)| **period != Period::Missing)
        .take(periods)
        .map(|(age, period)| (age, *period == Period::Breaching))
        .collect();
    let breaching = used.iter().filter(|(_, breaching)| *breaching).count();
    let missing = periods - used.len();
    let alarm_if = |alarm| if alarm { AlarmState::Alarm } else { AlarmState::Ok };
    match definition.missing.unwrap_or_default() {
        _ if missing == 0 || breaching >= needed || breaching < used.len() && !definition.fills_up() => {
            alarm_if(breaching >= needed)
        }
        MissingData::NotBreaching => AlarmState::Ok,
        MissingData::Breaching => alarm_if(breaching + missing >= needed),
        MissingData::Ignore => present,
        // All values breach. That counts once they are so old that better values would have arrived since.
        MissingData::Missing => match used.last() {
            Some((age, _)) if *age >= needed => AlarmState::Alarm,
            Some(_) | None => AlarmState::InsufficientData,
        },
    }
}

impl Definition {
    /// Returns true if missing periods count as breaching.
    fn fills_up(&self) -> bool {
        self.missing == Some(MissingData::Breaching)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::definition::testing::definition;
    use super::*;
    use AlarmState::{Alarm as Alarmed, Ok as Fine};

    /// Checks a state. `series` has a character for each period, the most recent last: X breaches, 0 does not, - is missing.
    fn check(series: &str, needed: u32, missing: MissingData, present: AlarmState) -> AlarmState {
        let period = |character| match character {
            'X' => Period::Breaching,
            '0' => Period::Fine,
            _ => Period::Missing,
        };
        let range: Vec<_> = series.chars().rev().map(period).collect();
        judge(&range, &definition(needed, 3, Some(missing)), present)
    }

    proptest! {
        #[test]
        fn with_enough_values_nothing_depends_on_what_missing_ones_count_as(
            series in "[X0-]{2}[X0]{3}", needed in 1_u32..=3,
        ) {
            let breaching = series[2..].matches('X').count();
            let expected = if breaching >= needed as usize { Alarmed } else { Fine };
            for missing in MissingData::ALL {
                for present in AlarmState::ALL {
                    prop_assert_eq!(check(&series, needed, missing, present), expected);
                }
            }
        }

        #[test]
        fn another_breaching_value_never_ends_an_alarm(
            series in "[X0-]{5}", at in 0_usize..5, needed in 1_u32..=3, missing in 0_usize..4,
        ) {
            let mut worse = series.clone();
            if series.as_bytes()[at] == b'0' {
                worse.replace_range(at..=at, "X");
            }
            for present in AlarmState::ALL {
                let state = check(&series, needed, MissingData::ALL[missing], present);
                let then = check(&worse, needed, MissingData::ALL[missing], present);
                prop_assert!(state != Alarmed || then == Alarmed, "{} {:?} -> {} {:?}", series, state, worse, then);
            }
        }
    }
}
