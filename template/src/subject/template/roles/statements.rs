//! Policy documents.
//! <https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_grammar.html>

use std::collections::BTreeMap;

use super::super::look::Look;
use super::{Known, texts};
use crate::Node;
use crate::subject::{Seen, Statement};

/// The statements of a resource's `PolicyDocument`.
pub(super) fn of_document(look: Look<'_>) -> Known {
    look.part("PolicyDocument").map_or(Vec::new(), of)
}

/// The statements of a policy document.
pub(super) fn of(look: Look<'_>) -> Known {
    let Seen::There(statements) = look.part("Statement") else { return None };
    statements.items().iter().map(statement).collect()
}

/// None if it cannot be told what is denied. Where something is allowed to what is not known, it is allowed to all.
fn statement(node: &Node) -> Option<Statement> {
    let allows = match node.text_at("Effect") {
        Some("Allow") => true,
        Some("Deny") => false,
        Some(_) | None => return None,
    };
    let listed = |name: &str| node.get(name).and_then(texts);
    let (actions, resources) = match (listed("Action"), listed("Resource"), allows) {
        (Some(actions), Some(resources), _) => (actions, resources),
        (actions, resources, true) => {
            let all = || vec!["*".to_owned()];
            (actions.unwrap_or_else(all), resources.unwrap_or_else(all))
        }
        (_, _, false) => return None,
    };
    Some(Statement { allows, actions, resources, conditions: conditions(node) })
}

/// Keys with their values, whatever the operator.
fn conditions(node: &Node) -> BTreeMap<String, Vec<String>> {
    let operators = node.entries_at("Condition");
    let keys = operators.iter().flat_map(|(_, keys)| keys.entries());
    keys.map(|(key, values)| (key.clone(), texts(values).unwrap_or_default())).collect()
}
