//! Checks that many operations share.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::cloudwatch::wire::Refusal;
use crate::cloudwatch::wire::field::{List, Number};
use crate::cloudwatch::{Metric, Unit};

#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Dimension {
    #[serde(default)]
    pub(super) name: String,
    #[serde(default)]
    pub(super) value: String,
}

pub(super) fn required<T>(value: Option<T>, parameter: &str) -> Result<T, Refusal> {
    value.ok_or_else(|| Refusal::missing(parameter))
}

/// A member that must be there.
pub(super) fn member<T>(value: Option<T>, member: &str) -> Result<T, Refusal> {
    value.ok_or_else(|| Refusal::constraint("null", member, "Member must not be null"))
}

/// A text of at least one and at most so many characters.
pub(super) fn text(value: String, member: &str, most: usize) -> Result<String, Refusal> {
    let length = value.chars().count();
    let constraint = match length {
        0 => "Member must have length greater than or equal to 1".to_owned(),
        length if length > most => format!("Member must have length less than or equal to {most}"),
        _ => return Ok(value),
    };
    Err(Refusal::constraint(format!("'{value}'"), member, constraint))
}

/// One of a few names.
pub(super) fn one_of<T: Copy>(
    value: &str,
    member: &str,
    all: &[T],
    name: impl Fn(T) -> &'static str,
) -> Result<T, Refusal> {
    all.iter().copied().find(|each| name(*each) == value).ok_or_else(|| {
        let names: Vec<_> = all.iter().map(|each| name(*each)).collect();
        let constraint = format!("Member must satisfy enum value set: [{}]", names.join(", "));
        Refusal::constraint(format!("'{value}'"), member, constraint)
    })
}

pub(super) fn unit(name: Option<&str>, parameter: &str) -> Result<Option<Unit>, Refusal> {
    let unit = |name| Unit::parse(name).ok_or_else(|| Refusal::invalid_value(parameter, name));
    name.map(unit).transpose()
}

/// A period of values that are asked for.
pub(super) fn period(value: Number, parameter: &str) -> Result<u64, Refusal> {
    let period =
        value.whole(1).filter(|period| matches!(period, 1 | 5 | 10 | 20 | 30) || period.is_multiple_of(60));
    let refusal = || {
        Refusal::invalid(format!(
            "The parameter {parameter} is {}, which is not 1, 5, 10, 20, 30 or a multiple of 60.",
            value.0
        ))
    };
    period.map(u64::from).ok_or_else(refusal)
}

/// At most 30 dimensions with ASCII names and values, each name once. `path` is what messages call the list.
pub(super) fn dimensions(given: List<Dimension>, path: &str) -> Result<BTreeMap<String, String>, Refusal> {
    if given.0.len() > 30 {
        return Err(Refusal::too_many(path, 30));
    }
    let mut dimensions = BTreeMap::new();
    for (number, Dimension { name, value }) in (1..).zip(given.0) {
        let at = |field| format!("{path}.member.{number}.{field}");
        for (field, text, most) in [("Name", &name, 255), ("Value", &value, 1_024)] {
            if text.is_empty() {
                return Err(Refusal::missing(&at(field)));
            }
            let is_plain =
                text.is_ascii() && !text.trim().is_empty() && !text.contains(|c: char| c.is_ascii_control());
            if !is_plain || text.len() > most || (field == "Name" && text.starts_with(':')) {
                return Err(Refusal::invalid_value(&at(field), text));
            }
        }
        if dimensions.insert(name.clone(), value).is_some() {
            return Err(Refusal::invalid(format!("The parameter {} is {name} a second time.", at("Name"))));
        }
    }
    Ok(dimensions)
}

pub(super) fn told(dimensions: &BTreeMap<String, String>) -> Vec<Dimension> {
    dimensions.iter().map(|(name, value)| Dimension { name: name.clone(), value: value.clone() }).collect()
}

/// A metric as it is asked for.
pub(super) fn metric(
    namespace: Option<String>,
    name: Option<String>,
    given: List<Dimension>,
    prefix: &str,
) -> Result<Metric, Refusal> {
    let namespace = required(namespace, &format!("{prefix}Namespace"))?;
    let name = required(name, &format!("{prefix}MetricName"))?;
    Ok(Metric { namespace, name, dimensions: dimensions(given, &format!("{prefix}Dimensions"))? })
}
