//! Alarms on one metric.

mod config;
mod definition;
mod judge;
mod reason;

use std::fmt::{self, Display};
use std::ops::Range;
use std::time::{Duration, SystemTime};

use serde::Serialize;

pub use config::AlarmConfig;
#[cfg(test)]
pub(crate) use definition::testing;
pub(crate) use definition::{Actions, Definition, LowSamples};
pub use definition::{Comparison, MissingData};
use judge::{Period, judge};

use super::store::{moment, second};
use super::{Statistic, Store, ValueSet};

/// Periods that CloudWatch looks at beyond those that it evaluates, so that late and missing values do less harm. AWS does
/// not document the number, only that it depends on the period and on the metric's resolution. Its examples of three periods
/// show five.
/// <https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/alarms-and-missing-data.html>
const FURTHER_PERIODS: u64 = 2;

/// An alarm's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[expect(clippy::exhaustive_enums, reason = "CloudWatch has no other")]
pub enum AlarmState {
    /// CloudWatch does not have enough data yet.
    InsufficientData,
    /// The metric is within the threshold.
    Ok,
    /// The metric is beyond the threshold.
    Alarm,
}

#[derive(Debug, Clone)]
pub(crate) struct Alarm {
    pub(crate) definition: Definition,
    pub(crate) defined_at: SystemTime,
    pub(crate) record: AlarmRecord,
    /// Times at which the state was last set, and at which it last changed.
    pub(crate) updated_at: SystemTime,
    pub(crate) changed_at: SystemTime,
}

/// An alarm's state with its reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AlarmRecord {
    pub(crate) state: AlarmState,
    pub(crate) reason: String,
    /// The reason as JSON.
    pub(crate) data: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Datapoint {
    start: SystemTime,
    value: f64,
    samples: f64,
    breaching: bool,
}

impl Alarm {
    /// Creates an alarm that has not been evaluated yet.
    pub(crate) fn new(definition: Definition, now: SystemTime) -> Self {
        let reason = "Unchecked: Initial alarm creation".into();
        let record = AlarmRecord { state: AlarmState::InsufficientData, reason, data: None };
        Self { definition, defined_at: now, record, updated_at: now, changed_at: now }
    }

    /// Returns true if the alarm is evaluated at this moment: every minute, or every ten seconds if its periods are that
    /// short.
    pub(crate) fn is_due(&self, at: SystemTime) -> bool {
        second(at).is_multiple_of(self.definition.interval())
    }

    /// Returns the time from which the alarm cannot change by itself, because it was evaluated without any value.
    pub(crate) fn rests_from(&self, store: &Store) -> SystemTime {
        let range = Duration::from_secs(self.range(store).saturating_mul(self.definition.period));
        // The alarm looks at the whole minute of a value, and is due once a minute.
        let empty = store.latest() + range + Duration::from_secs(60);
        empty.max(self.defined_at).max(self.updated_at) + Duration::from_secs(60)
    }

    /// Returns the number of periods that the alarm looks at. A value of minute resolution belongs to the second at which its
    /// minute begins, which may be a minute ago when the value arrives.
    fn range(&self, store: &Store) -> u64 {
        let Definition { metric, period, evaluation_periods, .. } = &self.definition;
        let of_a_minute = if store.has_seconds(metric) { 0 } else { 60 / period };
        u64::from(*evaluation_periods) + of_a_minute.max(FURTHER_PERIODS)
    }

    /// Evaluates the periods that are over at `now`, and returns the new state if it differs.
    pub(crate) fn evaluate(&self, store: &Store, now: SystemTime) -> Option<AlarmRecord> {
        let periods = self.definition.evaluation_periods;
        let range: Vec<_> = (0..self.range(store)).map(|back| self.period(now, back)).collect();
        let found: Vec<_> = range.iter().map(|period| self.datapoint(store, period)).collect();
        let seen: Vec<_> = found.iter().map(Period::of).collect();
        let state = judge(&seen, &self.definition, self.record.state);
        let missing = range.iter().zip(&seen).filter(|(_, period)| **period == Period::Missing);
        let missing: Vec<_> = missing.map(|(period, _)| moment(period.start)).collect();
        let used: Vec<_> = found.into_iter().flatten().take(periods as usize).collect();
        if state == self.record.state || self.definition.has_too_few_samples(&used) {
            return None;
        }
        let reason = reason::text(&self.definition, state, &used);
        let missing = &missing[..missing.len().min(periods as usize - used.len())];
        Some(AlarmRecord { state, reason, data: Some(reason::data(&self.definition, &used, missing, now)) })
    }

    /// Enters a new state, and returns the one before.
    pub(crate) fn enter(&mut self, record: AlarmRecord, now: SystemTime) -> AlarmRecord {
        self.updated_at = now;
        if record.state != self.record.state {
            self.changed_at = now;
        }
        std::mem::replace(&mut self.record, record)
    }

    /// Returns the period `back` periods before the last one, in seconds.
    fn period(&self, now: SystemTime, back: u64) -> Range<u64> {
        let end = second(now).saturating_sub(back * self.definition.period);
        end.saturating_sub(self.definition.period)..end
    }

    fn datapoint(&self, store: &Store, period: &Range<u64>) -> Option<Datapoint> {
        let Definition { metric, unit, statistic, .. } = &self.definition;
        let values: ValueSet = store.value_set(metric, *unit, period.clone())?;
        let value = values.statistic(*statistic)?;
        let breaching = self.definition.comparison.holds(value, self.definition.threshold);
        Some(Datapoint { start: moment(period.start), value, samples: values.count, breaching })
    }
}

impl Definition {
    /// Returns true if the alarm keeps its state because there are too few values for a percentile.
    fn has_too_few_samples(&self, datapoints: &[Datapoint]) -> bool {
        let Statistic::Percentile(percent) = self.statistic else { return false };
        let rare = (percent / 100.0).min(1.0 - percent / 100.0);
        let samples: f64 = datapoints.iter().map(|datapoint| datapoint.samples).sum();
        self.low_samples == Some(LowSamples::Ignore) && samples * rare < 10.0
    }
}

impl Period {
    fn of(datapoint: &Option<Datapoint>) -> Self {
        match datapoint {
            None => Self::Missing,
            Some(Datapoint { breaching: true, .. }) => Self::Breaching,
            Some(_) => Self::Fine,
        }
    }
}

impl AlarmState {
    pub(crate) const ALL: [Self; 3] = [Self::InsufficientData, Self::Alarm, Self::Ok];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::InsufficientData => "INSUFFICIENT_DATA",
            Self::Ok => "OK",
            Self::Alarm => "ALARM",
        }
    }
}

impl Display for AlarmState {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Metric, Resolution, Unit};
    use super::testing::definition;
    use super::*;

    #[test]
    fn seconds_that_are_told_apart_are_not_looked_at_for_longer() {
        let (mut seconds, mut minutes) = (Store::default(), Store::default());
        let metric = Metric::new("Shop", "Errors", []);
        let one = ValueSet::of(1.0, 1.0);
        seconds.record(&metric, Unit::COUNT, Resolution::Second, &one, moment(6_000));
        minutes.record(&metric, Unit::COUNT, Resolution::Minute, &one, moment(6_000));
        let of = |period: u64, store: &Store| {
            Alarm::new(Definition { period, ..definition(1, 1, None) }, moment(0)).range(store)
        };
        assert_eq!([10, 20, 30, 60, 300].map(|period| of(period, &seconds)), [3, 3, 3, 3, 3]);
        assert_eq!([10, 20, 30, 60, 300].map(|period| of(period, &minutes)), [7, 4, 3, 3, 3]);
    }
}
