//! Merge keys: `<<: *defaults`. Python's YAML applies them, and with it SAM and `aws cloudformation package`;
//! CloudFormation does not.
//! <https://yaml.org/type/merge.html>,
//! <https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/template-formats.html>

use std::collections::HashSet;

use super::{Node, Result, TemplateError, Value};

const MERGE: &str = "<<";

const REMARK: &str =
    "SAM and aws cloudformation package apply this merge key (<<), CloudFormation itself supports none";

/// Puts what a map merges behind what it says itself, and remarks on it.
pub(super) fn apply(node: &mut Node) -> Result<Option<TemplateError>> {
    let Value::Map(entries) = &mut node.value else { return Ok(None) };
    let Some(place) = entries.iter().position(|(key, _)| key == MERGE) else { return Ok(None) };
    let (_, merged) = entries.remove(place);
    let remark = merged.error(REMARK);
    let maps = match merged.value {
        Value::List(maps) => maps,
        _ => vec![merged],
    };
    let mut known: HashSet<String> = entries.iter().map(|(key, _)| key.clone()).collect();
    for map in maps {
        let line = map.line;
        let Value::Map(others) = map.value else {
            return Err(TemplateError {
                line,
                message: "a merge key (<<) takes a map or a list of maps".to_owned(),
            });
        };
        for (key, value) in others {
            if known.insert(key.clone()) {
                entries.push((key, value));
            }
        }
    }
    Ok(Some(remark))
}
