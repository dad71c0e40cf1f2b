//! Patterns of JSON: `{ $.order.id = "A-1" && $.attempt > 2 }`.
//! <https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/matching-terms-json-log-events.html>

use serde_json::Value;

use super::{quoted, unknown};

/// Conditions, of which all or any must match.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::logs) struct Conditions {
    conditions: Vec<Condition>,
    all: bool,
}

#[derive(Debug, Clone, PartialEq)]
struct Condition {
    /// Names after `$`.
    path: Vec<String>,
    comparison: Comparison,
    wanted: Wanted,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

#[derive(Debug, Clone, PartialEq)]
enum Wanted {
    /// A text, in which `*` at either end matches anything.
    Text(String),
    Number(f64),
}

const COMPARISONS: [(&str, Comparison); 6] = [
    ("!=", Comparison::NotEqual),
    ("<=", Comparison::LessOrEqual),
    (">=", Comparison::GreaterOrEqual),
    ("=", Comparison::Equal),
    ("<", Comparison::Less),
    (">", Comparison::Greater),
];

pub(super) fn parse(text: &str) -> Result<Conditions, String> {
    let inner = text.strip_prefix('{').and_then(|text| text.strip_suffix('}'));
    let mut rest = inner.ok_or("Invalid filter pattern: a } is missing")?.trim();
    let (mut conditions, mut joint) = (Vec::new(), None);
    loop {
        let (condition, after) = condition(rest)?;
        conditions.push(condition);
        rest = after.trim();
        if rest.is_empty() {
            return Ok(Conditions { conditions, all: joint != Some("||") });
        }
        let found = ["&&", "||"].into_iter().find(|joint| rest.starts_with(joint));
        let found = found.ok_or_else(|| format!("Invalid filter pattern: {rest} where && or || could be"))?;
        if *joint.get_or_insert(found) != found {
            return Err(unknown("mix of && and ||"));
        }
        rest = rest[2..].trim_start();
    }
}

fn condition(text: &str) -> Result<(Condition, &str), String> {
    if text.starts_with('(') {
        return Err(unknown("parentheses"));
    }
    let end = text.find(|char: char| char.is_whitespace() || "=!<>".contains(char)).unwrap_or(text.len());
    let (selector, rest) = text.split_at(end);
    let names = selector.strip_prefix("$.").ok_or_else(|| format!("Invalid JSON selector: {selector}"))?;
    if names.contains(['[', '"', '\'', '*']) {
        return Err(unknown("lists or quoted names in selectors"));
    }
    let path: Vec<String> = names.split('.').map(str::to_owned).collect();
    if path.iter().any(String::is_empty) {
        return Err(format!("Invalid JSON selector: {selector}"));
    }
    let rest = rest.trim_start();
    let comparison = COMPARISONS.iter().find(|(sign, _)| rest.starts_with(sign));
    let Some((sign, comparison)) = comparison else {
        return Err(unknown(&format!(
            "{} after a selector",
            rest.split_whitespace().next().unwrap_or("nothing")
        )));
    };
    let (wanted, rest) = wanted(rest[sign.len()..].trim_start())?;
    let by_size = !matches!(comparison, Comparison::Equal | Comparison::NotEqual);
    if by_size && matches!(wanted, Wanted::Text(_)) {
        return Err(format!("Invalid filter pattern: {selector} {sign} needs a number"));
    }
    Ok((Condition { path, comparison: *comparison, wanted }, rest))
}

fn wanted(text: &str) -> Result<(Wanted, &str), String> {
    if text.starts_with('%') {
        return Err(unknown("regular expressions (%...%)"));
    }
    if text.starts_with('"') {
        let (value, rest) = quoted(text)?;
        return Ok((Wanted::Text(value), rest));
    }
    let end = text.find(|char: char| char.is_whitespace() || "&|".contains(char)).unwrap_or(text.len());
    let (word, rest) = text.split_at(end);
    if word.is_empty() {
        return Err("Invalid filter pattern: a value is missing".to_owned());
    }
    Ok((word.parse().map_or_else(|_| Wanted::Text(word.to_owned()), Wanted::Number), rest))
}

impl Conditions {
    pub(super) fn match_message(&self, message: &str) -> bool {
        let Ok(json) = serde_json::from_str::<Value>(message) else { return false };
        let holds = |condition: &Condition| condition.holds(&json);
        if self.all { self.conditions.iter().all(holds) } else { self.conditions.iter().any(holds) }
    }
}

impl Condition {
    /// Returns true if the condition matches. A missing field never matches.
    fn holds(&self, json: &Value) -> bool {
        let Some(found) = self.path.iter().try_fold(json, |json, name| json.get(name)) else { return false };
        let equal = match (&self.wanted, found) {
            (Wanted::Text(wanted), Value::String(found)) => is_like(wanted, found),
            (Wanted::Text(wanted), Value::Bool(found)) => *wanted == found.to_string(),
            (Wanted::Number(wanted), found) => return self.compares(found, *wanted),
            (Wanted::Text(_), _) => return false,
        };
        equal == (self.comparison == Comparison::Equal)
    }

    fn compares(&self, found: &Value, wanted: f64) -> bool {
        let Some(found) = found.as_f64() else { return false };
        match self.comparison {
            Comparison::Equal => found == wanted,
            Comparison::NotEqual => found != wanted,
            Comparison::Less => found < wanted,
            Comparison::LessOrEqual => found <= wanted,
            Comparison::Greater => found > wanted,
            Comparison::GreaterOrEqual => found >= wanted,
        }
    }
}

fn is_like(wanted: &str, found: &str) -> bool {
    match (wanted.strip_prefix('*'), wanted.strip_suffix('*')) {
        (Some(_), Some(_)) => found.contains(wanted.trim_matches('*')),
        (Some(end), None) => found.ends_with(end),
        (None, Some(begin)) => found.starts_with(begin),
        (None, None) => found == wanted,
    }
}

#[cfg(test)]
mod tests {
    use super::super::Pattern;

    const MESSAGE: &str =
        r#"{"level": "WARN", "order": {"id": "A-1", "gift": true}, "attempt": 3, "error": "no \"tea\""}"#;

    #[test]
    fn conditions_on_fields_hold_or_do_not() {
        for (pattern, wanted) in [
            (r#"{ $.level = "WARN" }"#, true),
            (r#"{$.level="warn"}"#, false),
            ("{ $.level = WARN }", true),
            (r#"{ $.level != "WARN" }"#, false),
            (r#"{ $.order.id = "A-*" }"#, true),
            (r#"{ $.order.id = "*-1" }"#, true),
            (r#"{ $.order.id = "*B*" }"#, false),
            (r#"{ $.error = "no \"tea\"" }"#, true),
            ("{ $.order.gift = true }", true),
            ("{ $.attempt = 3 }", true),
            ("{ $.attempt > 3 }", false),
            ("{ $.attempt >= 3 && $.level = WARN }", true),
            ("{ $.attempt < 3 && $.level = WARN }", false),
            ("{ $.attempt < 3 || $.level = WARN }", true),
            (r#"{ $.missing = "x" }"#, false),
            (r#"{ $.missing != "x" }"#, false),
        ] {
            assert_eq!(Pattern::parse(pattern).unwrap().matches(MESSAGE), wanted, "{pattern}");
        }
        assert!(!Pattern::parse("{ $.level = WARN }").unwrap().matches("level WARN"));
    }

    #[test]
    fn a_wrong_or_unknown_condition_is_refused_by_name() {
        for (pattern, part) in [
            ("{ $.a = 1", "a } is missing"),
            ("{ a = 1 }", "Invalid JSON selector: a"),
            ("{ $.a }", "nothing after a selector"),
            ("{ $.a IS NULL }", "IS after a selector"),
            ("{ ($.a = 1) }", "parentheses"),
            ("{ $.a = 1 && $.b = 2 || $.c = 3 }", "mix of && and ||"),
            ("{ $.a[0] = 1 }", "lists or quoted names"),
            ("{ $.a > \"x\" }", "needs a number"),
            ("{ $.a = %x% }", "regular expressions"),
            ("{ $.a = }", "a value is missing"),
        ] {
            let error = Pattern::parse(pattern).unwrap_err();
            assert!(error.contains(part), "{pattern}: {error}");
        }
    }
}
