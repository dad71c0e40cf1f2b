//! Metrics as CloudWatch keeps them, a value set for each minute, and the alarms on them.

mod alarm;
mod metric_data;
mod wire;

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

pub(crate) use alarm::Alarm;
pub use alarm::{AlarmState, Comparison, MissingData};
pub(crate) use wire::{answer, is_cloudwatch};

use crate::queue::Counts;

pub(crate) const MINUTE: Duration = Duration::from_secs(60);

/// No alarm looks further back than seven days.
/// <https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_PutMetricAlarm.html>
const KEPT_MINUTES: u64 = 7 * 24 * 60;

/// What is made of the values of a period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Statistic {
    /// Their sum.
    Sum,
    /// The largest.
    Maximum,
    /// The smallest.
    Minimum,
    /// Their mean.
    Average,
    /// How many there are.
    SampleCount,
}

/// What identifies a metric.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Metric {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) dimensions: BTreeMap<String, String>,
}

/// What CloudWatch keeps of any number of values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ValueSet {
    pub(crate) count: f64,
    pub(crate) sum: f64,
    pub(crate) minimum: f64,
    pub(crate) maximum: f64,
}

/// All metrics of an account.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    series: HashMap<Metric, BTreeMap<u64, ValueSet>>,
}

impl Metrics {
    pub(crate) fn record(&mut self, metric: Metric, values: ValueSet, at: SystemTime) {
        let minutes = self.series.entry(metric).or_default();
        let minute = minute(at);
        minutes.entry(minute).and_modify(|present| *present = present.and(values)).or_insert(values);
        while minutes.first_key_value().is_some_and(|(first, _)| first + KEPT_MINUTES < minute) {
            minutes.pop_first();
        }
    }

    /// Records what SQS itself publishes of a queue, as the values of the minute that ends at `now`.
    /// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-available-cloudwatch-metrics.html>
    pub(crate) fn sample_queue(&mut self, queue: &str, counts: Counts, now: SystemTime) {
        for (name, count) in [
            ("ApproximateNumberOfMessagesVisible", counts.visible),
            ("ApproximateNumberOfMessagesNotVisible", counts.in_flight),
            ("ApproximateNumberOfMessagesDelayed", counts.delayed),
        ] {
            let metric = Metric {
                namespace: "AWS/SQS".into(),
                name: name.into(),
                dimensions: [("QueueName".into(), queue.into())].into(),
            };
            self.record(metric, ValueSet::of(count as f64, 1.0), now - Duration::from_secs(1));
        }
    }

    /// The sum of all that is kept of a metric, over all its dimensions.
    pub(crate) fn sum(&self, namespace: &str, name: &str) -> f64 {
        let series =
            self.series.iter().filter(|(metric, _)| metric.namespace == namespace && metric.name == name);
        series.flat_map(|(_, minutes)| minutes.values()).map(|values| values.sum).sum()
    }

    /// The statistic over the period that ends at the start of the minute `end`, if it has any values.
    fn statistic(&self, metric: &Metric, statistic: Statistic, minutes: u64, end: u64) -> Option<f64> {
        let series = self.series.get(metric)?;
        let period = series.range(end.saturating_sub(minutes)..end);
        let values = period.map(|(_, values)| *values).reduce(ValueSet::and)?;
        Some(match statistic {
            Statistic::Sum => values.sum,
            Statistic::Maximum => values.maximum,
            Statistic::Minimum => values.minimum,
            Statistic::Average => values.sum / values.count,
            Statistic::SampleCount => values.count,
        })
    }
}

impl ValueSet {
    /// The same value, `count` times.
    pub(crate) fn of(value: f64, count: f64) -> Self {
        Self { count, sum: value * count, minimum: value, maximum: value }
    }

    fn and(self, other: Self) -> Self {
        Self {
            count: self.count + other.count,
            sum: self.sum + other.sum,
            minimum: self.minimum.min(other.minimum),
            maximum: self.maximum.max(other.maximum),
        }
    }
}

/// The start of the next minute.
pub(crate) fn next_minute(now: SystemTime) -> SystemTime {
    UNIX_EPOCH + MINUTE * (minute(now) as u32 + 1)
}

/// The number of the minute that the moment lies in.
fn minute(at: SystemTime) -> u64 {
    at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs() / 60
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_the_same_minutes_are_one_set() {
        let metric = Metric { namespace: "Shop".into(), name: "Orders".into(), dimensions: BTreeMap::new() };
        let mut metrics = Metrics::default();
        let at = |seconds| UNIX_EPOCH + Duration::from_secs(seconds);
        metrics.record(metric.clone(), ValueSet::of(2.0, 3.0), at(60));
        metrics.record(metric.clone(), ValueSet::of(10.0, 1.0), at(119));
        metrics.record(metric.clone(), ValueSet::of(100.0, 1.0), at(120));
        for (statistic, one, two) in [
            (Statistic::Sum, 16.0, 116.0),
            (Statistic::Maximum, 10.0, 100.0),
            (Statistic::Minimum, 2.0, 2.0),
            (Statistic::Average, 4.0, 23.2),
            (Statistic::SampleCount, 4.0, 5.0),
        ] {
            assert_eq!(metrics.statistic(&metric, statistic, 1, 2), Some(one), "{statistic:?}");
            assert_eq!(metrics.statistic(&metric, statistic, 2, 3), Some(two), "{statistic:?}");
            assert_eq!(metrics.statistic(&metric, statistic, 1, 1), None, "{statistic:?}");
        }
    }

    #[test]
    fn what_no_alarm_can_look_at_is_forgotten() {
        let metric = Metric { namespace: "Shop".into(), name: "Orders".into(), dimensions: BTreeMap::new() };
        let mut metrics = Metrics::default();
        for day in 0..30 {
            metrics.record(metric.clone(), ValueSet::of(1.0, 1.0), UNIX_EPOCH + MINUTE * 1_440 * day);
        }
        assert_eq!(metrics.series[&metric].len(), 8);
    }
}
