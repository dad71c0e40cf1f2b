//! Parameters that many operations share.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::cloudwatch::{CloudWatch, Metric, Unit, error, second};
use crate::protocol::{AwsError, List, Number, RequestContext, VALIDATION};

#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Dimension {
    #[serde(default)]
    pub(super) name: String,
    #[serde(default)]
    pub(super) value: String,
}

pub(super) type Context<'a> = RequestContext<'a, CloudWatch>;

pub(super) fn required<T>(value: Option<T>, parameter: &str) -> Result<T, AwsError> {
    value.ok_or_else(|| error::missing(parameter))
}

/// Checks a name of 1 to 255 characters.
pub(super) fn name(value: Option<String>, member: &str) -> Result<String, AwsError> {
    let name = VALIDATION.required(value, member)?;
    VALIDATION.text(&name, member, 1..=255)?;
    Ok(name)
}

/// Reads `MaxRecords`: 1 to 100, by default 50.
pub(super) fn max_records(given: Option<Number>) -> Result<usize, AwsError> {
    let records = given.map(|given| VALIDATION.within(given, "maxRecords", 1..=100)).transpose()?;
    Ok(records.map_or(50, |records| records as usize))
}

/// Returns the seconds from start to end, the end excluded. The start is rounded down to a whole minute, or to a whole period
/// if that is shorter.
pub(super) fn range(start: SystemTime, end: SystemTime, period: u64) -> Range<u64> {
    let start = second(start);
    // An end within a second includes that second.
    let end = second(end + Duration::from_nanos(999_999_999));
    start - start % period.min(60)..end
}

pub(super) fn unit(name: Option<&str>, parameter: &str) -> Result<Option<Unit>, AwsError> {
    let unit = |name| Unit::parse(name).ok_or_else(|| error::invalid_value(parameter, name));
    name.map(unit).transpose()
}

/// Reads the period of requested values, in seconds.
pub(super) fn period(value: Number, parameter: &str) -> Result<u64, AwsError> {
    let period =
        value.whole(1).filter(|period| matches!(period, 1 | 5 | 10 | 20 | 30) || period.is_multiple_of(60));
    let refusal = || {
        error::invalid(format!(
            "The parameter {parameter} is {}, which is not 1, 5, 10, 20, 30 or a multiple of 60.",
            value.0
        ))
    };
    period.map(u64::from).ok_or_else(refusal)
}

/// Reads at most 30 dimensions with ASCII names and values, each name once. `path` is the list's name in messages.
pub(super) fn dimensions(given: List<Dimension>, path: &str) -> Result<BTreeMap<String, String>, AwsError> {
    if given.0.len() > 30 {
        return Err(error::too_many(path, 30));
    }
    let mut dimensions = BTreeMap::new();
    for (number, Dimension { name, value }) in (1..).zip(given.0) {
        let at = |field| format!("{path}.member.{number}.{field}");
        for (field, text, most) in [("Name", &name, 255), ("Value", &value, 1_024)] {
            if text.is_empty() {
                return Err(error::missing(&at(field)));
            }
            let is_plain =
                text.is_ascii() && !text.trim().is_empty() && !text.contains(|c: char| c.is_ascii_control());
            if !is_plain || text.len() > most || (field == "Name" && text.starts_with(':')) {
                return Err(error::invalid_value(&at(field), text));
            }
        }
        if dimensions.insert(name.clone(), value).is_some() {
            return Err(error::invalid(format!("The parameter {} is {name} a second time.", at("Name"))));
        }
    }
    Ok(dimensions)
}

pub(super) fn dimension_list(dimensions: &BTreeMap<String, String>) -> Vec<Dimension> {
    dimensions.iter().map(|(name, value)| Dimension { name: name.clone(), value: value.clone() }).collect()
}

pub(super) fn metric(
    namespace: Option<String>,
    name: Option<String>,
    given: List<Dimension>,
    prefix: &str,
) -> Result<Metric, AwsError> {
    let namespace = required(namespace, &format!("{prefix}Namespace"))?;
    let name = required(name, &format!("{prefix}MetricName"))?;
    Ok(Metric { namespace, name, dimensions: dimensions(given, &format!("{prefix}Dimensions"))? })
}
