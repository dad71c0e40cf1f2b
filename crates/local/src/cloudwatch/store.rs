//! The values of all metrics, kept as long as CloudWatch keeps them at their original resolution.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::{Unit, ValueSet};

/// How long seconds and minutes are kept, in seconds. CloudWatch then keeps periods of 5 minutes and of an hour, but this
/// store does not.
/// <https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_GetMetricData.html>
const SECONDS_KEPT: u64 = 3 * 3_600;
const MINUTES_KEPT: u64 = 15 * 86_400;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Metric {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) dimensions: BTreeMap<String, String>,
}

/// The resolution of a value's time (`StorageResolution`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Resolution {
    #[default]
    Minute,
    Second,
}

#[derive(Debug, Default)]
pub(crate) struct Store {
    series: BTreeMap<Metric, Series>,
    /// The second of the latest value.
    latest: u64,
}

/// The values of one metric, by the second at which their second or minute begins.
#[derive(Debug, Default)]
struct Series {
    /// Values of high resolution only.
    seconds: BTreeMap<u64, Values>,
    minutes: BTreeMap<u64, Values>,
}

/// Values by unit. Nearly always there is only one.
pub(crate) type Values = BTreeMap<Unit, ValueSet>;

impl Metric {
    pub(crate) fn new<'a>(
        namespace: &str,
        name: &str,
        dimensions: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Self {
        let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        let dimensions = dimensions.into_iter().map(owned).collect();
        Self { namespace: namespace.to_owned(), name: name.to_owned(), dimensions }
    }
}

impl Store {
    pub(crate) fn record(
        &mut self,
        metric: &Metric,
        unit: Unit,
        resolution: Resolution,
        values: &ValueSet,
        at: SystemTime,
    ) {
        let second = second(at);
        self.latest = self.latest.max(second);
        if !self.series.contains_key(metric) {
            self.series.insert(metric.clone(), Series::default());
        }
        let Some(series) = self.series.get_mut(metric) else { return };
        if resolution == Resolution::Second {
            add(&mut series.seconds, second, unit, values);
        }
        add(&mut series.minutes, second - second % 60, unit, values);
    }

    pub(crate) fn forget(&mut self, now: SystemTime) {
        let now = second(now);
        self.series.retain(|_, series| {
            series.seconds = series.seconds.split_off(&now.saturating_sub(SECONDS_KEPT));
            series.minutes = series.minutes.split_off(&now.saturating_sub(MINUTES_KEPT));
            !series.minutes.is_empty()
        });
    }

    pub(crate) fn latest(&self) -> SystemTime {
        moment(self.latest)
    }

    pub(crate) fn metrics(&self) -> impl Iterator<Item = &Metric> {
        self.series.keys()
    }

    /// Returns true if the metric has values at or after a moment.
    pub(crate) fn has_any_since(&self, metric: &Metric, since: SystemTime) -> bool {
        let minutes = self.series.get(metric).map(|series| &series.minutes);
        minutes.is_some_and(|minutes| minutes.range(second(since)..).next().is_some())
    }

    /// Returns true if a metric has values of high resolution.
    pub(crate) fn has_seconds(&self, metric: &Metric) -> bool {
        self.series.get(metric).is_some_and(|series| !series.seconds.is_empty())
    }

    /// Returns the values within a range by the start of their period and by unit. A period shorter than a minute sees values
    /// of minute resolution in the second at which their minute begins.
    pub(crate) fn periods(&self, metric: &Metric, range: Range<u64>, period: u64) -> BTreeMap<u64, Values> {
        let mut periods = BTreeMap::new();
        let Some(series) = self.series.get(metric).filter(|_| range.start < range.end) else {
            return periods;
        };
        let by_minute = period.is_multiple_of(60) || series.seconds.is_empty();
        let kept = if by_minute { &series.minutes } else { &series.seconds };
        for (at, values) in kept.range(range.clone()) {
            let start = at - (at - range.start) % period;
            for (unit, values) in values {
                add(&mut periods, start, *unit, values);
            }
        }
        periods
    }

    /// Returns the values of a period, of one unit or of all.
    pub(crate) fn value_set(
        &self,
        metric: &Metric,
        unit: Option<Unit>,
        period: Range<u64>,
    ) -> Option<ValueSet> {
        let length = period.end.saturating_sub(period.start);
        let values = self.periods(metric, period, length).into_values().flatten();
        let wanted = values.filter(|(present, _)| unit.is_none_or(|unit| unit == *present));
        wanted.map(|(_, values)| values).reduce(|mut all, values| {
            all.add(&values);
            all
        })
    }

    /// Returns the sum of a metric's values that are kept, over all its dimensions, in one namespace or in all.
    pub(crate) fn sum(&self, namespace: Option<&str>, name: &str) -> f64 {
        let wanted = |metric: &Metric| {
            metric.name == name && namespace.is_none_or(|namespace| metric.namespace == namespace)
        };
        let series = self.series.iter().filter(|(metric, _)| wanted(metric));
        let minutes = series.flat_map(|(_, series)| series.minutes.values());
        minutes.flat_map(Values::values).map(|values| values.sum).sum()
    }
}

/// Converts a moment to seconds since 1970.
pub(crate) fn second(at: SystemTime) -> u64 {
    at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// Converts seconds since 1970 to a moment.
pub(crate) fn moment(second: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(second)
}

fn add(kept: &mut BTreeMap<u64, Values>, at: u64, unit: Unit, values: &ValueSet) {
    let units = kept.entry(at).or_default();
    units.entry(unit).and_modify(|present| present.add(values)).or_insert_with(|| values.clone());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_store_does_not_grow_with_time() {
        let (mut store, orders) = (Store::default(), Metric::new("Shop", "Orders", []));
        for second in (0..20 * 86_400).step_by(30) {
            let value = ValueSet::of(second as f64, 1.0);
            store.record(&orders, Unit::NONE, Resolution::Second, &value, moment(second));
            if second.is_multiple_of(3_600) {
                store.forget(moment(second));
            }
        }
        let series = &store.series[&orders];
        let (seconds, minutes) = (series.seconds.len(), series.minutes.len());
        assert!(seconds <= 4 * 120 && minutes <= 15 * 1_440 + 60, "{seconds} seconds, {minutes} minutes");
        store.forget(moment(60 * 86_400));
        assert_eq!(store.metrics().count(), 0);
    }
}
