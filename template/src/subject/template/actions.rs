//! What an alarm does when it goes off, which many templates decide at deployment.

use super::super::Seen;
use super::look::Look;
use crate::Node;

/// The actions as far as they are known: unknown where a condition that hangs on a parameter leaves them out.
pub(super) fn read(look: Look<'_>, raw: Option<&Node>, document: &Node) -> Seen<Vec<String>> {
    let actions: Vec<String> = match look.part("AlarmActions") {
        Seen::There(part) if part.items().iter().any(|item| item.unknown().is_some()) => {
            return Seen::Unknown;
        }
        Seen::There(part) => part.items().iter().filter_map(Node::as_text).map(str::to_owned).collect(),
        Seen::Absent => Vec::new(),
        Seen::Unknown => return Seen::Unknown,
    };
    if !actions.is_empty() {
        return Seen::There(actions);
    }
    let mut search = Search { document, visited: Vec::new(), parameters: Vec::new() };
    if let Some(raw) = raw {
        search.conditions_in(raw);
    }
    if search.parameters.is_empty() {
        return Seen::There(actions);
    }
    let given: Vec<String> =
        search.parameters.iter().map(|name| format!("--parameter {name}=VALUE")).collect();
    look.notes.add(look.id, format!("the actions of {}", look.id), format!("pass {}", given.join(" or ")));
    Seen::Unknown
}

/// Looks for the parameters on which conditions hang.
struct Search<'a> {
    document: &'a Node,
    visited: Vec<&'a str>,
    parameters: Vec<&'a str>,
}

impl<'a> Search<'a> {
    fn conditions_in(&mut self, node: &'a Node) {
        for (key, value) in node.entries() {
            if let ("Fn::If", Some(name)) =
                (key.as_str(), value.as_list().and_then(|items| items.first()?.as_text()))
            {
                self.condition(name);
            }
            self.conditions_in(value);
        }
        node.as_list().unwrap_or_default().iter().for_each(|item| self.conditions_in(item));
    }

    fn condition(&mut self, name: &'a str) {
        let document = self.document;
        if self.visited.contains(&name) {
            return;
        }
        self.visited.push(name);
        if let Some(condition) = document.get("Conditions").and_then(|all| all.get(name)) {
            self.references_in(condition);
        }
    }

    fn references_in(&mut self, node: &'a Node) {
        for (key, value) in node.entries() {
            match (key.as_str(), value.as_text()) {
                ("Ref", Some(name)) if self.is_parameter(name) && !self.parameters.contains(&name) => {
                    self.parameters.push(name);
                }
                ("Condition", Some(name)) => self.condition(name),
                _ => self.references_in(value),
            }
        }
        node.as_list().unwrap_or_default().iter().for_each(|item| self.references_in(item));
    }

    fn is_parameter(&self, name: &str) -> bool {
        self.document.get("Parameters").is_some_and(|parameters| parameters.get(name).is_some())
    }
}
