//! Resources and values of properties that a template has only with other values of its parameters.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::{Resolver, Result};
use crate::document::{Node, Value};
use crate::parameters;

/// Values to try per parameter.
const MOST_VALUES: usize = 16;
/// Sets of values to try for all conditions together.
const MOST_TRIALS: usize = 256;
/// Most steps for all of them.
const MOST_STEPS: usize = 1_000_000;

/// A resource whose condition is false or unknown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Absent {
    pub id: String,
    /// Parameters that its condition depends on, without given ones. Empty if it is false with all their values.
    pub parameters: Vec<String>,
    /// Values with which the condition is true, if the template itself names them.
    pub values: Option<Vec<(String, String)>>,
    /// True if the condition is unknown.
    pub is_doubtful: bool,
}

/// A property that has another value with other values of parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Varying {
    /// The logical id of its resource.
    pub id: String,
    pub property: String,
    /// Parameters that it depends on, without given ones.
    pub parameters: Vec<String>,
    /// Values with which it differs, if the template itself names them.
    pub values: Option<Vec<(String, String)>>,
}

/// A condition or a key that decides a value.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Branch<'a> {
    Condition(&'a str),
    /// A parameter that is a key of a mapping, and one of its other values.
    Key(&'a str, &'a str),
}

/// A property as it is written: the logical id of its resource, its name, and its value.
pub type Property<'a> = (&'a str, &'a str, &'a Node);

/// Result of a condition. If it is not true: the parameters that it depends on, and values with which it is.
type ConditionResult = (Result<bool>, Vec<String>, Option<Vec<(String, String)>>);

/// Parameters that something depends on, and values that change it.
type Dependencies = (Vec<String>, Option<Vec<Choice<String>>>);

/// A parameter, and a value that a template compares it with or allows.
type Choice<T> = (T, T);

impl<'a> Resolver<'a> {
    /// Returns the resources that matter and do not exist with the parameters of this resolver.
    pub fn absent(&self, given: &[(String, String)], matters: impl Fn(&Node) -> bool) -> Vec<Absent> {
        let mut search = Search::new(self, given);
        let mut conditions: HashMap<&str, ConditionResult> = HashMap::new();
        let mut absent = Vec::new();
        for (id, resource) in self.template.entries_at("Resources") {
            let Some(node) = resource.get("Condition") else { continue };
            let Some(condition) = node.as_text().filter(|_| matters(resource)) else { continue };
            let known = conditions.entry(condition).or_insert_with(|| {
                let holds = self.named_condition(node);
                let (parameters, values) =
                    if holds == Ok(true) { (Vec::new(), None) } else { search.of(condition, true) };
                (holds, parameters, values)
            });
            let (holds, parameters, values) = known.clone();
            if holds != Ok(true) {
                absent.push(Absent { id: id.clone(), parameters, values, is_doubtful: holds.is_err() });
            }
        }
        absent
    }

    /// Returns the properties that have other values with other parameters, once for each of their other values.
    pub fn varying(&self, given: &[(String, String)], properties: &[Property<'a>]) -> Vec<Varying> {
        let mut search = Search::new(self, given);
        let mut known: HashMap<Branch<'a>, Dependencies> = HashMap::new();
        let mut varying = Vec::new();
        for (id, property, node) in properties {
            let mut branches = Vec::new();
            self.branches(node, &mut branches, &mut search.visits);
            let mut seen = HashSet::new();
            branches.retain(|branch| seen.insert(branch.clone()));
            for branch in branches {
                let (parameters, values) = known.entry(branch.clone()).or_insert_with(|| match branch {
                    Branch::Condition(condition) => match self.named_condition(&Node::text(0, condition)) {
                        Ok(holds) => search.of(condition, !holds),
                        Err(_) => search.of(condition, true),
                    },
                    Branch::Key(name, value) => search.of_key(name, value),
                });
                if !parameters.is_empty() {
                    let (parameters, values) = (parameters.clone(), values.clone());
                    let (id, property) = ((*id).to_owned(), (*property).to_owned());
                    varying.push(Varying { id, property, parameters, values });
                }
            }
        }
        varying
    }

    /// Finds the conditions of `Fn::If` and the keys of `Fn::FindInMap` that decide a value.
    fn branches(&self, node: &'a Node, found: &mut Vec<Branch<'a>>, visits: &mut usize) {
        *visits += 1;
        if *visits > MOST_STEPS {
            return;
        }
        for (key, value) in node.entries() {
            match (key.as_str(), value.as_list()) {
                ("Fn::If", Some([condition, ..])) => {
                    found.extend(condition.as_text().map(Branch::Condition));
                }
                ("Fn::FindInMap", Some([map, name, ..])) => {
                    let maps = self.template.get("Mappings");
                    let map = map.as_text().and_then(|map| maps?.get(map));
                    let name = name.text_at("Ref").and_then(|name| self.declared(name));
                    if let (Some(map), Some(name)) = (map, name) {
                        let keys = map.entries().iter().take(MOST_VALUES);
                        found.extend(keys.map(|(key, _)| Branch::Key(name, key)));
                    }
                }
                _ => {}
            }
            self.branches(value, found, visits);
        }
        node.as_list().unwrap_or_default().iter().for_each(|item| self.branches(item, found, visits));
    }

    /// Returns the parameters that a condition depends on, directly or through others, and the values that the template names for them.
    fn choices(&self, condition: &str, visits: &mut usize) -> (BTreeSet<&'a str>, Vec<Choice<&'a str>>) {
        let named = |name: &str| self.conditions.get(name).copied();
        let (mut parameters, mut choices) = (BTreeSet::new(), Vec::new());
        let mut seen = HashSet::from([condition.to_owned()]);
        let mut left: Vec<&'a Node> = named(condition).into_iter().collect();
        while let Some(node) = left.pop() {
            *visits += 1;
            if *visits > MOST_STEPS {
                break;
            }
            left.extend(node.as_list().unwrap_or_default());
            for (key, value) in node.entries() {
                match (key.as_str(), value.as_text()) {
                    ("Condition", Some(name)) if seen.insert(name.to_owned()) => left.extend(named(name)),
                    ("Ref", Some(name)) => parameters.extend(self.declared(name)),
                    ("Fn::Sub", Some(text)) => {
                        let names = text.split("${").skip(1).filter_map(|rest| rest.split('}').next());
                        parameters.extend(names.filter_map(|name| self.declared(name)));
                    }
                    _ => left.push(value),
                }
                if let ("Fn::Equals", Some([one, other])) = (key.as_str(), value.as_list()) {
                    for (name, value) in [(one, other), (other, one)] {
                        let name = name.text_at("Ref");
                        let name = name.and_then(|name| self.declared(name));
                        choices.extend(name.zip(value.as_text()));
                    }
                }
            }
        }
        for name in &parameters {
            let allowed = self.declared.get(name).map(|it| it.items_at("AllowedValues")).unwrap_or_default();
            choices.extend(allowed.iter().filter_map(|value| Some((*name, value.as_text()?))));
        }
        (parameters, choices)
    }

    fn declared<'n>(&self, name: &'n str) -> Option<&'n str> {
        (self.parameters.contains_key(name) || self.is_unsaid(name)).then_some(name)
    }
}

/// Looks for values with which conditions are true.
struct Search<'r, 'a> {
    resolver: &'r Resolver<'a>,
    given: &'r [(String, String)],
    /// A copy of the resolver with the values on trial, and the values that they replaced.
    trial: Resolver<'a>,
    before: Vec<(String, Option<Value>)>,
    trials: usize,
    steps: usize,
    visits: usize,
}

impl<'r, 'a> Search<'r, 'a> {
    fn new(resolver: &'r Resolver<'a>, given: &'r [(String, String)]) -> Self {
        Self { resolver, given, trial: resolver.clone(), before: Vec::new(), trials: 0, steps: 0, visits: 0 }
    }

    /// Returns the parameters that a condition depends on, and one or two values with which it is `wanted`. For an unknown
    /// condition it tries only CloudFormation's own parameters.
    fn of(&mut self, condition: &str, wanted: bool) -> Dependencies {
        let is_unknown = self.resolver.named_condition(&Node::text(0, condition)).is_err();
        let (mut parameters, mut choices) = self.resolver.choices(condition, &mut self.visits);
        if is_unknown {
            parameters.retain(|name| self.resolver.is_unsaid(name));
            choices.retain(|(name, _)| self.resolver.is_unsaid(name));
        }
        let is_given = |name: &str| self.given.iter().any(|(given, _)| given == name);
        let parameters: Vec<String> =
            parameters.into_iter().filter(|name| !is_given(name)).map(str::to_owned).collect();
        let mut counts: HashMap<&str, usize> = HashMap::new();
        let mut seen = HashSet::new();
        let choices: Vec<(String, String)> = choices
            .into_iter()
            .filter(|choice| !is_given(choice.0) && seen.insert(*choice))
            .filter(|(name, _)| {
                let count = counts.entry(name).or_default();
                *count += 1;
                *count <= MOST_VALUES
            })
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        let one = choices.iter().map(|choice| vec![choice.clone()]);
        let two = choices.iter().enumerate().flat_map(|(at, first)| {
            let others = choices[..at].iter().filter(|other| other.0 != first.0);
            others.map(|second| vec![second.clone(), first.clone()])
        });
        for values in one.chain(two) {
            if self.trials == MOST_TRIALS || self.steps > MOST_STEPS {
                return (parameters, None);
            }
            if self.holds(condition, &values) == Some(wanted) {
                return (parameters, Some(values));
            }
        }
        if is_unknown {
            return (Vec::new(), None);
        }
        // If all values of at most two parameters were tried, it exists with none.
        let is_possible = parameters.len() > 2 || !parameters.iter().all(|name| self.is_closed(name));
        (if is_possible { parameters } else { Vec::new() }, None)
    }

    /// Returns the same for another value of a parameter, if that is allowed.
    fn of_key(&mut self, name: &str, value: &str) -> Dependencies {
        let is_given = self.given.iter().any(|(given, _)| given == name);
        let is_other = match self.resolver.parameters.get(name) {
            Some(Value::Text(text)) => text != value,
            Some(_) => false,
            None => self.resolver.is_unsaid(name),
        };
        if is_given || !is_other || self.trials == MOST_TRIALS {
            return (Vec::new(), None);
        }
        let values = vec![(name.to_owned(), value.to_owned())];
        match self.try_values(&values) {
            Some(()) => (vec![name.to_owned()], Some(values)),
            None => (Vec::new(), None),
        }
    }

    /// Returns true if a parameter allows only values that were tried.
    fn is_closed(&self, name: &str) -> bool {
        let parameter = self.resolver.declared.get(name);
        let allowed = parameter.and_then(|it| it.get("AllowedValues")?.as_list());
        allowed.is_some_and(|allowed| allowed.len() <= MOST_VALUES)
    }

    /// Evaluates a condition with these values. Returns `None` if it is unknown or if the values are not allowed.
    fn holds(&mut self, condition: &str, values: &[(String, String)]) -> Option<bool> {
        self.try_values(values)?;
        let holds = self.trial.named_condition(&Node::text(0, condition)).ok();
        self.steps += self.trial.steps.get();
        holds
    }

    /// Puts values on trial. Returns `None` if their parameters or the rules of the template do not allow them.
    fn try_values(&mut self, values: &[(String, String)]) -> Option<()> {
        self.trials += 1;
        for (name, value) in self.before.drain(..) {
            match value {
                Some(value) => drop(self.trial.parameters.insert(name, value)),
                None => drop(self.trial.parameters.remove(&name)),
            }
        }
        for (name, text) in values {
            let value = match self.trial.declared.get(name.as_str()) {
                Some(parameter) => parameters::read(name, parameter, text).ok()?,
                None => Value::Text(text.clone()),
            };
            self.before.push((name.clone(), self.trial.parameters.insert(name.clone(), value)));
        }
        self.trial.steps.set(0);
        self.trial.unmet_rules(&[self.given, values].concat()).ok().map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Gaps, Surroundings};
    use super::*;
    use crate::parse;

    const TEMPLATE: &str = "
Parameters:
  Stage: {Type: String, Default: dev, AllowedValues: [dev, test, prod]}
  Queue: {Type: String, Default: 'true'}
  Existing: {Type: String, Default: ''}
  Size: {Type: Number, Default: 1, MaxValue: 5}
  Unset: {Type: String}
  Alarms: {Type: String, Default: 'off', AllowedValues: ['on', 'off']}
Conditions:
  IsProd: !Equals [!Ref Stage, prod]
  IsDev: !Equals [!Ref Stage, dev]
  HasNone: !Equals ['false', !Ref Queue]
  Both: !And [!Condition IsProd, !Condition HasNone]
  HasExisting: !Not [!Equals [!Ref Existing, '']]
  IsLarge: !Equals [!Ref Size, 7]
  IsNamed: !Equals [!Sub 'x-${Stage}', x-test]
  IsSet: !Equals [!Ref Unset, a]
  Never: !Equals [a, b]
  Nowhere: !And [!Equals [!Ref Alarms, 'on'], !Condition Never]
  Loop: !Not [!Condition Loop]
Resources:
";

    fn absent(given: &[(&str, &str)]) -> Vec<(String, String, Option<String>)> {
        let conditions = TEMPLATE.lines().skip_while(|line| *line != "Conditions:").skip(1);
        let resources: String = conditions
            .map_while(|line| line.strip_prefix("  ")?.split_once(':'))
            .map(|(name, _)| format!("  Of{name}: {{Type: A, Condition: {name}}}\n"))
            .collect();
        let template = parse(&format!("{TEMPLATE}  Always: {{Type: A}}\n{resources}")).unwrap();
        let given: Vec<_> =
            given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let surroundings = Surroundings::default();
        let resolver = Resolver::new(&template, &given, &surroundings, Gaps::Kept).unwrap();
        let told = |it: Absent| {
            let values = it.values.map(|values| values.into_iter().map(|(name, value)| name + "=" + &value));
            let values = values.map(|values| values.collect::<Vec<_>>().join(" "));
            (it.id, if it.is_doubtful { "?".to_owned() } else { it.parameters.join(" ") }, values)
        };
        resolver.absent(&given, |_| true).into_iter().map(told).collect()
    }

    #[test]
    fn an_absent_resource_is_found_with_values_that_create_it() {
        let row = |id: &str, parameters: &str, values: Option<&str>| {
            (id.to_owned(), parameters.to_owned(), values.map(str::to_owned))
        };
        assert_eq!(
            absent(&[]),
            [
                row("OfIsProd", "Stage", Some("Stage=prod")),
                row("OfHasNone", "Queue", Some("Queue=false")),
                row("OfBoth", "Queue Stage", Some("Queue=false Stage=prod")),
                row("OfHasExisting", "Existing", None),
                row("OfIsLarge", "Size", None),
                row("OfIsNamed", "Stage", Some("Stage=test")),
                row("OfIsSet", "?", None),
                row("OfNever", "", None),
                row("OfNowhere", "", None),
                row("OfLoop", "?", None),
            ]
        );
        let given = absent(&[("Stage", "test")]);
        assert_eq!(given[0], row("OfIsProd", "", None), "it was chosen");
        assert_eq!(given[1], row("OfIsDev", "", None));
        assert_eq!(given[3], row("OfBoth", "Queue", None));
    }

    #[test]
    fn a_varying_property_is_found_with_values_that_change_it() {
        let properties = "
  OfCondition: !If [IsProd, 10, !If [HasExisting, 20, 30]]
  OfKey: {a: [!FindInMap [ByStage, !Ref Stage, Timeout]]}
  OfNone: !If [Never, 1, 2]
  OfDefault: !If [IsDev, 1, 2]
  Same: !Ref Size
";
        let mappings = "Mappings: {ByStage: {dev: {Timeout: 1}, prod: {Timeout: 2}, none: {Timeout: 3}}}";
        let template = parse(&format!("{TEMPLATE}{properties}\n{mappings}")).unwrap();
        let surroundings = crate::properties::surroundings();
        let told = |given: &[(&str, &str)]| {
            let given: Vec<_> =
                given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            let resolver = Resolver::new(&template, &given, &surroundings, Gaps::Kept).unwrap();
            let properties = template.get("Resources").unwrap().entries();
            let properties: Vec<_> =
                properties.iter().map(|(name, node)| ("R", name.as_str(), node)).collect();
            let varying = resolver.varying(&given, &properties).into_iter();
            varying
                .map(|it| {
                    let values =
                        it.values.map(|values| values.iter().map(|(_, value)| value.clone()).collect());
                    (it.property, it.parameters.join(" "), values)
                })
                .collect::<Vec<(String, String, Option<String>)>>()
        };
        let row = |property: &str, parameters: &str, values: Option<&str>| {
            (property.to_owned(), parameters.to_owned(), values.map(str::to_owned))
        };
        assert_eq!(
            told(&[]),
            [
                row("OfCondition", "Stage", Some("prod")),
                row("OfCondition", "Existing", None),
                row("OfKey", "Stage", Some("prod")),
                row("OfDefault", "Stage", Some("test")),
            ]
        );
        assert_eq!(told(&[("Stage", "prod")]), [row("OfCondition", "Existing", None)], "it was chosen");
    }

    #[test]
    fn thousands_of_conditions_that_refer_to_each_other_end() {
        let conditions: String = (0..5_000)
            .map(|at| format!("  C{at}: !And [!Equals [!Ref P{at}, a], !Condition C{}]\n", (at + 1) % 5_000))
            .collect();
        let parameters: String =
            (0..5_000).map(|at| format!("  P{at}: {{Type: String, Default: b}}\n")).collect();
        let resources: String =
            (0..5_000).map(|at| format!("  R{at}: {{Type: A, Condition: C{at}}}\n")).collect();
        let text = format!("Parameters:\n{parameters}Conditions:\n{conditions}Resources:\n{resources}");
        let template = parse(&text).unwrap();
        let surroundings = crate::properties::surroundings();
        let resolver = Resolver::new(&template, &[], &surroundings, Gaps::Kept).unwrap();
        assert_eq!(resolver.absent(&[], |_| true).len(), 5_000);
    }
}
