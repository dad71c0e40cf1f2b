//! The operations of CloudWatch Logs, by name.

use serde_json::Value;

use super::refusal::Refusal;
use super::request::Asked;
use super::{describe, filter_events};

pub(super) type Operation = fn(&Asked<'_>) -> Result<Value, Refusal>;

const OPERATIONS: [(&str, Operation); 3] = [
    ("DescribeLogGroups", describe::groups),
    ("DescribeLogStreams", describe::streams),
    ("FilterLogEvents", filter_events::filter),
];

pub(super) fn operation(name: &str) -> Option<Operation> {
    OPERATIONS.iter().find(|(known, _)| *known == name).map(|(_, operation)| *operation)
}
