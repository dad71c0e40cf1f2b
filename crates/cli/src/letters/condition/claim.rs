//! Claims about a field: an operator and a value.

use std::cmp::Ordering;
use std::time::Duration;

use anyhow::{Context, bail};
use aws_sdk_sqs::primitives::{DateTime, DateTimeFormat};
use redrive_sqs::Quoted;
use regex::Regex;

use super::field::{FieldType, Found};
use super::is_sign;

#[derive(Debug, Clone)]
pub(super) enum Claim {
    Exists,
    Missing,
    Is(Value),
    IsNot(Value),
    Compares(Comparison, Value),
    Matches(Regex),
    MatchesNot(Regex),
}

/// Returns true if the field's order relative to the claim's value is as claimed.
type Comparison = fn(Ordering) -> bool;

#[derive(Debug, Clone)]
pub(super) enum Value {
    /// A value as typed. It is a number if the field is one.
    Word(String),
    /// A value in quotes, never a number.
    Quoted(String),
    Duration(Duration),
    Time(DateTime),
}

const COMPARISONS: [(&str, Comparison); 4] =
    [("<", Ordering::is_lt), ("<=", Ordering::is_le), (">", Ordering::is_gt), (">=", Ordering::is_ge)];

impl Claim {
    /// Parses the text after the field with this name and kind.
    pub(super) fn parse(text: &str, field: &str, kind: FieldType) -> anyhow::Result<Self> {
        match text {
            "exists" => return Ok(Self::Exists),
            "missing" => return Ok(Self::Missing),
            _ => (),
        }
        let end = text.find(|c| !is_sign(c)).unwrap_or(text.len());
        let (sign, value) = text.split_at(end);
        let value = value.trim();
        if let Some(word) = conjunction(value) {
            let advice = match (word.eq_ignore_ascii_case("or") || word == "||", kind) {
                (false, _) => "pass --where once for each condition".to_owned(),
                (true, FieldType::Text) => {
                    format!("write {field} ~ ^(A|B)$, or run the command once for each condition")
                }
                (true, FieldType::Number | FieldType::Duration | FieldType::Time) => {
                    "run the command once for each condition".to_owned()
                }
            };
            bail!(
                "{} does not join conditions: {advice}; inside a value it needs double quotes",
                Quoted(word)
            );
        }
        if value.is_empty() && !sign.is_empty() {
            bail!("the field {field} {sign} needs a value: \"\" is the empty string");
        }
        let comparison = COMPARISONS.iter().find(|(known, _)| *known == sign).map(|(_, found)| *found);
        if let Some(comparison) = comparison {
            return Ok(Self::Compares(comparison, Value::parse(value, field, kind)?));
        }
        let operators = operators(kind);
        match sign {
            "=" => Ok(Self::Is(Value::parse(value, field, kind)?)),
            "!=" => Ok(Self::IsNot(Value::parse(value, field, kind)?)),
            "~" | "!~" if kind == FieldType::Text => {
                let pattern = unquoted(value).unwrap_or(value);
                let pattern = Regex::new(pattern).map_err(|error| {
                    let error = error.to_string();
                    let reason = error.lines().last().unwrap_or_default().trim_start_matches("error: ");
                    anyhow::anyhow!(
                        "the field {field} {sign} {} is not a regular expression: {reason}",
                        Quoted(value)
                    )
                })?;
                Ok(if sign == "~" { Self::Matches(pattern) } else { Self::MatchesNot(pattern) })
            }
            "" => match text.split_whitespace().next() {
                Some(word) => {
                    bail!("the field {field} has the operator {}, allowed: {operators}", Quoted(word))
                }
                None => bail!("the field {field} has no operator, allowed: {operators}"),
            },
            _ => bail!("the field {field} has the operator {}, allowed: {operators}", Quoted(sign)),
        }
    }

    /// Returns true if it holds for a missing field, though it does not ask for that.
    pub(super) fn is_negative(&self) -> bool {
        matches!(self, Self::IsNot(_) | Self::MatchesNot(_))
    }

    /// Returns true if it only asks whether the field exists.
    pub(super) fn is_of_presence(&self) -> bool {
        matches!(self, Self::Exists | Self::Missing)
    }

    pub(super) fn holds(&self, found: Option<&Found<'_>>) -> bool {
        match (self, found) {
            (Self::Exists, found) => found.is_some(),
            (Self::Missing, found) => found.is_none(),
            (Self::Is(value), Some(found)) => value.is(found),
            (Self::IsNot(value), Some(found)) => !value.is(found),
            (Self::Compares(comparison, value), Some(found)) => value.order(found).is_some_and(comparison),
            (Self::Matches(pattern), Some(found)) => found.matches(pattern),
            (Self::MatchesNot(pattern), Some(found)) => !found.matches(pattern),
            (Self::IsNot(_) | Self::MatchesNot(_), None) => true,
            (Self::Is(_) | Self::Compares(..) | Self::Matches(_), None) => false,
        }
    }
}

impl Value {
    fn parse(text: &str, field: &str, kind: FieldType) -> anyhow::Result<Self> {
        match kind {
            FieldType::Text => Ok(match unquoted(text) {
                Some(inner) => Self::Quoted(inner.to_owned()),
                None => Self::Word(text.to_owned()),
            }),
            FieldType::Number => match number(text, text) {
                Some(_) => Ok(Self::Word(text.to_owned())),
                None => bail!("the field {field} is compared with {}, allowed: a number", Quoted(text)),
            },
            FieldType::Duration => humantime::parse_duration(text).map(Self::Duration).with_context(|| {
                format!(
                    "the field {field} is compared with {}, allowed: a duration such as 30m, 2h or 3d",
                    Quoted(text)
                )
            }),
            FieldType::Time => {
                let time = DateTime::from_str(text, DateTimeFormat::DateTimeWithOffset).ok();
                // SQS counts in milliseconds.
                let time = time.and_then(|time| time.to_millis().ok()).map(DateTime::from_millis);
                // A value that cannot be formatted is not a time.
                let time = time.filter(|time| time.fmt(DateTimeFormat::DateTime).is_ok());
                time.map(Self::Time).with_context(|| {
                    format!(
                        "the field {field} is compared with {}, allowed: a time such as 2026-11-21T07:50:00Z",
                        Quoted(text)
                    )
                })
            }
        }
    }

    /// Compares texts by character, and numbers by value.
    fn is(&self, found: &Found<'_>) -> bool {
        match (self, found) {
            (Self::Word(text) | Self::Quoted(text), Found::Text(found)) => text == found,
            (Self::Word(text) | Self::Quoted(text), Found::Names(one, other)) => text == one || text == other,
            (Self::Quoted(_), Found::Number(_)) => false,
            _ => self.order(found) == Some(Ordering::Equal),
        }
    }

    /// Returns the order of the field relative to this value, or none if they cannot be compared.
    fn order(&self, found: &Found<'_>) -> Option<Ordering> {
        match (self, found) {
            (Self::Word(text), Found::Number(found)) => number(found, text),
            (Self::Word(text), Found::Text(found)) => {
                number(found, text).or_else(|| Some((**found).cmp(text)))
            }
            (Self::Word(text) | Self::Quoted(text), Found::Names(found, _)) => Some((*found).cmp(text)),
            (Self::Quoted(text), Found::Text(found)) => Some((**found).cmp(text)),
            (Self::Duration(duration), Found::Duration(found)) => Some(found.cmp(duration)),
            (Self::Time(time), Found::Time(found)) => Some(DateTime::from(*found).cmp(time)),
            _ => None,
        }
    }
}

impl Found<'_> {
    fn matches(&self, pattern: &Regex) -> bool {
        match self {
            Self::Text(text) | Self::Number(text) => pattern.is_match(text),
            Self::Names(one, other) => pattern.is_match(one) || pattern.is_match(other),
            Self::Duration(_) | Self::Time(_) => false,
        }
    }
}

/// Returns the first `or` or `and` outside of double quotes with something on both sides. As a part of the value, it would
/// make `=` hold for no letter and `!=` for all.
fn conjunction(value: &str) -> Option<&str> {
    let mut is_quoted = false;
    let words: Vec<(&str, bool)> = value
        .split_whitespace()
        .map(|word| {
            let begins_quoted = is_quoted;
            is_quoted ^= word.matches('"').count() % 2 == 1;
            (word, begins_quoted)
        })
        .collect();
    let inner = words.get(1..words.len().saturating_sub(1)).unwrap_or_default();
    let is_one = |word: &str| ["or", "and", "||", "&&"].iter().any(|one| word.eq_ignore_ascii_case(one));
    inner.iter().find(|(word, is_quoted)| !is_quoted && is_one(word)).map(|(word, _)| *word)
}

/// Compares two numbers, as integers if possible, since an id may have more digits than a float. Returns none for other texts.
fn number(one: &str, other: &str) -> Option<Ordering> {
    if let (Ok(one), Ok(other)) = (one.parse::<i128>(), other.parse::<i128>()) {
        return Some(one.cmp(&other));
    }
    let float = |text: &str| text.parse::<f64>().ok().filter(|number| number.is_finite());
    float(one)?.partial_cmp(&float(other)?)
}

/// Returns the text between quotes, if all of it is quoted.
fn unquoted(text: &str) -> Option<&str> {
    text.strip_prefix('"')?.strip_suffix('"').filter(|inner| !inner.contains('"'))
}

fn operators(kind: FieldType) -> &'static str {
    match kind {
        FieldType::Text => "=, !=, <, <=, >, >=, ~, !~, exists, missing",
        FieldType::Number | FieldType::Duration | FieldType::Time => "=, !=, <, <=, >, >=, exists, missing",
    }
}
