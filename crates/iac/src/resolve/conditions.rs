//! Evaluates conditions, and the rules that parameters must obey.

use super::{Resolver, Result};
use crate::document::Node;

impl Resolver<'_> {
    /// Returns the rules that the defaults do not meet, in words. A rule that a given parameter breaks is an error.
    pub(super) fn unmet_rules(&self, given: &[(String, String)]) -> Result<Vec<String>> {
        let mut unmet = Vec::new();
        for (name, rule) in self.template.entries_at("Rules") {
            let Some((place, why)) = self.broken(rule)? else { continue };
            let mut parameters = Vec::new();
            self.parameters_in(rule, &mut parameters);
            if given.iter().any(|(given, _)| parameters.contains(&given.as_str())) {
                return Err(place.error(why));
            }
            let give: Vec<String> =
                parameters.iter().map(|name| format!("--parameter {name}=VALUE")).collect();
            let give = if give.is_empty() { String::new() } else { format!("; pass {}", give.join(" ")) };
            unmet.push(format!("rule {name} not met: {}{give}", why.trim_end_matches('.')));
        }
        Ok(unmet)
    }

    /// Returns the first assertion that is false, and its words. Assertions on unknown values are skipped.
    fn broken<'n>(&self, rule: &'n Node) -> Result<Option<(&'n Node, &'n str)>> {
        if rule.get("RuleCondition").is_some_and(|condition| self.condition(condition) != Ok(true)) {
            return Ok(None);
        }
        for assertion in rule.items_at("Assertions") {
            let assert = assertion.get("Assert").ok_or_else(|| assertion.error("Assert is missing"))?;
            if self.condition(assert) == Ok(false) {
                let text = assertion.text_at("AssertDescription");
                return Ok(Some((assertion, text.unwrap_or("the assertion is false"))));
            }
        }
        Ok(None)
    }

    fn parameters_in<'n>(&self, node: &'n Node, found: &mut Vec<&'n str>) {
        for (key, value) in node.entries() {
            match value.as_text().filter(|name| key == "Ref" && self.parameters.contains_key(*name)) {
                Some(name) if !found.contains(&name) => found.push(name),
                Some(_) => {}
                None => self.parameters_in(value, found),
            }
        }
        node.as_list().unwrap_or_default().iter().for_each(|item| self.parameters_in(item, found));
    }

    pub(super) fn exists(&self, resource: &Node) -> Result<bool> {
        resource.get("Condition").map_or(Ok(true), |name| self.named_condition(name))
    }

    pub(super) fn named_condition(&self, name: &Node) -> Result<bool> {
        let text = name.as_text().ok_or_else(|| name.error("expected the name of a condition"))?;
        match self.conditions.get(text) {
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
            ("Fn::Equals", [left, right]) => {
                self.said(argument, || Ok(self.text(left)? == self.text(right)?))
            }
            ("Fn::Contains", [items, item]) => {
                self.said(argument, || Ok(self.texts(items)?.contains(&self.text(item)?)))
            }
            ("Fn::Not", [condition]) => Ok(!self.condition(condition)?),
            ("Fn::And", [_, _, ..]) => self.unless_any(items, false),
            ("Fn::Or", [_, _, ..]) => self.unless_any(items, true).map(|none| !none),
            ("Fn::Equals" | "Fn::Contains" | "Fn::Not" | "Fn::And" | "Fn::Or", _) => {
                Err(argument.error(format!("{function} does not take {} items", items.len())))
            }
            (other, _) => Err(argument.error(format!("{other} is not a condition"))),
        }
    }

    /// Returns true if no condition is `decisive`. One that is decides, even if others are unknown.
    fn unless_any(&self, items: &[Node], decisive: bool) -> Result<bool> {
        let holds: Vec<Result<bool>> = items.iter().map(|item| self.condition(item)).collect();
        if holds.contains(&Ok(decisive)) {
            return Ok(false);
        }
        holds.into_iter().collect::<Result<Vec<bool>>>().map(|_| true)
    }
}
