//! Merge keys: `<<: *defaults`. Python's YAML applies them, and with it SAM and `aws cloudformation package`;
//! CloudFormation does not.
//! <https://yaml.org/type/merge.html>,
//! <https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/template-formats.html>

use std::collections::HashSet;

use super::{Node, Result, TemplateError, Value};

pub(super) const KEY: &str = "<<";

pub(super) const EXPECTED: &str = "a merge key (<<) takes a map or a list of maps";

const REMARK: &str = "SAM and aws cloudformation package apply this merge key (<<); CloudFormation itself \
                      does not support merge keys";

/// Puts what a map merges behind what it says itself, and remarks on it. As in Python, the last merge key goes before the
/// others, but the first map of a list.
pub(super) fn apply(node: &mut Node, merged: Vec<Node>) -> Result<Vec<TemplateError>> {
    let Value::Map(entries) = &mut node.value else { return Ok(Vec::new()) };
    let remarks = merged.iter().map(|merged| merged.error(REMARK)).collect();
    let mut known: HashSet<String> = match merged.is_empty() {
        true => HashSet::new(),
        false => entries.iter().map(|(key, _)| key.clone()).collect(),
    };
    let maps = merged.into_iter().rev().flat_map(|merged| match merged.value {
        Value::List(maps) => maps,
        _ => vec![merged],
    });
    for map in maps {
        let Value::Map(others) = map.value else { return Err(map.error(EXPECTED)) };
        entries.extend(others.into_iter().filter(|(key, _)| known.insert(key.clone())));
    }
    Ok(remarks)
}
