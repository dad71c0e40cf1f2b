//! The state that follows from what the last periods hold.
//! <https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/alarms-and-missing-data.html>

use super::{AlarmState, Definition, MissingData};

/// What a period holds, as far as an alarm is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Period {
    Missing,
    Fine,
    Breaching,
}

/// `range` is the latest period first, and more of them than are evaluated: where one is missing, an older one takes its
/// place. Only if there are too few of them all does it matter what missing ones count as.
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
        // All there is breaches. That counts once it is so old that better values would have come since.
        MissingData::Missing => match used.last() {
            Some((age, _)) if *age >= needed => AlarmState::Alarm,
            Some(_) | None => AlarmState::InsufficientData,
        },
    }
}

impl Definition {
    /// Whether missing periods count as breaching ones.
    fn fills_up(&self) -> bool {
        self.missing == Some(MissingData::Breaching)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::definition::testing::definition;
    use super::*;
    use AlarmState::{Alarm as Alarmed, InsufficientData, Ok as Fine};

    /// `series` has a character for each period, the last one the most recent: X breaches, 0 does not, - is missing.
    fn check(series: &str, needed: u32, missing: MissingData, present: AlarmState) -> AlarmState {
        let period = |character| match character {
            'X' => Period::Breaching,
            '0' => Period::Fine,
            _ => Period::Missing,
        };
        let range: Vec<_> = series.chars().rev().map(period).collect();
        judge(&range, &definition(needed, 3, Some(missing)), present)
    }

    #[test]
    fn missing_values_count_as_in_the_tables_of_aws() {
        // None retains the present state. The rows after a gap are not in the tables but in the text below them.
        for (needed, series, missing, ignore, breaching, not_breaching) in [
            (3, "0-X-X", Fine, Some(Fine), Fine, Fine),
            (3, "0----", Fine, Some(Fine), Fine, Fine),
            (3, "-----", InsufficientData, None, Alarmed, Fine),
            (3, "0XX-X", Alarmed, Some(Alarmed), Alarmed, Alarmed),
            (3, "--X--", Alarmed, None, Alarmed, Fine),
            (2, "0-X-X", Alarmed, Some(Alarmed), Alarmed, Alarmed),
            (2, "00X0X", Alarmed, Some(Alarmed), Alarmed, Alarmed),
            (2, "0-X--", Fine, Some(Fine), Alarmed, Fine),
            (2, "----0", Fine, Some(Fine), Alarmed, Fine),
            (2, "---X-", Alarmed, None, Alarmed, Fine),
            //
            (3, "----X", InsufficientData, None, Alarmed, Fine),
            (3, "---X-", InsufficientData, None, Alarmed, Fine),
            (3, "---X0", Fine, Some(Fine), Fine, Fine),
            (3, "--X-0", Fine, Some(Fine), Fine, Fine),
            (2, "----X", InsufficientData, None, Alarmed, Fine),
        ] {
            for present in AlarmState::ALL {
                for (treated, expected) in [
                    (MissingData::Missing, missing),
                    (MissingData::Ignore, ignore.unwrap_or(present)),
                    (MissingData::Breaching, breaching),
                    (MissingData::NotBreaching, not_breaching),
                ] {
                    let state = check(series, needed, treated, present);
                    assert_eq!(state, expected, "{needed} of 3, {series}, {treated:?}, {present}");
                }
            }
        }
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
