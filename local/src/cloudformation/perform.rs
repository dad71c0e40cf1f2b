//! The operations of CloudFormation, by name.

use serde_json::Value;

use super::form::Asked;
use super::refusal::Refusal;
use super::{resources, stacks};

pub(super) type Operation = fn(&Asked<'_>) -> Result<Value, Refusal>;

const OPERATIONS: [(&str, Operation); 5] = [
    ("DescribeStackResource", resources::describe_one),
    ("DescribeStackResources", resources::describe),
    ("DescribeStacks", stacks::describe),
    ("GetTemplate", stacks::template),
    ("ListStackResources", resources::list),
];

pub(super) fn operation(name: &str) -> Option<Operation> {
    OPERATIONS.iter().find(|(known, _)| *known == name).map(|(_, operation)| *operation)
}
