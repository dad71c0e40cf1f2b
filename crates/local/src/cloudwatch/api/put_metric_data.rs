//! <https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_PutMetricData.html>

use std::time::{Duration, SystemTime};

use serde::Deserialize;

use super::request::{Context, Dimension, dimensions, required, unit};
use crate::cloudwatch::error::{self, INVALID_PARAMETER_COMBINATION};
use crate::cloudwatch::{LARGEST_VALUE, Metric, Resolution, Unit, ValueSet};
use crate::protocol::{Answer, AwsError, List, Number, Time};

const OLDEST: Duration = Duration::from_secs(14 * 86_400);
const NEWEST: Duration = Duration::from_secs(2 * 3_600);

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Input {
    namespace: Option<String>,
    #[serde(default)]
    metric_data: List<Datum>,
    /// Metrics like the others. Their entities are not kept.
    #[serde(default)]
    entity_metric_data: List<Entity>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Entity {
    #[serde(default)]
    metric_data: List<Datum>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
struct Datum {
    metric_name: Option<String>,
    dimensions: List<Dimension>,
    timestamp: Option<Time>,
    value: Option<Number>,
    statistic_values: Option<StatisticSet>,
    values: List<Number>,
    counts: List<Number>,
    unit: Option<String>,
    storage_resolution: Option<Number>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct StatisticSet {
    sample_count: Option<Number>,
    sum: Option<Number>,
    minimum: Option<Number>,
    maximum: Option<Number>,
}

struct Checked {
    metric: Metric,
    unit: Unit,
    resolution: Resolution,
    values: Vec<ValueSet>,
    at: SystemTime,
}

/// Records the values. One bad value makes CloudWatch refuse the whole request.
pub(super) fn put(context: &mut Context<'_>) -> Answer {
    let input: Input = context.input()?;
    context.service.sweep(context.now);
    let namespace = required(input.namespace.filter(|namespace| !namespace.is_empty()), "Namespace")?;
    if namespace.starts_with("AWS/") {
        return Err(error::invalid_value("Namespace", "AWS/"));
    }
    if namespace.len() > 255 || namespace.starts_with(':') || !namespace.is_ascii() {
        return Err(error::invalid_value("Namespace", namespace));
    }
    let entities = (1..).zip(input.entity_metric_data.0);
    let of_entities = entities.flat_map(|(entity, data)| {
        let path = move |number| format!("EntityMetricData.member.{entity}.MetricData.member.{number}");
        (1..).zip(data.metric_data.0).map(move |(number, datum)| (path(number), datum))
    });
    let plain =
        (1..).zip(input.metric_data.0).map(|(number, datum)| (format!("MetricData.member.{number}"), datum));
    let data: Vec<_> = plain.chain(of_entities).collect();
    if data.is_empty() {
        return Err(error::missing("MetricData"));
    }
    if data.len() > 1_000 {
        return Err(error::too_many("MetricData", 1_000));
    }
    let checked: Result<Vec<_>, _> =
        data.into_iter().map(|(path, datum)| datum.check(&namespace, &path, context)).collect();
    for Checked { metric, unit, resolution, values, at } in checked? {
        for values in values {
            context.service.store.record(&metric, unit, resolution, &values, at);
        }
    }
    context.nothing()
}

impl Datum {
    fn check(self, namespace: &str, path: &str, context: &Context<'_>) -> Result<Checked, AwsError> {
        let at = |field: &str| format!("{path}.{field}");
        let name = self.metric_name.as_ref().filter(|name| !name.is_empty());
        let name = required(name, &at("MetricName"))?.clone();
        if name.len() > 255 || !name.is_ascii() {
            return Err(error::invalid_value(&at("MetricName"), name));
        }
        let values = self.value_sets(path)?;
        let resolution = match self.storage_resolution.map(|resolution| resolution.0) {
            Some(1.0) => Resolution::Second,
            Some(60.0) | None => Resolution::Minute,
            Some(other) => return Err(error::invalid_value(&at("StorageResolution"), other)),
        };
        let unit = unit(self.unit.as_deref(), &at("Unit"))?.unwrap_or(Unit::NONE);
        let when = self.timestamp.map_or(context.now, |time| context.simulated(time));
        if when + OLDEST < context.now {
            let message =
                format!("The parameter {} must specify a time within the past two weeks.", at("Timestamp"));
            return Err(error::invalid(message));
        }
        if when > context.now + NEWEST {
            let message = format!(
                "The parameter {} must specify a time no more than two hours in the future.",
                at("Timestamp")
            );
            return Err(error::invalid(message));
        }
        let dimensions = dimensions(self.dimensions, &at("Dimensions"))?;
        let metric = Metric { namespace: namespace.to_owned(), name, dimensions };
        Ok(Checked { metric, unit, resolution, values, at: when })
    }

    /// Returns the values of a datum. Only `Value` excludes the others. CloudWatch does not document `Values` together with
    /// `StatisticValues`. Here both count.
    fn value_sets(&self, path: &str) -> Result<Vec<ValueSet>, AwsError> {
        let at = |field: &str| format!("{path}.{field}");
        let has_values = !self.values.0.is_empty();
        if let Some(value) = self.value {
            let others = [("Values", has_values), ("StatisticValues", self.statistic_values.is_some())];
            if let Some((other, _)) = others.into_iter().find(|(_, is_given)| *is_given) {
                let (one, other) = (at("Value"), at(other));
                return Err(INVALID_PARAMETER_COMBINATION.error(format!(
                    "The parameters {one} and {other} are mutually exclusive and you have specified both."
                )));
            }
            return Ok(vec![ValueSet::of(finite(value, &at("Value"))?, 1.0)]);
        }
        if !has_values && self.statistic_values.is_none() {
            return Err(error::missing(&at("Value")));
        }
        let mut sets = if has_values { self.listed(path)? } else { Vec::new() };
        if let Some(set) = &self.statistic_values {
            sets.push(set.check(&at("StatisticValues"))?);
        }
        Ok(sets)
    }

    /// Returns each of `Values`, repeated as `Counts` says.
    fn listed(&self, path: &str) -> Result<Vec<ValueSet>, AwsError> {
        let at = |field: &str| format!("{path}.{field}");
        let (values, counts) = (&self.values.0, &self.counts.0);
        if values.len() > 150 {
            return Err(error::too_many(&at("Values"), 150));
        }
        if !counts.is_empty() && counts.len() != values.len() {
            let (values, counts) = (at("Values"), at("Counts"));
            return Err(error::invalid(format!(
                "The parameters {values} and {counts} must be of the same size."
            )));
        }
        let set = |(index, value): (usize, &Number)| {
            let count = counts.get(index).copied().unwrap_or(Number(1.0));
            let number = index + 1;
            let value = finite(*value, &at(&format!("Values.member.{number}")))?;
            Ok(ValueSet::of(value, positive(count, &at(&format!("Counts.member.{number}")))?))
        };
        values.iter().enumerate().map(set).collect()
    }
}

impl StatisticSet {
    fn check(&self, path: &str) -> Result<ValueSet, AwsError> {
        let number = |value: Option<Number>, field| {
            let path = format!("{path}.{field}");
            finite(required(value, &path)?, &path)
        };
        let (count, sum) = (number(self.sample_count, "SampleCount")?, number(self.sum, "Sum")?);
        let (minimum, maximum) = (number(self.minimum, "Minimum")?, number(self.maximum, "Maximum")?);
        positive(Number(count), &format!("{path}.SampleCount"))?;
        if minimum > maximum {
            let message =
                format!("The parameter {path}.Minimum must be less than or equal to {path}.Maximum.");
            return Err(error::invalid(message));
        }
        Ok(ValueSet::of_statistics(count, sum, minimum, maximum))
    }
}

fn finite(value: Number, path: &str) -> Result<f64, AwsError> {
    match value.0 {
        number if number.abs() <= LARGEST_VALUE => Ok(number),
        number if number.is_infinite() => {
            Err(error::invalid_value(path, if number > 0.0 { "Infinity" } else { "-Infinity" }))
        }
        number => Err(error::invalid_value(path, number)),
    }
}

fn positive(value: Number, path: &str) -> Result<f64, AwsError> {
    let number = finite(value, path)?;
    if number > 0.0 { Ok(number) } else { Err(error::invalid_value(path, number)) }
}
