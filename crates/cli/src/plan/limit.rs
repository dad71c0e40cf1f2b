//! `--fail-if 'FIELD OPERATOR VALUE'`. Pure.

use std::cmp::Ordering;
use std::str::FromStr;

use super::figures::Figures;
use crate::counted::thousands;
use crate::span;

/// A condition that fails the plan if it holds.
#[derive(Debug, Clone)]
pub(super) struct Limit {
    text: String,
    field: Field,
    comparison: Comparison,
    value: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Dead,
    Expired,
    Recovery,
    Calls,
    Cost,
}

const FIELDS: [(&str, Field); 5] = [
    ("dead", Field::Dead),
    ("expired", Field::Expired),
    ("recovery", Field::Recovery),
    ("calls", Field::Calls),
    ("cost", Field::Cost),
];

/// Returns true if a figure's order relative to the value is as the condition requires.
type Comparison = fn(Ordering) -> bool;

/// Operators, longer ones first.
const OPERATORS: [(&str, Comparison); 6] = [
    ("<=", Ordering::is_le),
    (">=", Ordering::is_ge),
    ("!=", Ordering::is_ne),
    ("=", Ordering::is_eq),
    ("<", Ordering::is_lt),
    (">", Ordering::is_gt),
];

impl FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let end = text.find(|c: char| !c.is_ascii_alphabetic() && c != ' ').unwrap_or(text.len());
        let (name, rest) = text.split_at(end);
        let field = FIELDS.iter().find(|(known, _)| *known == name.trim());
        let (_, field) = field.ok_or("allowed fields: dead, expired, recovery, calls, cost")?;
        let operator = OPERATORS.iter().find_map(|(sign, is)| Some((rest.strip_prefix(sign)?, *is)));
        let (value, comparison) = operator.ok_or("allowed operators: =, !=, <, <=, >, >=")?;
        let value = value.trim();
        let value = match field {
            Field::Recovery => span::parse(value).map(|time| time.as_secs_f64()).ok(),
            Field::Dead | Field::Expired | Field::Calls | Field::Cost => {
                value.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0)
            }
        };
        let allowed = match field {
            Field::Recovery => "allowed values of recovery: a time such as 90s, 15m or 2h",
            Field::Dead | Field::Expired | Field::Calls | Field::Cost => {
                "allowed values: a number such as 0 or 2.5"
            }
        };
        Ok(Self { text: text.to_owned(), field: *field, comparison, value: value.ok_or(allowed)? })
    }
}

impl Limit {
    /// Describes the figure if the condition holds.
    pub(super) fn met(&self, run: &Figures) -> Option<String> {
        let (found, words) = match self.field {
            Field::Dead => (run.dead_letters as f64, thousands(run.dead_letters)),
            Field::Expired => (run.expired as f64, thousands(run.expired)),
            Field::Calls => (run.calls as f64, thousands(run.calls)),
            Field::Cost => (run.cost, format!("${:.2}", run.cost)),
            Field::Recovery => match run.recovery {
                Some(time) => (time.as_secs_f64(), span::words(time)),
                None => (f64::INFINITY, "never".to_owned()),
            },
        };
        let name = FIELDS.iter().find(|(_, field)| *field == self.field).map_or("", |(name, _)| name);
        (self.comparison)(found.total_cmp(&self.value))
            .then(|| format!("{} is met in {}, where {name} is {words}", self.text.trim(), run.name()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_is_a_field_an_operator_and_a_value() {
        for right in ["dead > 0", "dead>0", "expired > 0", " recovery >= 10m ", "calls != 3", "cost <= 2.5"] {
            assert!(right.parse::<Limit>().is_ok(), "{right}");
        }
        for (wrong, allowed) in [
            ("", "allowed fields: dead, expired, recovery, calls, cost"),
            ("letters > 0", "allowed fields: dead, expired, recovery, calls, cost"),
            ("dead", "allowed operators: =, !=, <, <=, >, >="),
            ("dead ~ 0", "allowed operators: =, !=, <, <=, >, >="),
            ("dead > many", "allowed values: a number such as 0 or 2.5"),
            ("dead > -1", "allowed values: a number such as 0 or 2.5"),
            ("recovery > soon", "allowed values of recovery: a time such as 90s, 15m or 2h"),
        ] {
            assert_eq!(wrong.parse::<Limit>().unwrap_err(), allowed, "{wrong}");
        }
    }
}
