//! Alarms on one metric.

use std::fmt::{self, Display};
use std::time::SystemTime;

use serde::Serialize;

use super::{MINUTE, Metric, Metrics, minute};
use crate::local::AlarmConfig;

/// CloudWatch looks at more periods than it evaluates, so that late and missing values do less harm. It does not say at
/// how many; its examples of three periods show five.
/// <https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/alarms-and-missing-data.html>
const FURTHER_PERIODS: u64 = 2;

/// How a statistic is compared to an alarm's threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// `>`
    GreaterThanThreshold,
    /// `>=`
    GreaterThanOrEqualToThreshold,
    /// `<`
    LessThanThreshold,
    /// `<=`
    LessThanOrEqualToThreshold,
}

/// What a period without values counts as (`TreatMissingData`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MissingData {
    /// As unknown; the default of CloudWatch.
    #[default]
    Missing,
    /// As good.
    NotBreaching,
    /// As bad.
    Breaching,
    /// As a reason to stay in the present state.
    Ignore,
}

/// An alarm's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum AlarmState {
    /// Not enough is known yet.
    InsufficientData,
    /// Within the threshold.
    Ok,
    /// Beyond the threshold.
    Alarm,
}

/// An alarm and its state.
#[derive(Debug)]
pub(crate) struct Alarm {
    config: AlarmConfig,
    metric: Metric,
    state: AlarmState,
}

impl Alarm {
    /// An alarm that has not been evaluated yet.
    ///
    /// # Errors
    /// What CloudWatch would refuse about it, or what cannot be evaluated here.
    pub(crate) fn new(config: AlarmConfig) -> Result<Self, String> {
        let name = &config.name;
        let period = config.period;
        if period.is_zero() || !period.as_secs().is_multiple_of(60) || period.subsec_nanos() != 0 {
            return Err(format!("alarm {name}: period {period:?} is not a whole number of minutes"));
        }
        if config.evaluation_periods == 0 {
            return Err(format!("alarm {name}: evaluation periods 0 is less than 1"));
        }
        if !(1..=config.evaluation_periods).contains(&config.datapoints_to_alarm) {
            return Err(format!(
                "alarm {name}: datapoints to alarm {} is not between 1 and the evaluation periods, {}",
                config.datapoints_to_alarm, config.evaluation_periods
            ));
        }
        let metric = Metric {
            namespace: config.namespace.clone(),
            name: config.metric.clone(),
            dimensions: config.dimensions.clone(),
        };
        Ok(Self { config, metric, state: AlarmState::InsufficientData })
    }

    pub(crate) fn name(&self) -> &str {
        &self.config.name
    }

    /// Evaluates the alarm on the periods that are over at `now`. If that changes its state, returns the new one and
    /// the reason.
    pub(crate) fn evaluate(&mut self, metrics: &Metrics, now: SystemTime) -> Option<(AlarmState, String)> {
        let minutes = self.config.period.as_secs() / MINUTE.as_secs();
        let end = minute(now);
        let datapoints: Vec<f64> = (0..u64::from(self.config.evaluation_periods) + FURTHER_PERIODS)
            .filter_map(|back| {
                let end = end.checked_sub(back * minutes)?;
                metrics.statistic(&self.metric, self.config.statistic, minutes, end)
            })
            .take(self.config.evaluation_periods as usize)
            .collect();
        let state = self.judge(&datapoints);
        if state == self.state {
            return None;
        }
        self.state = state;
        Some((state, self.reason(&datapoints)))
    }

    /// The state that follows from the most recent periods that have values.
    fn judge(&self, datapoints: &[f64]) -> AlarmState {
        let periods = self.config.evaluation_periods as usize;
        let needed = self.config.datapoints_to_alarm as usize;
        let breaching = datapoints.iter().filter(|value| self.breaches(**value)).count();
        let missing = periods - datapoints.len();
        let alarm_if = |alarm| if alarm { AlarmState::Alarm } else { AlarmState::Ok };
        match self.config.missing {
            _ if missing == 0 => alarm_if(breaching >= needed),
            MissingData::NotBreaching => alarm_if(breaching >= needed),
            MissingData::Breaching => alarm_if(breaching + missing >= needed),
            MissingData::Missing if datapoints.is_empty() => AlarmState::InsufficientData,
            MissingData::Missing => alarm_if(breaching >= needed.min(datapoints.len())),
            MissingData::Ignore if breaching >= needed => AlarmState::Alarm,
            MissingData::Ignore if breaching == datapoints.len() => self.state,
            MissingData::Ignore => AlarmState::Ok,
        }
    }

    fn breaches(&self, value: f64) -> bool {
        let threshold = self.config.threshold;
        match self.config.comparison {
            Comparison::GreaterThanThreshold => value > threshold,
            Comparison::GreaterThanOrEqualToThreshold => value >= threshold,
            Comparison::LessThanThreshold => value < threshold,
            Comparison::LessThanOrEqualToThreshold => value <= threshold,
        }
    }

    fn reason(&self, datapoints: &[f64]) -> String {
        let AlarmConfig { metric, statistic, threshold, comparison, evaluation_periods, .. } = &self.config;
        if datapoints.is_empty() {
            return format!("{metric} had no values in the last {evaluation_periods} periods");
        }
        let breaching = datapoints.iter().filter(|value| self.breaches(**value)).count();
        let values = datapoints.iter().map(f64::to_string).collect::<Vec<_>>().join(", ");
        format!(
            "{statistic:?} of {metric} was {values}: {breaching} of the last {evaluation_periods} periods {comparison} {threshold}"
        )
    }
}

impl Display for Comparison {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::GreaterThanThreshold => ">",
            Self::GreaterThanOrEqualToThreshold => ">=",
            Self::LessThanThreshold => "<",
            Self::LessThanOrEqualToThreshold => "<=",
        })
    }
}

impl Display for AlarmState {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Self::InsufficientData => "INSUFFICIENT_DATA",
            Self::Ok => "OK",
            Self::Alarm => "ALARM",
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::{Duration, UNIX_EPOCH};

    use super::super::{Statistic, ValueSet};
    use super::*;
    use AlarmState::{Alarm as Alarmed, InsufficientData, Ok as Fine};

    fn config(needed: u32, periods: u32, missing: MissingData) -> AlarmConfig {
        AlarmConfig {
            name: "TooMany".into(),
            namespace: "Shop".into(),
            metric: "Errors".into(),
            dimensions: BTreeMap::new(),
            statistic: Statistic::Maximum,
            period: MINUTE,
            evaluation_periods: periods,
            datapoints_to_alarm: needed,
            threshold: 1.0,
            comparison: Comparison::GreaterThanOrEqualToThreshold,
            missing,
        }
    }

    /// `series` has a character for each minute, the last one the most recent: X breaches, 0 does not, - is missing.
    fn metrics(series: &str) -> (Metrics, SystemTime) {
        let mut metrics = Metrics::default();
        for (minute, character) in (1_000..).zip(series.chars()) {
            let value = match character {
                'X' => 1.0,
                '0' => 0.0,
                _ => continue,
            };
            let metric =
                Metric { namespace: "Shop".into(), name: "Errors".into(), dimensions: BTreeMap::new() };
            metrics.record(metric, ValueSet::of(value, 1.0), UNIX_EPOCH + MINUTE * minute);
        }
        (metrics, UNIX_EPOCH + MINUTE * (1_000 + series.len() as u32))
    }

    #[test]
    fn missing_values_count_as_in_the_tables_of_aws() {
        // https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/alarms-and-missing-data.html
        let kept = InsufficientData;
        for (needed, series, missing, ignore, breaching, not_breaching) in [
            (3, "0-X-X", Fine, Fine, Fine, Fine),
            (3, "----0", Fine, Fine, Fine, Fine),
            (3, "-----", InsufficientData, kept, Alarmed, Fine),
            (3, "0XX-X", Alarmed, Alarmed, Alarmed, Alarmed),
            (3, "--X--", Alarmed, kept, Alarmed, Fine),
            (2, "0-X-X", Alarmed, Alarmed, Alarmed, Alarmed),
            (2, "00X0X", Alarmed, Alarmed, Alarmed, Alarmed),
            (2, "0-X--", Fine, Fine, Alarmed, Fine),
            (2, "----0", Fine, Fine, Alarmed, Fine),
            (2, "----X", Alarmed, kept, Alarmed, Fine),
        ] {
            for (treated, expected) in [
                (MissingData::Missing, missing),
                (MissingData::Ignore, ignore),
                (MissingData::Breaching, breaching),
                (MissingData::NotBreaching, not_breaching),
            ] {
                let mut alarm = Alarm::new(config(needed, 3, treated)).unwrap();
                let (metrics, now) = metrics(series);
                alarm.evaluate(&metrics, now);
                assert_eq!(alarm.state, expected, "{needed} of 3, {series}, {treated:?}");
            }
        }
    }

    #[test]
    fn only_a_change_of_state_is_told_with_its_reason() {
        let mut alarm = Alarm::new(config(1, 1, MissingData::NotBreaching)).unwrap();
        let (metrics, now) = metrics("0X---");
        let states: Vec<_> =
            (0..6).rev().filter_map(|back| alarm.evaluate(&metrics, now - MINUTE * back)).collect();
        let reasons = [
            (Fine, "Errors had no values in the last 1 periods"),
            (Alarmed, "Maximum of Errors was 1: 1 of the last 1 periods >= 1"),
            (Fine, "Errors had no values in the last 1 periods"),
        ];
        assert_eq!(states, reasons.map(|(state, reason)| (state, reason.to_owned())));
    }

    #[test]
    fn comparisons_are_those_of_their_names() {
        for (comparison, at_0, at_1, at_2) in [
            (Comparison::GreaterThanThreshold, false, false, true),
            (Comparison::GreaterThanOrEqualToThreshold, false, true, true),
            (Comparison::LessThanThreshold, true, false, false),
            (Comparison::LessThanOrEqualToThreshold, true, true, false),
        ] {
            let config = AlarmConfig { comparison, ..config(1, 1, MissingData::Missing) };
            let alarm = Alarm::new(config).unwrap();
            assert_eq!(
                [0.0, 1.0, 2.0].map(|value| alarm.breaches(value)),
                [at_0, at_1, at_2],
                "{comparison}"
            );
        }
    }

    #[test]
    fn an_alarm_that_cannot_be_evaluated_is_refused() {
        let period = Duration::from_secs(90);
        let refusal = Alarm::new(AlarmConfig { period, ..config(1, 1, MissingData::Missing) }).unwrap_err();
        assert_eq!(refusal, "alarm TooMany: period 90s is not a whole number of minutes");
        let refusal = Alarm::new(config(3, 2, MissingData::Missing)).unwrap_err();
        assert_eq!(
            refusal,
            "alarm TooMany: datapoints to alarm 3 is not between 1 and the evaluation periods, 2"
        );
    }
}
