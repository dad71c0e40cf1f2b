//! What is true of a template: conditions, and the rules its parameters must obey.

use super::{Gaps, Resolver, Result};
use crate::template::document::Node;

impl Resolver<'_> {
    pub(super) fn check_rules(&self) -> Result<()> {
        for (_, rule) in self.template.get("Rules").map(Node::entries).unwrap_or_default() {
            let applies = match rule.get("RuleCondition") {
                Some(condition) => self.rule(condition, false)?,
                None => true,
            };
            for assertion in
                rule.get("Assertions").and_then(Node::as_list).filter(|_| applies).unwrap_or_default()
            {
                let assert = assertion.get("Assert").ok_or_else(|| assertion.error("Assert is missing"))?;
                if !self.rule(assert, true)? {
                    let text = assertion.get("AssertDescription").and_then(Node::as_text);
                    return Err(assertion.error(text.unwrap_or("this rule does not hold")));
                }
            }
        }
        Ok(())
    }

    /// A rule on what is not known is let be.
    fn rule(&self, condition: &Node, unknown: bool) -> Result<bool> {
        match self.condition(condition) {
            Err(_) if self.gaps == Gaps::Kept => Ok(unknown),
            holds => holds,
        }
    }

    pub(super) fn exists(&self, resource: &Node) -> Result<bool> {
        resource.get("Condition").map_or(Ok(true), |name| self.named_condition(name))
    }

    pub(super) fn named_condition(&self, name: &Node) -> Result<bool> {
        let text = name.as_text().ok_or_else(|| name.error("expected the name of a condition"))?;
        match self.template.get("Conditions").and_then(|conditions| conditions.get(text)) {
            Some(condition) => self.condition(condition),
            None => Err(name.error(format!("no such condition: {text}"))),
        }
    }

    fn condition(&self, node: &Node) -> Result<bool> {
        self.step(node, 1)?;
        let [(function, argument)] = node.entries() else {
            return Err(node.error("expected a condition"));
        };
        self.depth.set(self.depth.get() + 1);
        let holds = self.call_condition(function, argument);
        self.depth.set(self.depth.get() - 1);
        holds
    }

    pub(super) fn call_condition(&self, function: &str, argument: &Node) -> Result<bool> {
        let items = argument.as_list().unwrap_or_default();
        match (function, items) {
            ("Condition", _) => self.named_condition(argument),
            ("Fn::Equals", [left, right]) => Ok(self.text(left)? == self.text(right)?),
            ("Fn::Contains", [items, item]) => Ok(self.texts(items)?.contains(&self.text(item)?)),
            ("Fn::Not", [condition]) => Ok(!self.condition(condition)?),
            ("Fn::And", [_, _, ..]) => Ok(self.conditions(items)?.into_iter().all(|holds| holds)),
            ("Fn::Or", [_, _, ..]) => Ok(self.conditions(items)?.into_iter().any(|holds| holds)),
            ("Fn::Equals" | "Fn::Contains" | "Fn::Not" | "Fn::And" | "Fn::Or", _) => {
                Err(argument.error(format!("{function} with {} items", items.len())))
            }
            (other, _) => Err(argument.error(format!("{other} is not a condition"))),
        }
    }

    fn conditions(&self, items: &[Node]) -> Result<Vec<bool>> {
        items.iter().map(|item| self.condition(item)).collect()
    }
}
