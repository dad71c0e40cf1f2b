//! A bounded summary of any number of values.

use std::collections::BTreeMap;

use super::Statistic;

/// Most different values that are kept exactly. Later ones are rounded to two digits, within 5 %, so that a minute with a
/// million values needs no more than a few hundred entries.
const EXACT_VALUES: usize = 100;

/// Any number of values: their statistics and, unless only statistics are known, the count of each value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ValueSet {
    pub(crate) count: f64,
    pub(crate) sum: f64,
    pub(crate) minimum: f64,
    pub(crate) maximum: f64,
    values: Option<BTreeMap<Ordered, f64>>,
}

impl ValueSet {
    /// Creates a set of one value, `count` times.
    pub(crate) fn of(value: f64, count: f64) -> Self {
        let values = Some([(Ordered(value), count)].into());
        Self { count, sum: value * count, minimum: value, maximum: value, values }
    }

    /// Creates a set from statistics. It has percentiles only if all values are the same.
    /// <https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_PutMetricData.html>
    pub(crate) fn of_statistics(count: f64, sum: f64, minimum: f64, maximum: f64) -> Self {
        let same = minimum == maximum && sum == minimum * count;
        let values = same.then(|| [(Ordered(minimum), count)].into());
        Self { count, sum, minimum, maximum, values }
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.sum += other.sum;
        self.minimum = self.minimum.min(other.minimum);
        self.maximum = self.maximum.max(other.maximum);
        let (Some(values), Some(others)) = (&mut self.values, &other.values) else {
            self.values = None;
            return;
        };
        for (value, count) in others {
            let exact = values.len() < EXACT_VALUES || values.contains_key(value);
            *values.entry(if exact { *value } else { value.to_two_digits() }).or_default() += count;
        }
    }

    /// Returns a statistic, or None if it cannot be known.
    pub(crate) fn statistic(&self, statistic: Statistic) -> Option<f64> {
        Some(match statistic {
            Statistic::Sum => self.sum,
            Statistic::Maximum => self.maximum,
            Statistic::Minimum => self.minimum,
            Statistic::Average => self.sum / self.count,
            Statistic::SampleCount => self.count,
            Statistic::Percentile(percent) => return self.percentile(percent),
        })
    }

    fn percentile(&self, percent: f64) -> Option<f64> {
        let values = self.values.as_ref().filter(|_| self.minimum >= 0.0)?;
        let rank = self.count * percent / 100.0;
        let mut counted = 0.0;
        let found = values.iter().find(|(_, count)| {
            counted += **count;
            counted >= rank
        });
        found.map(|(value, _)| value.0.clamp(self.minimum, self.maximum)).or(Some(self.maximum))
    }
}

/// A finite number.
#[derive(Debug, Clone, Copy)]
struct Ordered(f64);

impl Ordered {
    fn to_two_digits(self) -> Self {
        Self(format!("{:.1e}", self.0).parse().unwrap_or(self.0))
    }
}

impl PartialEq for Ordered {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Ordered {}

impl PartialOrd for Ordered {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ordered {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn set(values: &[f64]) -> ValueSet {
        let mut sets = values.iter().map(|value| ValueSet::of(*value, 1.0));
        let first = sets.next().expect("there are values");
        sets.fold(first, |mut all, set| {
            all.add(&set);
            all
        })
    }

    #[test]
    fn many_different_values_take_the_place_of_a_few_hundred() {
        let mut all = ValueSet::of(1.0, 1.0);
        for value in 2..=100_000 {
            all.add(&ValueSet::of(f64::from(value), 1.0));
        }
        let kept = all.values.as_ref().unwrap().len();
        assert!(kept < 500, "{kept}");
        for percent in [10.0, 50.0, 99.0] {
            let found = all.statistic(Statistic::Percentile(percent)).unwrap();
            assert!((found / (percent * 1_000.0) - 1.0).abs() < 0.05, "p{percent} is {found}");
        }
    }

    proptest! {
        #[test]
        fn statistics_are_those_of_all_values_in_whatever_order_sets_are_added(
            values in prop::collection::vec(0_u32..1_000, 1..80), percent in 0.0..=100.0_f64,
        ) {
            let mut values: Vec<f64> = values.into_iter().map(f64::from).collect();
            let forward = set(&values);
            values.reverse();
            prop_assert_eq!(&forward, &set(&values));
            values.sort_by(f64::total_cmp);
            let rank = (values.len() as f64 * percent / 100.0).ceil().max(1.0) as usize;
            prop_assert_eq!(forward.statistic(Statistic::Percentile(percent)), Some(values[rank - 1]));
            prop_assert_eq!(forward.statistic(Statistic::Sum), Some(values.iter().sum()));
            prop_assert_eq!(forward.statistic(Statistic::Minimum), values.first().copied());
            prop_assert_eq!(forward.statistic(Statistic::Maximum), values.last().copied());
        }
    }
}
