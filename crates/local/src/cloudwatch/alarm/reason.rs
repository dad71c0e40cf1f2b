//! The reason for an alarm's state, in CloudWatch's words.

use std::time::SystemTime;

use humantime::{format_rfc3339_millis, format_rfc3339_seconds};
use serde::Serialize;

use super::{AlarmState, Datapoint, Definition, MissingData};

/// Returns the reason as a sentence for people.
pub(super) fn text(definition: &Definition, state: AlarmState, used: &[Datapoint]) -> String {
    let periods = definition.evaluation_periods as usize;
    let missing = periods - used.len();
    if state == AlarmState::InsufficientData {
        let (datapoints, were) = counted(missing, "datapoint");
        return format!("Insufficient Data: {datapoints} {were} unknown.");
    }
    let filled = filling(definition.missing, state, missing);
    let telling: Vec<_> =
        used.iter().filter(|datapoint| datapoint.breaching == (state == AlarmState::Alarm)).collect();
    if telling.is_empty() {
        let (periods, _) = counted(periods, "period");
        return format!("Threshold Crossed: no datapoints were received for {periods}{filled}.");
    }
    let values: Vec<_> = telling.iter().map(|datapoint| datapoint.to_string()).collect();
    let (datapoints, were) = counted(telling.len(), "datapoint");
    let crossed = format!(
        "[{}] {were} {}{} the threshold ({:?})",
        values.join(", "),
        if state == AlarmState::Alarm { "" } else { "not " },
        definition.comparison.words(),
        definition.threshold
    );
    let Some(needed) = definition.datapoints_to_alarm else {
        return format!("Threshold Crossed: {datapoints} {crossed}{filled}.");
    };
    let (least, to) = match state {
        AlarmState::Alarm => (needed as usize, "OK -> ALARM"),
        AlarmState::Ok | AlarmState::InsufficientData => (periods + 1 - needed as usize, "ALARM -> OK"),
    };
    let (least, _) = counted(least, "datapoint");
    let of = telling.len();
    format!(
        "Threshold Crossed: {of} out of the last {periods} datapoints {crossed} (minimum {least} for {to} transition)."
    )
}

/// Returns the reason as JSON for programs. A missing period has only a time.
pub(super) fn data(
    definition: &Definition,
    used: &[Datapoint],
    missing: &[SystemTime],
    now: SystemTime,
) -> String {
    let used_ones = used.iter().map(|datapoint| (datapoint.start, Some(datapoint)));
    let mut evaluated: Vec<_> = used_ones.chain(missing.iter().map(|start| (*start, None))).collect();
    evaluated.sort_by_key(|(start, _)| std::cmp::Reverse(*start));
    let data = Data {
        version: "1.0",
        query_date: stamp(now),
        start_date: used.last().map(|datapoint| stamp(datapoint.start)),
        unit: definition.unit.map(|unit| unit.name()),
        statistic: definition.statistic.to_string(),
        period: definition.period,
        recent_datapoints: used.iter().rev().map(|datapoint| datapoint.value).collect(),
        threshold: definition.threshold,
        evaluated_datapoints: evaluated.into_iter().map(Evaluated::of).collect(),
    };
    serde_json::to_string(&data).expect("plain values can be written as JSON")
}

/// Writes a moment as CloudWatch does inside JSON: `2026-11-21T15:00:00.000+0000`.
pub(crate) fn stamp(at: SystemTime) -> String {
    format_rfc3339_millis(at).to_string().replace('Z', "+0000")
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Data {
    version: &'static str,
    query_date: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    start_date: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unit: Option<&'static str>,
    statistic: String,
    period: u64,
    recent_datapoints: Vec<f64>,
    threshold: f64,
    evaluated_datapoints: Vec<Evaluated>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Evaluated {
    timestamp: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    sample_count: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<f64>,
}

impl Evaluated {
    fn of((start, datapoint): (SystemTime, Option<&Datapoint>)) -> Self {
        let sample_count = datapoint.map(|datapoint| datapoint.samples);
        Self { timestamp: stamp(start), sample_count, value: datapoint.map(|datapoint| datapoint.value) }
    }
}

impl std::fmt::Display for Datapoint {
    /// Writes `1.0 (26/03/26 09:42:00)`, the day first.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let start = format_rfc3339_seconds(self.start).to_string();
        let (year, month, day, time) = (&start[2..4], &start[5..7], &start[8..10], &start[11..19]);
        write!(formatter, "{:?} ({day}/{month}/{year} {time})", self.value)
    }
}

/// Returns how missing periods were treated, if that affected the state.
fn filling(missing: Option<MissingData>, state: AlarmState, count: usize) -> String {
    let taken_for = match missing.unwrap_or_default() {
        MissingData::Breaching => "Breaching",
        MissingData::NotBreaching => "NonBreaching",
        MissingData::Ignore | MissingData::Missing => return String::new(),
    };
    let matters = (state == AlarmState::Alarm) == (taken_for == "Breaching") || state == AlarmState::Ok;
    if count == 0 || !matters {
        return String::new();
    }
    let (datapoints, were) = counted(count, "missing datapoint");
    format!(" and {datapoints} {were} treated as [{taken_for}]")
}

/// Returns a count and its verb, such as `2 datapoints` and `were`.
fn counted(count: usize, what: &str) -> (String, &'static str) {
    if count == 1 { (format!("1 {what}"), "was") } else { (format!("{count} {what}s"), "were") }
}
