//! Tests of a single value.
//! <https://docs.aws.amazon.com/lambda/latest/dg/invocation-eventfiltering.html#filtering-syntax>

use super::json::Json;

/// <https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-create-pattern-operators.html>
const LARGEST_NUMBER: f64 = 5.0e9;

const COMPARISONS: &str = "prefix, suffix, equals-ignore-case, anything-but, numeric, exists";

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Test {
    /// Equal to a text, `null`, `true`, `false`, or a number as it is written.
    Exactly(Json),
    Prefix(String),
    Suffix(String),
    IgnoringCase(String),
    AnythingBut(Vec<Json>),
    Numeric(Range),
    Exists,
    Absent,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Range {
    low: f64,
    high: f64,
    with_low: bool,
    with_high: bool,
}

impl Test {
    /// # Errors
    /// Returns a description of the mistake.
    pub(super) fn parse(json: &Json) -> Result<Self, String> {
        let comparison = match json {
            Json::Map(comparison) => comparison,
            Json::List(_) => return Err("a list within a list".into()),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::Text(_) => {
                return Ok(Self::Exactly(json.clone()));
            }
        };
        let mut entries = comparison.iter();
        let (Some((name, value)), None) = (entries.next(), entries.next()) else {
            return Err(format!("a comparison has one of {COMPARISONS}, not {}", comparison.len()));
        };
        match (name.as_str(), value) {
            ("prefix", Json::Text(text)) => Ok(Self::Prefix(text.clone())),
            ("suffix", Json::Text(text)) => Ok(Self::Suffix(text.clone())),
            ("equals-ignore-case", Json::Text(text)) => Ok(Self::IgnoringCase(text.to_lowercase())),
            ("prefix" | "suffix" | "equals-ignore-case", _) => Err(format!("{name} takes a string")),
            ("exists", Json::Bool(true)) => Ok(Self::Exists),
            ("exists", Json::Bool(false)) => Ok(Self::Absent),
            ("exists", _) => Err("exists takes true or false".into()),
            ("anything-but", value) => anything_but(value),
            ("numeric", Json::List(comparison)) => Range::parse(comparison).map(Self::Numeric),
            ("numeric", _) => Err("numeric takes a list".into()),
            _ => Err(format!("no such comparison: {name}, allowed: {COMPARISONS}")),
        }
    }

    /// Returns true if an existing value passes.
    pub(super) fn passes(&self, value: &Json) -> bool {
        match (self, value) {
            (Self::Exactly(wanted), value) => wanted == value,
            (Self::Prefix(prefix), Json::Text(text)) => text.starts_with(prefix),
            (Self::Suffix(suffix), Json::Text(text)) => text.ends_with(suffix),
            (Self::IgnoringCase(wanted), Json::Text(text)) => text.to_lowercase() == *wanted,
            (Self::Prefix(_) | Self::Suffix(_) | Self::IgnoringCase(_), _) | (Self::Absent, _) => false,
            (Self::AnythingBut(values), value) => !values.iter().any(|unwanted| same(unwanted, value)),
            (Self::Numeric(range), value) => value.number().is_some_and(|number| range.holds(number)),
            (Self::Exists, _) => true,
        }
    }
}

fn anything_but(value: &Json) -> Result<Test, String> {
    let values = match value {
        Json::List(values) => values.clone(),
        value => vec![value.clone()],
    };
    let texts = values.iter().all(|value| matches!(value, Json::Text(_)));
    let numbers = values.iter().all(|value| value.number().is_some());
    if values.is_empty() || !(texts || numbers) {
        return Err("anything-but takes a string, a number, or a list of either".into());
    }
    Ok(Test::AnythingBut(values))
}

/// Returns true if a value is the excluded one. Numbers are compared by value.
fn same(unwanted: &Json, value: &Json) -> bool {
    unwanted == value || unwanted.number().is_some_and(|number| value.number() == Some(number))
}

impl Range {
    fn parse(comparison: &[Json]) -> Result<Self, String> {
        const ALLOWED: &str =
            "numeric takes = and a number, or > or >= and a number, < or <= and a larger number, or both";
        let parts: Option<Vec<(&str, f64)>> = comparison
            .chunks(2)
            .map(|pair| match pair {
                [Json::Text(sign), number] => Some((sign.as_str(), number.number()?)),
                _ => None,
            })
            .collect();
        let all = Self { low: f64::MIN, high: f64::MAX, with_low: true, with_high: true };
        let range = match parts.as_deref() {
            Some([("=", number)]) => Self { low: *number, high: *number, ..all },
            Some([(sign @ (">" | ">="), low)]) => Self { low: *low, with_low: *sign == ">=", ..all },
            Some([(sign @ ("<" | "<="), high)]) => Self { high: *high, with_high: *sign == "<=", ..all },
            Some([(from @ (">" | ">="), low), (to @ ("<" | "<="), high)]) if low < high => {
                Self { low: *low, high: *high, with_low: *from == ">=", with_high: *to == "<=" }
            }
            _ => return Err(ALLOWED.into()),
        };
        if parts.iter().flatten().any(|(_, number)| number.abs() > LARGEST_NUMBER) {
            return Err("numeric takes numbers from -5000000000 to 5000000000".into());
        }
        Ok(range)
    }

    fn holds(&self, number: f64) -> bool {
        let above = if self.with_low { number >= self.low } else { number > self.low };
        let below = if self.with_high { number <= self.high } else { number < self.high };
        above && below && number.abs() <= LARGEST_NUMBER
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(text: &str) -> Result<Test, String> {
        Test::parse(&Json::parse(text).unwrap())
    }

    #[test]
    fn each_comparison_takes_what_it_is_for() {
        for (comparison, passing, failing) in [
            (r#""tea""#, &[r#""tea""#][..], &[r#""Tea""#, "null", "1"][..]),
            ("null", &["null"], &["false", r#""null""#, r#""""#]),
            (r#""""#, &[r#""""#], &["null"]),
            ("true", &["true"], &["false", r#""true""#]),
            ("300", &["300"], &["300.0", "3.0e2", r#""300""#]),
            (r#"{"prefix": "te"}"#, &[r#""te""#, r#""tea""#], &[r#""Tea""#, "1", "null"]),
            (r#"{"suffix": "ea"}"#, &[r#""ea""#, r#""tea""#], &[r#""teA""#, "true"]),
            (r#"{"equals-ignore-case": "TÉa"}"#, &[r#""téA""#], &[r#""tea""#, "null"]),
            (r#"{"anything-but": "tea"}"#, &[r#""Tea""#, "1", "null", "true"], &[r#""tea""#]),
            (r#"{"anything-but": ["tea", "milk"]}"#, &[r#""water""#], &[r#""tea""#, r#""milk""#]),
            (r#"{"anything-but": [1, 2.5]}"#, &["3", r#""1""#], &["1", "1.0", "2.50"]),
            (r#"{"numeric": ["=", 300]}"#, &["300", "300.0", "3e2"], &["301", r#""300""#]),
            (r#"{"numeric": [">", 0, "<=", 5]}"#, &["0.1", "5"], &["0", "5.1", "-1"]),
            (r#"{"numeric": [">=", 0]}"#, &["0", "5e9"], &["-0.1", "5000000001", "1700000000000"]),
            (r#"{"numeric": ["<", 0]}"#, &["-1"], &["0", "-5000000001"]),
            (r#"{"exists": true}"#, &["null", r#""""#, "0"], &[]),
            (r#"{"exists": false}"#, &[], &["null", "0"]),
        ] {
            let test = test(comparison).unwrap();
            let passes = |value: &str| test.passes(&Json::parse(value).unwrap());
            for value in passing {
                assert!(passes(value), "{comparison} {value}");
            }
            for value in failing {
                assert!(!passes(value), "{comparison} {value}");
            }
        }
    }

    #[test]
    fn a_comparison_that_makes_no_sense_is_refused() {
        for (comparison, refusal) in [
            ("{}", "not 0"),
            (r#"{"prefix": "a", "suffix": "b"}"#, "not 2"),
            (r#"{"wildcard": "a*"}"#, "no such comparison: wildcard, allowed: prefix, "),
            (r#"{"cidr": "10.0.0.0/8"}"#, "no such comparison: cidr"),
            (r#"{"prefix": 1}"#, "prefix takes a string"),
            (r#"{"prefix": {"equals-ignore-case": "a"}}"#, "prefix takes a string"),
            (r#"{"exists": "yes"}"#, "exists takes true or false"),
            (r#"{"anything-but": []}"#, "anything-but takes"),
            (r#"{"anything-but": ["a", 1]}"#, "anything-but takes"),
            (r#"{"anything-but": {"prefix": "a"}}"#, "anything-but takes"),
            (r#"{"numeric": 1}"#, "numeric takes a list"),
            (r#"{"numeric": []}"#, "numeric takes = and"),
            (r#"{"numeric": [">"]}"#, "numeric takes = and"),
            (r#"{"numeric": ["!=", 1]}"#, "numeric takes = and"),
            (r#"{"numeric": ["<", 1, ">", 0]}"#, "numeric takes = and"),
            (r#"{"numeric": [">", 2, "<", 2]}"#, "numeric takes = and"),
            (r#"{"numeric": [">", "1"]}"#, "numeric takes = and"),
            (r#"{"numeric": [">", 5000000001]}"#, "numeric takes numbers from"),
        ] {
            let error = test(comparison).unwrap_err();
            assert!(error.contains(refusal), "{comparison}: {error}");
        }
    }
}
