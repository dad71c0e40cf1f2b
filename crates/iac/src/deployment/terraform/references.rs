//! Follows the references of expressions through the inputs and outputs of modules.

use std::cell::Cell;

use serde_json::Value as Json;

use super::plan::{Instance, Plan};

/// Longest chain of references. No sensible module has a longer one.
const DEEPEST: usize = 32;

/// Most steps. A large plan takes some ten thousand.
const MOST_STEPS: usize = 1_000_000;

/// Bytes of a reference that count as a step.
const STEP: usize = 64;

/// Most references in one expression.
const MOST_REFERENCES: usize = 1_000;

/// Follows references in a plan, within bounds.
#[derive(Debug)]
pub(super) struct References<'p> {
    pub(super) plan: &'p Plan,
    steps: Cell<usize>,
}

/// The resources and values that an expression refers to.
#[derive(Debug, Default)]
pub(super) struct Ends<'p> {
    pub(super) targets: Vec<Target<'p>>,
    /// Values of variables.
    pub(super) constants: Vec<&'p Json>,
    /// True if there may be more, which a plan does not tell: locals have no references.
    pub(super) is_partial: bool,
}

/// A resource and the attribute that is used, which a computed index hides, as in `aws_sqs_queue.all[each.key].arn`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Target<'p> {
    pub(super) instance: &'p Instance,
    pub(super) attribute: Option<&'p str>,
}

/// Scope of an expression: the module's address, the key of its resource, and the `for_each` behind `each.value`.
#[derive(Debug, Clone, Copy)]
struct Scope<'a, 'p> {
    module: &'a str,
    key: Option<&'a str>,
    for_each: Option<&'p Json>,
    depth: usize,
}

impl<'p> References<'p> {
    pub(super) fn new(plan: &'p Plan) -> Self {
        Self { plan, steps: Cell::new(0) }
    }

    /// Returns what an expression of a resource refers to.
    pub(super) fn of(&self, expression: &'p Json, instance: &'p Instance) -> Ends<'p> {
        let mut ends = Ends::default();
        let module = self.plan.module(&instance.module);
        let for_each = module.and_then(|it| it.resource(&instance.name)).map(|it| &it.for_each_expression);
        let scope = Scope { module: &instance.module, key: instance.key.as_deref(), for_each, depth: 0 };
        self.follow(expression, scope, &mut ends);
        ends
    }

    fn follow(&self, expression: &'p Json, scope: Scope<'_, 'p>, ends: &mut Ends<'p>) {
        if let Some(constant) = expression.get("constant_value") {
            ends.constants.push(constant);
        }
        let written =
            expression.get("references").and_then(Json::as_array).map(Vec::as_slice).unwrap_or_default();
        if written.len() > MOST_REFERENCES {
            ends.is_partial = true;
            return;
        }
        let references = whole(written.iter().filter_map(Json::as_str));
        // `all[each.key]` is the instance with the key of the expression's own resource.
        let is_keyed = references.iter().any(|it| matches!(*it, "each.key" | "count.index"));
        let scope = Scope { key: scope.key.filter(|_| is_keyed), depth: scope.depth + 1, ..scope };
        for reference in references {
            self.steps.set(self.steps.get() + 1 + reference.len() / STEP);
            if scope.depth > DEEPEST || self.steps.get() > MOST_STEPS {
                ends.is_partial = true;
                return;
            }
            self.follow_one(reference, scope, ends);
        }
    }

    fn follow_one(&self, reference: &'p str, scope: Scope<'_, 'p>, ends: &mut Ends<'p>) {
        let steps = steps(reference);
        match steps.as_slice() {
            [Step::Name("each"), Step::Name("key")] | [Step::Name("count" | "path" | "terraform"), ..] => {}
            [Step::Name("var"), Step::Name(name), ..] => self.follow_input(name, scope, ends),
            [Step::Name("module"), Step::Name(name), rest @ ..] => {
                self.follow_output(name, rest, scope, ends);
            }
            [Step::Name("data"), Step::Name(kind), Step::Name(name), rest @ ..] => {
                self.add_targets(&format!("data.{kind}.{name}"), rest, scope, ends);
            }
            [Step::Name("each"), Step::Name("value"), ..] => self.follow_each(scope, ends),
            [Step::Name("each" | "local" | "self"), ..] | [] => ends.is_partial = true,
            [Step::Name(kind), Step::Name(name), rest @ ..] => {
                self.add_targets(&format!("{kind}.{name}"), rest, scope, ends);
            }
            _ => ends.is_partial = true,
        }
    }

    /// Follows an item of `for_each`, if all items refer to one thing.
    fn follow_each(&self, scope: Scope<'_, 'p>, ends: &mut Ends<'p>) {
        let mut items = Ends::default();
        if let Some(for_each) = scope.for_each {
            self.follow(for_each, Scope { for_each: None, ..scope }, &mut items);
        }
        // Locals decide there which items count.
        ends.is_partial |= items.targets.len() != 1;
        ends.targets.extend(items.targets);
        ends.constants.extend(items.constants);
    }

    fn follow_input(&self, name: &str, scope: Scope<'_, 'p>, ends: &mut Ends<'p>) {
        let plan = self.plan;
        if scope.module.is_empty() {
            ends.constants.extend(plan.variables.get(name));
            return;
        }
        let (call, key) = split_key(scope.module);
        let (parent, module) = call.rsplit_once("module.").unwrap_or_default();
        let parent = parent.trim_end_matches('.');
        let call = plan.module(parent).and_then(|parent| parent.module_calls.get(module));
        let for_each = call.map(|call| &call.for_each_expression);
        match call.and_then(|call| call.expressions.get(name)) {
            Some(expression) => {
                self.follow(expression, Scope { module: parent, key, for_each, ..scope }, ends)
            }
            None => {
                let own = plan.module(scope.module).and_then(|module| module.variables.get(name));
                ends.constants.extend(own.map(|variable| &variable.default));
            }
        }
    }

    fn follow_output(&self, name: &str, rest: &[Step<'p>], scope: Scope<'_, 'p>, ends: &mut Ends<'p>) {
        let call = below(scope.module, &format!("module.{name}"));
        let (key, rest) = key_and_rest(rest, scope.key);
        let addresses: Vec<&'p String> = self
            .plan
            .modules
            .range(call.clone()..)
            .take_while(|address| address.starts_with(&call))
            .filter(|address| {
                let (base, own) = split_key(address);
                base == call && key.is_none_or(|key| own.is_none_or(|own| own == key))
            })
            .collect();
        for address in addresses {
            let Some(module) = self.plan.module(address) else { continue };
            let scope = Scope { module: address, key: None, for_each: None, ..scope };
            match rest {
                [Step::Name(output), ..] => match module.outputs.get(*output) {
                    Some(output) => self.follow(&output.expression, scope, ends),
                    None => ends.is_partial = true,
                },
                // The index hides which output it is.
                _ => module.outputs.values().for_each(|output| self.follow(&output.expression, scope, ends)),
            }
        }
    }

    fn add_targets(&self, name: &str, rest: &[Step<'p>], scope: Scope<'_, 'p>, ends: &mut Ends<'p>) {
        let (key, rest) = key_and_rest(rest, scope.key);
        let attribute = match rest {
            [Step::Name(attribute), ..] => Some(*attribute),
            _ => None,
        };
        for instance in self.plan.instances_of(&below(scope.module, name)) {
            let own = instance.key.as_deref();
            let is_meant = key.is_none_or(|key| own.is_none_or(|own| own == key));
            let is_known =
                |it: &Target<'_>| it.instance.address == instance.address && it.attribute == attribute;
            if is_meant && !ends.targets.iter().any(is_known) {
                ends.targets.push(Target { instance, attribute });
            }
            self.steps.set(self.steps.get() + 1 + ends.targets.len());
            if self.steps.get() > MOST_STEPS {
                ends.is_partial = true;
                return;
            }
        }
    }
}

/// Returns the written key, else that of the expression's own resource, and the steps after it.
fn key_and_rest<'s, 'p: 'k, 'k>(
    rest: &'s [Step<'p>],
    own: Option<&'k str>,
) -> (Option<&'k str>, &'s [Step<'p>]) {
    match rest {
        [Step::Key(key), rest @ ..] => (Some(key), rest),
        rest => (own.filter(|_| rest.is_empty()), rest),
    }
}

fn below(module: &str, name: &str) -> String {
    if module.is_empty() { name.to_owned() } else { format!("{module}.{name}") }
}

/// A part of an address, such as `module.queues["a"].aws_sqs_queue.this[0].arn`.
/// <https://developer.hashicorp.com/terraform/cli/state/resource-addressing>
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step<'a> {
    Name(&'a str),
    /// The text in brackets as it is written: `0` or `"a"`.
    Key(&'a str),
}

/// Returns the parts of an address, as far as it can be read.
pub(super) fn steps(address: &str) -> Vec<Step<'_>> {
    let mut steps = Vec::new();
    let mut rest = address;
    while !rest.is_empty() {
        if let Some(inside) = rest.strip_prefix('[') {
            let Some(end) = end_of_key(inside) else { return steps };
            steps.push(Step::Key(&inside[..end]));
            rest = &inside[end + 1..];
        } else {
            rest = rest.strip_prefix('.').unwrap_or(rest);
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            if end == 0 {
                return steps;
            }
            steps.push(Step::Name(&rest[..end]));
            rest = &rest[end..];
        }
    }
    steps
}

/// Returns where the bracket ends. One in a quoted text does not count.
fn end_of_key(inside: &str) -> Option<usize> {
    let mut quoted = false;
    let mut escaped = false;
    for (at, character) in inside.char_indices() {
        match character {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            ']' if !quoted => return Some(at),
            _ => {}
        }
    }
    None
}

/// Splits an address from its last key: `aws_sqs_queue.this` and `0`.
pub(super) fn split_key(address: &str) -> (&str, Option<&str>) {
    let Some(Step::Key(key)) = steps(address).last().copied() else { return (address, None) };
    let base = address.strip_suffix(']').and_then(|rest| rest.strip_suffix(key)?.strip_suffix('['));
    base.map_or((address, None), |base| (base, Some(key)))
}

/// Drops references that only lead to the one before them: Terraform names `a.b.c`, `a.b` and `a` where `a.b.c` is written.
fn whole<'a>(references: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut all: Vec<&str> = Vec::new();
    for reference in references {
        let leads_on = |last: &&str| {
            last.strip_prefix(reference).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        if !all.last().is_some_and(leads_on) && !all.contains(&reference) {
            all.push(reference);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Step::{Key, Name};
    use super::*;

    #[test]
    fn an_address_is_taken_apart_whatever_its_keys_hold() {
        for (address, parts) in [
            ("aws_sqs_queue.orders.arn", vec![Name("aws_sqs_queue"), Name("orders"), Name("arn")]),
            ("q.this[0].arn", vec![Name("q"), Name("this"), Key("0"), Name("arn")]),
            (r#"module.q["a.b]\"c"].q.this"#, {
                vec![Name("module"), Name("q"), Key(r#""a.b]\"c""#), Name("q"), Name("this")]
            }),
            ("a[open", vec![Name("a")]),
            ("a..b", vec![Name("a")]),
            ("", vec![]),
        ] {
            assert_eq!(steps(address), parts, "{address}");
        }
        assert_eq!(split_key("q.this[0]"), ("q.this", Some("0")));
        assert_eq!(split_key("[é].]"), ("[é].]", None));
        assert_eq!(split_key(r#"module.m["a"].q.this"#), (r#"module.m["a"].q.this"#, None));
    }

    #[test]
    fn steps_that_lead_to_a_reference_are_dropped() {
        let references = ["q.a[0].arn", "q.a[0]", "q.a", "var.x", "q.ab", "q.a", "q.ab"];
        assert_eq!(whole(references.into_iter()), ["q.a[0].arn", "var.x", "q.ab", "q.a"]);
    }

    proptest! {
        #[test]
        fn nothing_makes_it_panic(address in r#"[a\[\]."\\é0]{0,20}"#) {
            let (base, key) = split_key(&address);
            prop_assert!(address.starts_with(base));
            prop_assert_eq!(key.is_some(), base.len() < address.len());
        }
    }
}
