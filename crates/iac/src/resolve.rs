//! Resolves a template: evaluates CloudFormation's functions with values for the parameters. Pure.

mod absent;
mod conditions;
mod functions;
mod names;
mod outputs;
mod partition;

pub use absent::{Absent, Property, Varying};
pub(crate) use names::{ACCOUNT, REGION};
pub use outputs::{DeployedResource, Output};
pub(crate) use partition::partition_of;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::document::{DEEPEST, Node, TemplateError, Value};
use crate::parameters::{self, Parameters};

/// Values that CloudFormation knows besides the template.
#[derive(Debug, Default)]
pub struct Surroundings {
    /// None if it is unknown. A placeholder then stands in names and ARNs, and no condition is decided by it.
    pub region: Option<String>,
    /// The same.
    pub account: Option<String>,
    /// The same.
    pub stack: Option<String>,
    /// Start of queue URLs, such as `http://127.0.0.1:9324`.
    pub endpoint: String,
    /// Names of resources, by their logical ids.
    pub names: BTreeMap<String, String>,
    /// Attributes, by `Resource.Attribute`, and outputs of other stacks, by their names.
    pub values: BTreeMap<String, String>,
}

/// A template with values for its parameters.
#[derive(Debug, Clone)]
pub struct Resolver<'a> {
    template: &'a Node,
    /// Resources of the template, by their logical ids.
    resources: HashMap<&'a str, &'a Node>,
    conditions: HashMap<&'a str, &'a Node>,
    declared: HashMap<&'a str, &'a Node>,
    parameters: Parameters,
    surroundings: &'a Surroundings,
    gaps: Gaps,
    depth: Cell<usize>,
    steps: Cell<usize>,
    /// Why a part of the value that is being resolved is unknown.
    unsaid: Cell<Option<&'static str>>,
    /// Names requested so far for which values could be given.
    requested: RefCell<BTreeSet<String>>,
    made_up: RefCell<BTreeSet<String>>,
    /// The template's rules that the defaults of its parameters do not meet, in words.
    pub unmet_rules: Vec<String>,
}

/// Treatment of values that only a deployment knows: attributes, other stacks' outputs, parameters kept in SSM, and
/// `{{resolve:...}}`. A parameter without a value stays unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gaps {
    /// They stay unknown.
    Kept,
    /// They stay unknown, and the reason names the flag that gives a value.
    Settable,
    /// Attributes and outputs are made up, and the others are taken as they are written.
    Filled,
}

/// A resource that exists, with its properties resolved.
#[derive(Debug)]
pub struct Resource {
    pub id: String,
    /// Line on which the content after its logical id begins.
    pub line: usize,
    /// Its name on AWS.
    pub name: String,
    pub properties: Node,
    pub metadata: Option<Node>,
}

impl Resource {
    /// Returns the path of its code from SAM (`CodeUri`), CloudFormation (`Code`) or the CDK (metadata), or `None` if that is not a path.
    /// <https://docs.aws.amazon.com/cdk/v2/guide/assets.html>
    pub fn code(&self) -> Option<&str> {
        let code = ["CodeUri", "Code"].iter().find_map(|name| self.properties.get(name));
        let asset = || self.metadata.as_ref()?.get("aws:asset:path")?.as_text();
        code.map_or(Some("."), Node::as_text).or_else(asset)
    }
}

/// A resource that may or may not exist, and the reason.
#[derive(Debug)]
pub struct Doubtful {
    pub id: String,
    pub why: TemplateError,
}

type Result<T> = std::result::Result<T, TemplateError>;

/// The function that adds to the part of a template in which it stands.
/// <https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/intrinsic-function-reference-transform.html>
pub(crate) const TRANSFORM: &str = "Fn::Transform";

/// The error for a name that refers to itself.
const ENDLESS: &str = "nested too deeply, or refers to itself";

/// Most steps. A large template takes some ten thousand, and one whose names double each other never ends.
const MOST_STEPS: usize = 1_000_000;

/// Bytes of text that count as a step.
const STEP: usize = 64;

impl<'a> Resolver<'a> {
    /// Uses the given names and values of parameters, and the defaults for the rest.
    ///
    /// # Errors
    /// A parameter is not declared, a value is not allowed, or given values break a rule.
    pub fn new(
        template: &'a Node,
        given: &[(String, String)],
        surroundings: &'a Surroundings,
        gaps: Gaps,
    ) -> Result<Self> {
        let parameters = parameters::check(template, given, gaps)?;
        let by_name = |part| template.entries_at(part).iter().map(|(name, node)| (name.as_str(), node));
        let mut resolver = Self {
            template,
            resources: by_name("Resources").collect(),
            conditions: by_name("Conditions").collect(),
            declared: by_name("Parameters").collect(),
            parameters,
            surroundings,
            gaps,
            depth: Cell::default(),
            steps: Cell::default(),
            unsaid: Cell::default(),
            requested: RefCell::default(),
            made_up: RefCell::default(),
            unmet_rules: Vec::new(),
        };
        resolver.unmet_rules = resolver.unmet_rules(given)?;
        Ok(resolver)
    }

    /// Returns the names requested so far for which values could be given: `Resource.Attribute`, and names of exports.
    pub fn requested(&self) -> BTreeSet<String> {
        self.requested.borrow().clone()
    }

    /// Returns the names for which values were given.
    pub fn set(&self) -> impl Iterator<Item = &str> {
        self.surroundings.values.keys().map(String::as_str)
    }

    /// Resolves a part of the template, and returns the names whose values were made up.
    pub fn made_up_in(&self, node: &Node) -> BTreeSet<String> {
        self.made_up.take();
        self.value(node);
        self.made_up.take()
    }

    /// The template as it is written.
    pub fn document(&self) -> &'a Node {
        self.template
    }

    /// The resources of some kinds, in the template's order, without those whose condition is false.
    pub fn resources(&self, kinds: &[&str]) -> (Vec<Resource>, Vec<Doubtful>) {
        self.resources_where(|kind| kinds.contains(&kind))
    }

    /// Returns the same for all types that are wanted.
    pub fn resources_where(&self, is_wanted: impl Fn(&str) -> bool) -> (Vec<Resource>, Vec<Doubtful>) {
        let (mut resources, mut doubtful) = (Vec::new(), Vec::new());
        for (id, resource) in self.template.entries_at("Resources") {
            let kind = resource.text_at("Type").unwrap_or_default();
            if !is_wanted(kind) {
                continue;
            }
            let exists = |exists: bool| exists.then(|| self.resource_with(id, kind, resource)).transpose();
            match self.exists(resource).and_then(exists) {
                Ok(resource) => resources.extend(resource),
                Err(why) => doubtful.push(Doubtful { id: id.clone(), why }),
            }
        }
        (resources, doubtful)
    }

    fn resource_with(&self, id: &str, kind: &str, resource: &Node) -> Result<Resource> {
        let part = |name: &str| resource.get(name).and_then(|part| self.value(part));
        let empty = Node { line: resource.line, value: Value::Map(Vec::new()) };
        let mut properties = part("Properties").unwrap_or(empty);
        if let (Some(transform), Value::Map(entries)) = (resource.get(TRANSFORM), &mut properties.value) {
            entries.push((TRANSFORM.to_owned(), transform.clone()));
        }
        if kind == "AWS::Serverless::Function"
            && let Some(globals) = self.globals("Function", resource.get("IgnoreGlobals"))
        {
            properties = properties.over(&globals);
        }
        Ok(Resource {
            id: id.to_owned(),
            line: resource.line,
            name: self.physical_name(id, resource)?,
            properties,
            metadata: part("Metadata"),
        })
    }

    /// The macros of the whole template that are not AWS's own, which may change all of it.
    /// <https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/transform-section-structure.html>
    pub fn macros(&self) -> Vec<String> {
        let Some(transform) = self.template.get("Transform") else { return Vec::new() };
        let all = transform.as_list().unwrap_or(std::slice::from_ref(transform)).iter();
        let name =
            |item: &Node| item.as_text().or_else(|| item.text_at("Name")).unwrap_or("a macro").to_owned();
        all.map(name).filter(|name| !name.starts_with("AWS::")).collect()
    }

    /// Returns true if a part of the template is in another file.
    pub fn includes(&self) -> bool {
        let transform = self.template.get("Transform");
        let all = transform.map(|it| it.as_list().unwrap_or(std::slice::from_ref(it))).unwrap_or_default();
        let is_include = |it: &Node| it.as_text().or_else(|| it.text_at("Name")) == Some("AWS::Include");
        self.template.get(TRANSFORM).is_some() || all.iter().any(is_include)
    }

    /// Returns the logical id and the type of every resource that may exist.
    pub fn possible_kinds(&self) -> Vec<(&'a str, &'a str)> {
        let resources = self.template.entries_at("Resources").iter();
        let possible = resources.filter(|(_, resource)| self.exists(resource) != Ok(false));
        let kind = |resource: &'a Node| resource.text_at("Type").unwrap_or_default();
        possible.map(|(id, resource)| (id.as_str(), kind(resource))).collect()
    }

    /// Returns the logical id and the type of every resource that is known to exist.
    pub fn kinds(&self) -> Vec<(&'a str, &'a str)> {
        let resources = self.template.entries_at("Resources").iter();
        let existing = resources.filter(|(_, resource)| self.exists(resource) == Ok(true));
        let kind = |resource: &'a Node| resource.text_at("Type").unwrap_or_default();
        existing.map(|(id, resource)| (id.as_str(), kind(resource))).collect()
    }

    /// `Globals` for one kind of SAM resource, without those that it ignores.
    /// <https://docs.aws.amazon.com/serverless-application-model/latest/developerguide/sam-specification-template-anatomy-globals.html>
    fn globals(&self, kind: &str, ignored: Option<&Node>) -> Option<Node> {
        let globals = self.value(self.template.get("Globals")?.get(kind)?)?;
        let is_ignored = |name: &str| {
            ignored.is_some_and(|ignored| {
                ignored.as_text() == Some("*")
                    || ignored.as_list().unwrap_or_default().iter().any(|item| item.as_text() == Some(name))
            })
        };
        Some(globals.without(is_ignored))
    }

    /// Resolves a part of the template. Returns `None` for `AWS::NoValue`.
    pub fn value(&self, node: &Node) -> Option<Node> {
        let value = self.step(node, 1).and_then(|()| {
            self.depth.set(self.depth.get() + 1);
            let value = self.value_one_deeper(node);
            self.depth.set(self.depth.get() - 1);
            value
        });
        value.unwrap_or_else(|why| {
            let why = self.step(node, why.message.len() / STEP).err().unwrap_or(why);
            Some(Node { line: node.line, value: Value::Unknown(why) })
        })
    }

    /// Counts steps, and fails if there are too many or the nesting is too deep.
    fn step(&self, node: &Node, steps: usize) -> Result<()> {
        self.steps.set(self.steps.get() + steps);
        if self.depth.get() > DEEPEST {
            return Err(node.error(ENDLESS));
        }
        if self.steps.get() > MOST_STEPS {
            return Err(node.error("too complex to resolve"));
        }
        Ok(())
    }

    fn value_one_deeper(&self, node: &Node) -> Result<Option<Node>> {
        let value = match &node.value {
            // <https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/dynamic-references.html>
            Value::Text(text) if self.gaps != Gaps::Filled && text.contains("{{resolve:") => {
                return Err(node.error(format!("{text} is resolved only at deployment")));
            }
            Value::Text(text) => {
                self.step(node, text.len() / STEP)?;
                Value::Text(text.clone())
            }
            value @ (Value::Null | Value::Unknown(_)) => value.clone(),
            Value::List(items) => Value::List(items.iter().filter_map(|item| self.value(item)).collect()),
            Value::Map(entries) => match entries.as_slice() {
                [(name, argument)] if name == "Ref" || name.starts_with("Fn::") => {
                    let value = self.call(name, argument)?;
                    self.step(node, value.as_ref().map_or(0, steps))?;
                    return Ok(value);
                }
                entries => {
                    let value = |(key, entry): &(String, Node)| Some((key.clone(), self.value(entry)?));
                    Value::Map(entries.iter().filter_map(value).collect())
                }
            },
        };
        Ok(Some(Node { line: node.line, value }))
    }

    fn text(&self, node: &Node) -> Result<String> {
        let value = self.value(node);
        let text = value.as_ref().and_then(Node::as_text).map(str::to_owned);
        text.ok_or_else(|| why(value.as_ref()).unwrap_or_else(|| node.error("expected a string")))
    }

    fn texts(&self, node: &Node) -> Result<Vec<String>> {
        let value = self.value(node);
        let items = value.as_ref().and_then(Node::as_list);
        let items =
            items.ok_or_else(|| why(value.as_ref()).unwrap_or_else(|| node.error("expected a list")))?;
        items.iter().map(|item| self.text(item)).collect()
    }
}

fn why(value: Option<&Node>) -> Option<TemplateError> {
    value.and_then(Node::unknown).cloned()
}

/// Returns the steps of a value, which may be repeated many times.
fn steps(value: &Node) -> usize {
    match &value.value {
        Value::Null => 1,
        Value::Unknown(why) => 1 + why.message.len() / STEP,
        Value::Text(text) => 1 + text.len() / STEP,
        Value::List(items) => 1 + items.iter().map(steps).sum::<usize>(),
        Value::Map(entries) => 1 + entries.iter().map(|(_, value)| steps(value)).sum::<usize>(),
    }
}
