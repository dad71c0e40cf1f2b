//! <https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_GetMetricData.html>

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::request::{Context, Dimension, metric, period, range, unit};
use crate::cloudwatch::{Metric, Statistic, Unit, error, moment};
use crate::protocol::{Answer, AwsError, Flag, List, Number, Stamp, Time, VALIDATION, offset};

/// The most values of one page.
const DATAPOINTS: u32 = 100_800;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Input {
    #[serde(default)]
    metric_data_queries: List<Query>,
    start_time: Option<Time>,
    end_time: Option<Time>,
    next_token: Option<String>,
    scan_by: Option<String>,
    max_datapoints: Option<Number>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Query {
    id: Option<String>,
    metric_stat: Option<MetricStat>,
    expression: Option<String>,
    label: Option<String>,
    return_data: Option<Flag>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct MetricStat {
    metric: Option<WireMetric>,
    period: Option<Number>,
    stat: Option<String>,
    unit: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct WireMetric {
    namespace: Option<String>,
    metric_name: Option<String>,
    #[serde(default)]
    dimensions: List<Dimension>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Output {
    metric_data_results: Vec<Series>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_token: Option<String>,
    messages: Vec<Message>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Series {
    id: String,
    label: String,
    timestamps: Vec<Stamp>,
    values: Vec<f64>,
    status_code: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    messages: Vec<Message>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Message {
    code: &'static str,
    value: String,
}

struct Wanted {
    id: String,
    label: Option<String>,
    metric: Metric,
    period: u64,
    statistic: Statistic,
    unit: Option<Unit>,
    is_returned: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    Descending,
    Ascending,
}

/// Metric math and queries of Metrics Insights are refused.
pub(super) fn get(context: &mut Context<'_>) -> Answer {
    let input: Input = context.input()?;
    let start = VALIDATION.required(input.start_time, "startTime")?;
    let end = VALIDATION.required(input.end_time, "endTime")?;
    if start.0 >= end.0 {
        return Err(VALIDATION.error("The parameter StartTime must be less than the parameter EndTime."));
    }
    let order = input.scan_by.as_deref().map_or(Ok(Order::Descending), |order| {
        VALIDATION.one_of(order, "scanBy", &[Order::Descending, Order::Ascending], Order::name)
    })?;
    let most = input.max_datapoints.map_or(Some(DATAPOINTS), |most| most.whole(1));
    let most =
        most.ok_or_else(|| error::invalid_value("MaxDatapoints", input.max_datapoints.map_or(0.0, |n| n.0)))?;
    let skipped = offset(input.next_token.as_deref(), error::next_token)?;
    let wanted = wanted(input.metric_data_queries)?;
    let mut page =
        Page { skip: skipped, room: most.min(DATAPOINTS) as usize, is_first: skipped == 0, is_full: false };
    let mut results = Vec::new();
    for query in wanted.iter().filter(|query| query.is_returned) {
        let range = range(context.simulated(start), context.simulated(end), query.period);
        let (mut points, units) = query.read(context, range);
        if order == Order::Descending {
            points.reverse();
        }
        let all = points.len();
        let points = page.take(points);
        if points.is_empty() && (!page.is_first || all > 0) {
            continue;
        }
        let label = query.label.clone().unwrap_or_else(|| label(query, &wanted));
        let messages = if units.len() > 1 { vec![Message::units(&units)] } else { vec![] };
        results.push(Series {
            id: query.id.clone(),
            label,
            timestamps: points.iter().map(|(at, _)| context.stamp(moment(*at))).collect(),
            values: points.into_iter().map(|(_, value)| value).collect(),
            status_code: if page.is_full { "PartialData" } else { "Complete" },
            messages,
        });
    }
    let given: usize = results.iter().map(|series| series.values.len()).sum();
    let next_token = page.is_full.then(|| (skipped + given).to_string());
    context.output(&Output { metric_data_results: results, next_token, messages: vec![] })
}

fn wanted(queries: List<Query>) -> Result<Vec<Wanted>, AwsError> {
    if queries.0.is_empty() {
        return Err(VALIDATION.not_null("metricDataQueries"));
    }
    if queries.0.len() > 500 {
        return Err(error::too_many("MetricDataQueries", 500));
    }
    let mut ids = BTreeSet::new();
    let mut wanted = Vec::new();
    for (number, query) in (1..).zip(queries.0) {
        let query = query.check(&format!("MetricDataQueries.member.{number}"))?;
        if !ids.insert(query.id.clone()) {
            return Err(VALIDATION.error("The values for parameter id in MetricDataQueries are not unique."));
        }
        wanted.push(query);
    }
    Ok(wanted)
}

impl Query {
    fn check(self, path: &str) -> Result<Wanted, AwsError> {
        let id = VALIDATION.required(self.id, "metricDataQueries.member.id")?;
        let is_word = id.chars().all(|character| character.is_ascii_alphanumeric() || character == '_');
        if !is_word || !id.starts_with(|first: char| first.is_ascii_lowercase()) || id.len() > 255 {
            return Err(VALIDATION.error(format!(
                "The value {id} for parameter {path}.Id must begin with a lower-case letter and hold letters, digits and \
                 underscores only"
            )));
        }
        if let Some(expression) = self.expression {
            return Err(VALIDATION.error(format!(
                "redrive-local does not support expressions, but {path}.Expression is \"{expression}\""
            )));
        }
        let stat = VALIDATION.required(self.metric_stat, "metricDataQueries.member.metricStat")?;
        let given = VALIDATION.required(stat.metric, "metricDataQueries.member.metricStat.metric")?;
        let prefix = format!("{path}.MetricStat.Metric.");
        let name = VALIDATION.required(stat.stat, "metricDataQueries.member.metricStat.stat")?;
        let given_period = VALIDATION.required(stat.period, "metricDataQueries.member.metricStat.period")?;
        Ok(Wanted {
            id,
            label: self.label,
            metric: metric(given.namespace, given.metric_name, given.dimensions, &prefix)?,
            period: period(given_period, &format!("{path}.MetricStat.Period"))?,
            statistic: name.parse().map_err(|error| {
                VALIDATION.error(format!("The parameter {path}.MetricStat.Stat: {error}."))
            })?,
            unit: unit(stat.unit.as_deref(), &format!("{path}.MetricStat.Unit"))?,
            is_returned: self.return_data.is_none_or(|flag| flag.0),
        })
    }
}

impl Wanted {
    /// Returns the values in the order of time, and all units. Without a requested unit, the values of the first unit count.
    fn read(&self, context: &Context<'_>, range: std::ops::Range<u64>) -> (Vec<(u64, f64)>, BTreeSet<Unit>) {
        let periods = context.service.store.periods(&self.metric, range, self.period);
        let present = periods.values().flat_map(|units| units.keys().copied());
        let units: BTreeSet<Unit> =
            present.filter(|unit| self.unit.is_none_or(|wanted| wanted == *unit)).collect();
        let Some(unit) = units.first() else { return (vec![], units) };
        let points = periods
            .iter()
            .filter_map(|(at, values)| Some((*at, values.get(unit)?.statistic(self.statistic)?)));
        (points.collect(), units)
    }
}

/// Returns the metric's name with the parts that distinguish the queries.
fn label(query: &Wanted, all: &[Wanted]) -> String {
    let mut label = query.metric.name.clone();
    if all.iter().any(|other| other.statistic != query.statistic) {
        label.push_str(&format!(" {}", query.statistic));
    }
    if all.iter().any(|other| other.period != query.period) {
        label.push_str(&format!(" {}", query.period));
    }
    label
}

/// The start of a page within all values, and the room left in it.
struct Page {
    skip: usize,
    room: usize,
    is_first: bool,
    is_full: bool,
}

impl Page {
    fn take(&mut self, mut points: Vec<(u64, f64)>) -> Vec<(u64, f64)> {
        let skipped = self.skip.min(points.len());
        self.skip -= skipped;
        points.drain(..skipped);
        self.is_full |= points.len() > self.room;
        points.truncate(self.room);
        self.room -= points.len();
        points
    }
}

impl Order {
    fn name(self) -> &'static str {
        match self {
            Self::Descending => "TimestampDescending",
            Self::Ascending => "TimestampAscending",
        }
    }
}

impl Message {
    fn units(units: &BTreeSet<Unit>) -> Self {
        let names: Vec<_> = units.iter().map(|unit| unit.name()).collect();
        Self { code: "MultipleUnits", value: format!("Multiple units returned: '[{}]'", names.join(", ")) }
    }
}
