//! What PutMetricData carries.
//! <https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_PutMetricData.html>

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ciborium::Value;
use serde::Deserialize;
use serde::de::{Deserializer, Error};

use super::wire::Refusal;
use super::{Metric, Metrics, ValueSet};

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct MetricData {
    #[serde(default)]
    namespace: String,
    #[serde(default)]
    metric_data: Vec<Datum>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Datum {
    #[serde(default)]
    metric_name: String,
    #[serde(default)]
    dimensions: Vec<Dimension>,
    timestamp: Option<Number>,
    value: Option<Number>,
    statistic_values: Option<StatisticSet>,
    #[serde(default)]
    values: Vec<Number>,
    counts: Option<Vec<Number>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Dimension {
    name: String,
    value: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct StatisticSet {
    sample_count: Number,
    sum: Number,
    minimum: Number,
    maximum: Number,
}

/// A number or a timestamp, which CBOR may hold as an integer, a float or a tagged one of these.
#[derive(Clone, Copy)]
struct Number(f64);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut value = Value::deserialize(deserializer)?;
        while let Value::Tag(_, inner) = value {
            value = *inner;
        }
        match value {
            Value::Float(number) => Ok(Self(number)),
            Value::Integer(number) => Ok(Self(i128::from(number) as f64)),
            _ => Err(D::Error::custom("a number is not one")),
        }
    }
}

impl MetricData {
    /// One bad value refuses the whole request.
    pub(super) fn check(&self) -> Result<(), Refusal> {
        if self.namespace.is_empty() {
            return Err(Refusal::missing("Namespace"));
        }
        if self.namespace.starts_with("AWS/") {
            return Err(Refusal::invalid("The value AWS/ for parameter Namespace is invalid."));
        }
        if self.metric_data.len() > 1_000 {
            return Err(Refusal::invalid(
                "The collection MetricData must not have a size greater than 1000.",
            ));
        }
        self.metric_data.iter().try_for_each(Datum::check)
    }

    pub(super) fn record(
        self,
        metrics: &mut Metrics,
        now: SystemTime,
        to_simulated: impl Fn(SystemTime) -> SystemTime,
    ) {
        for datum in self.metric_data {
            let at = datum.timestamp.and_then(timestamp).map_or(now, &to_simulated);
            let sets = datum.value_sets();
            let metric = Metric {
                namespace: self.namespace.clone(),
                name: datum.metric_name,
                dimensions: datum.dimensions.into_iter().map(|each| (each.name, each.value)).collect(),
            };
            for values in sets {
                metrics.record(metric.clone(), values, at);
            }
        }
    }
}

impl Datum {
    fn check(&self) -> Result<(), Refusal> {
        if self.metric_name.is_empty() {
            return Err(Refusal::missing("MetricData.member.1.MetricName"));
        }
        if self.dimensions.len() > 30 {
            return Err(Refusal::invalid("The collection Dimensions must not have a size greater than 30."));
        }
        if self.values.len() > 150 {
            return Err(Refusal::invalid("The collection Values must not have a size greater than 150."));
        }
        if self.counts.as_ref().is_some_and(|counts| counts.len() != self.values.len()) {
            return Err(Refusal::invalid("The parameters Values and Counts must be of the same size."));
        }
        let sets = self.value_sets();
        if sets.is_empty() {
            return Err(Refusal::missing("MetricData.member.1.Value"));
        }
        let all = sets.iter().flat_map(|set| [set.count, set.sum, set.minimum, set.maximum]);
        if all.into_iter().any(|number| !number.is_finite()) || sets.iter().any(|set| set.count <= 0.0) {
            return Err(Refusal::invalid(
                "The value of a metric must be a finite number, and its count positive.",
            ));
        }
        Ok(())
    }

    fn value_sets(&self) -> Vec<ValueSet> {
        let single = self.value.map(|value| ValueSet::of(value.0, 1.0));
        let statistics = self.statistic_values.as_ref().map(|set| ValueSet {
            count: set.sample_count.0,
            sum: set.sum.0,
            minimum: set.minimum.0,
            maximum: set.maximum.0,
        });
        let count = |index: usize| self.counts.as_ref().map_or(1.0, |counts| counts[index].0);
        let several =
            self.values.iter().enumerate().map(|(index, value)| ValueSet::of(value.0, count(index)));
        single.into_iter().chain(statistics).chain(several).collect()
    }
}

fn timestamp(seconds: Number) -> Option<SystemTime> {
    UNIX_EPOCH.checked_add(Duration::try_from_secs_f64(seconds.0).ok()?)
}
