//! What an operation is asked.

use serde_json::{Map, Value};

use super::Logs;
use super::group::Group;
use super::refusal::Refusal;

/// A request's input, and what there is to read.
#[derive(Debug)]
pub(super) struct Asked<'a> {
    pub(super) logs: &'a Logs,
    input: Map<String, Value>,
}

impl<'a> Asked<'a> {
    pub(super) fn new(logs: &'a Logs, body: &[u8]) -> Result<Self, Refusal> {
        let input = if body.is_empty() {
            Map::new()
        } else {
            serde_json::from_slice(body).map_err(Refusal::unreadable)?
        };
        Ok(Self { logs, input })
    }

    pub(super) fn text(&self, name: &str) -> Result<Option<&str>, Refusal> {
        match self.input.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(Refusal::unreadable(format!("{name} is no text"))),
        }
    }

    pub(super) fn number(&self, name: &str) -> Result<Option<i64>, Refusal> {
        match self.input.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => match value.as_i64() {
                Some(number) => Ok(Some(number)),
                None => Err(Refusal::unreadable(format!("{name} is no whole number"))),
            },
        }
    }

    pub(super) fn flag(&self, name: &str) -> bool {
        self.input.get(name).and_then(Value::as_bool).unwrap_or_default()
    }

    pub(super) fn texts(&self, name: &str) -> Option<Vec<&str>> {
        Some(self.input.get(name)?.as_array()?.iter().filter_map(Value::as_str).collect())
    }

    /// How many to give at most.
    pub(super) fn limit(&self, most: usize) -> Result<usize, Refusal> {
        match self.number("limit")? {
            None => Ok(most),
            Some(limit) if limit < 1 => {
                Err(Refusal::constraint(limit, "limit", "have value greater than or equal to 1"))
            }
            Some(limit) if limit as usize > most => {
                let than = format!("have value less than or equal to {most}");
                Err(Refusal::constraint(limit, "limit", than))
            }
            Some(limit) => Ok(limit as usize),
        }
    }

    /// Where the last page ended; 0 for the first one.
    pub(super) fn next_token(&self) -> Result<u64, Refusal> {
        match self.text("nextToken")? {
            None => Ok(0),
            Some(token) => token.parse().map_err(|_| Refusal::invalid("The specified nextToken is invalid.")),
        }
    }

    /// The group that is named, by its name or its ARN.
    pub(super) fn group(&self) -> Result<(&'a str, &'a Group), Refusal> {
        let name = match (self.text("logGroupName")?, self.text("logGroupIdentifier")?) {
            (Some(name), None) => name,
            (None, Some(identifier)) => {
                let name = identifier.split_once(":log-group:").map_or(identifier, |(_, name)| name);
                name.trim_end_matches(":*")
            }
            (None, None) | (Some(_), Some(_)) => {
                return Err(Refusal::invalid(
                    "Exactly one of logGroupName and logGroupIdentifier must be specified",
                ));
            }
        };
        let found = self.logs.groups.get_key_value(name);
        found.map(|(name, group)| (name.as_str(), group)).ok_or_else(Refusal::no_such_group)
    }
}
