//! <https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_GetMetricStatistics.html>

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::request::{Context, Dimension, metric, period, range, required, unit};
use crate::cloudwatch::error::{self, INVALID_PARAMETER_COMBINATION};
use crate::cloudwatch::{Statistic, ValueSet, moment, second};
use crate::protocol::{Answer, AwsError, List, Number, Stamp, Time};

/// The most datapoints that one call returns.
const DATAPOINTS: u64 = 1_440;

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
struct Input {
    namespace: Option<String>,
    metric_name: Option<String>,
    dimensions: List<Dimension>,
    start_time: Option<Time>,
    end_time: Option<Time>,
    period: Option<Number>,
    statistics: List<String>,
    extended_statistics: List<String>,
    unit: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Output {
    label: String,
    datapoints: Vec<Datapoint>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Datapoint {
    timestamp: Stamp,
    #[serde(flatten)]
    statistics: BTreeMap<String, f64>,
    unit: &'static str,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    extended_statistics: BTreeMap<String, f64>,
}

/// Returns datapoints, separate ones for different units. A datapoint without any requested statistic is omitted.
pub(super) fn get(context: &mut Context<'_>) -> Answer {
    let input: Input = context.input()?;
    let metric = metric(input.namespace, input.metric_name, input.dimensions, "")?;
    let (start, end) = (required(input.start_time, "StartTime")?, required(input.end_time, "EndTime")?);
    let period = period(required(input.period, "Period")?, "Period")?;
    let unit = unit(input.unit.as_deref(), "Unit")?;
    let statistics = parsed(&input.statistics.0, "Statistics", 5, false)?;
    let extended = parsed(&input.extended_statistics.0, "ExtendedStatistics", 10, true)?;
    if statistics.is_empty() && extended.is_empty() {
        return Err(error::missing("Statistics"));
    }
    if start.0 >= end.0 {
        return Err(error::invalid("The parameter StartTime must be less than the parameter EndTime."));
    }
    let range = range(context.simulated(start), context.simulated(end), period);
    // An incomplete second at the end does not count, and neither does an incomplete period.
    let datapoints = (second(context.simulated(end)) - range.start) / period;
    if datapoints > DATAPOINTS {
        return Err(INVALID_PARAMETER_COMBINATION.error(format!(
            "You have requested up to {datapoints} datapoints, which exceeds the limit of {DATAPOINTS}. You may reduce \
             the datapoints requested by increasing Period, or decreasing the time range."
        )));
    }
    let mut found = Vec::new();
    for (start, units) in context.service.store.periods(&metric, range, period) {
        for (present, values) in units.iter().filter(|(present, _)| unit.is_none_or(|unit| unit == **present))
        {
            let (plain, extended) =
                (statistics_by_name(&statistics, values), statistics_by_name(&extended, values));
            if !plain.is_empty() || !extended.is_empty() {
                found.push(Datapoint {
                    timestamp: context.stamp(moment(start)),
                    statistics: plain,
                    unit: present.name(),
                    extended_statistics: extended,
                });
            }
        }
    }
    context.output(&Output { label: metric.name, datapoints: found })
}

fn parsed(names: &[String], field: &str, most: usize, percentiles: bool) -> Result<Vec<Statistic>, AwsError> {
    if names.len() > most {
        return Err(error::too_many(field, most));
    }
    let statistic = |(number, name): (usize, &String)| {
        let path = format!("{field}.member.{}", number + 1);
        let statistic =
            name.parse().map_err(|error| error::invalid(format!("The parameter {path}: {error}.")))?;
        let fits = matches!(statistic, Statistic::Percentile(_)) == percentiles;
        fits.then_some(statistic).ok_or_else(|| error::invalid_value(&path, name))
    };
    names.iter().enumerate().map(statistic).collect()
}

fn statistics_by_name(statistics: &[Statistic], values: &ValueSet) -> BTreeMap<String, f64> {
    let each = statistics.iter();
    each.filter_map(|statistic| Some((statistic.to_string(), values.statistic(*statistic)?))).collect()
}
