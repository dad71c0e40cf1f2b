//! Path to a value in a JSON body: `.customer.id`, `.lines[0].sku`, `."odd key"`.

use std::borrow::Cow;
use std::collections::HashMap;

use anyhow::bail;
use serde_json::value::RawValue;

use super::is_sign;

#[derive(Debug, Clone)]
pub(super) struct Path(Vec<Step>);

#[derive(Debug, Clone)]
enum Step {
    Key(String),
    Index(usize),
}

impl Path {
    /// Parses the text after `body`, with at least one step.
    pub(super) fn parse(text: &str) -> anyhow::Result<Self> {
        let mut steps = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let (step, after) = match rest.strip_prefix('.') {
                Some(after) => key(after, text)?,
                None => index(rest, text)?,
            };
            steps.push(step);
            rest = after;
        }
        Ok(Self(steps))
    }

    /// Finds the value level by level, so that the rest of the body need not be valid.
    pub(super) fn find<'a>(&self, body: &'a str) -> Option<&'a str> {
        self.0.iter().try_fold(body, |value, step| {
            let found = match step {
                Step::Key(key) => {
                    serde_json::from_str::<HashMap<Cow<'_, str>, &RawValue>>(value).ok()?.remove(&**key)
                }
                Step::Index(index) => {
                    serde_json::from_str::<Vec<&RawValue>>(value).ok()?.get(*index).copied()
                }
            };
            found.map(RawValue::get)
        })
    }
}

fn key<'a>(rest: &'a str, path: &str) -> anyhow::Result<(Step, &'a str)> {
    let (key, after) = match rest.strip_prefix('"') {
        Some(quoted) => match quoted.split_once('"') {
            Some(parts) => parts,
            None => bail!("body{path}: a quote is not closed"),
        },
        None => rest.split_at(rest.find(['.', '[']).unwrap_or(rest.len())),
    };
    if key.is_empty() && !rest.starts_with('"') {
        bail!("body{path}: a dot without a key, allowed: body.a.b[0].c");
    }
    if !rest.starts_with('"') && !is_plain(key) {
        bail!("body{path}: the key {key} needs quotes, as in body.\"odd key\"");
    }
    Ok((Step::Key(key.to_owned()), after))
}

fn index<'a>(rest: &'a str, path: &str) -> anyhow::Result<(Step, &'a str)> {
    let found = rest.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let found = found.and_then(|(digits, after)| Some((digits.parse().ok()?, after)));
    match found {
        Some((index, after)) => Ok((Step::Index(index), after)),
        None => bail!("body{path}: {rest} is not a path step, allowed: .KEY, .\"KEY\" and [NUMBER]"),
    }
}

fn is_plain(key: &str) -> bool {
    let odd = |c: char| c.is_whitespace() || is_sign(c) || matches!(c, '.' | '[' | ']' | '"');
    !key.is_empty() && !key.contains(odd)
}
