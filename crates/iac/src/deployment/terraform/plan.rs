//! The JSON of a plan or a state, as `terraform show -json` prints it.
//! <https://developer.hashicorp.com/terraform/internals/json-format>

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::de::{Error as _, IgnoredAny};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Error, Value as Json};

use super::references::{Step, split_key, steps};

/// Prefixes of types whose values are read, and the references of their configuration.
const READ: [&str; 11] = [
    "aws_appconfig_environment",
    "aws_cloudwatch_",
    "aws_codedeploy_deployment_group",
    "aws_dynamodb_table",
    "aws_ecs_service",
    "aws_iam_",
    "aws_lambda_",
    "aws_scheduler_schedule",
    "aws_sns_topic_subscription",
    "aws_sqs_",
    "aws_vpc_endpoint",
];

/// Signs in the values of other types that may receive from a queue.
const SIGNS: [&str; 5] = [":sqs:", "://sqs.", "QUEUE_URL", "ReceiveMessage", "aws:elasticbeanstalk:"];

/// Most values. A plan of 64 MiB has fewer. In memory each takes many times what a `0` does in a file.
const MOST_VALUES: usize = 3_000_000;

/// A plan or a state.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) instances: Vec<Instance>,
    /// The instances of each resource, by its address.
    by_address: HashMap<String, Vec<usize>>,
    /// Addresses of all modules but the root.
    pub(super) modules: BTreeSet<String>,
    /// None in a state.
    pub(super) configuration: Option<Configuration>,
    /// Values of the root's variables.
    pub(super) variables: BTreeMap<String, Json>,
    /// The reason why it may lack resources.
    pub(super) lacks: Option<&'static str>,
}

/// A resource, or one instance of it by `count` or `for_each`.
#[derive(Debug, Default)]
pub(super) struct Instance {
    pub(super) address: String,
    /// The module's address, empty for the root.
    pub(super) module: String,
    pub(super) kind: String,
    /// `0` or `"a"`.
    pub(super) key: Option<String>,
    pub(super) is_data: bool,
    pub(super) values: Json,
    /// `true` for what is known after apply only, in the shape of the values.
    pub(super) unknown: Json,
    /// Address in its module: `aws_sqs_queue.orders`.
    pub(super) name: String,
}

#[derive(Deserialize)]
struct Document<'a> {
    #[serde(borrow)]
    planned_values: Option<Values<'a>>,
    #[serde(borrow)]
    values: Option<Values<'a>>,
    #[serde(borrow)]
    prior_state: Option<State<'a>>,
    #[serde(borrow, default)]
    resource_changes: Vec<Change<'a>>,
    configuration: Option<Configuration>,
    #[serde(default)]
    variables: BTreeMap<String, Given>,
    #[serde(default)]
    errored: bool,
    complete: Option<bool>,
}

#[derive(Deserialize)]
struct State<'a> {
    #[serde(borrow)]
    values: Option<Values<'a>>,
}

#[derive(Deserialize)]
struct Values<'a> {
    #[serde(borrow)]
    root_module: Option<Resources<'a>>,
}

#[derive(Deserialize)]
struct Resources<'a> {
    #[serde(default)]
    address: String,
    #[serde(borrow, default)]
    resources: Vec<Resource<'a>>,
    #[serde(borrow, default)]
    child_modules: Vec<Self>,
}

#[derive(Deserialize)]
struct Resource<'a> {
    #[serde(borrow)]
    address: Cow<'a, str>,
    #[serde(borrow)]
    mode: Cow<'a, str>,
    #[serde(borrow)]
    r#type: Cow<'a, str>,
    #[serde(borrow)]
    values: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Change<'a> {
    #[serde(borrow)]
    address: Cow<'a, str>,
    #[serde(borrow)]
    change: Option<Unknowns<'a>>,
}

#[derive(Deserialize)]
struct Unknowns<'a> {
    #[serde(borrow)]
    after_unknown: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Given {
    #[serde(default)]
    value: Json,
}

/// Keys that tell the kinds of JSON apart.
#[derive(Deserialize)]
struct Signs {
    terraform_version: Option<IgnoredAny>,
    planned_values: Option<IgnoredAny>,
    values: Option<IgnoredAny>,
    serial: Option<IgnoredAny>,
    lineage: Option<IgnoredAny>,
}

/// Kinds of Terraform's JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JsonKind {
    /// Output of `terraform show -json`.
    Shown,
    /// A file such as `terraform.tfstate`, or a state that holds nothing.
    Other,
}

/// Returns the kind of JSON, or `None` if it is not Terraform's.
pub(super) fn json_kind(text: &str) -> Option<JsonKind> {
    let signs: Signs = text.trim_start().starts_with('{').then(|| serde_json::from_str(text).ok())??;
    signs.terraform_version?;
    let is_file = signs.serial.is_some() || signs.lineage.is_some();
    let is_shown = signs.planned_values.is_some() || signs.values.is_some();
    Some(if is_shown && !is_file { JsonKind::Shown } else { JsonKind::Other })
}

/// Returns how many values JSON has at least, by its commas and opening brackets outside of strings.
fn values(text: &str) -> usize {
    let (mut count, mut is_in_string, mut is_escaped) = (1, false, false);
    for byte in text.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = is_in_string,
            b'"' => is_in_string = !is_in_string,
            b',' | b'[' | b'{' => count += usize::from(!is_in_string),
            _ => {}
        }
    }
    count
}

impl Plan {
    pub(super) fn parse(text: &str) -> serde_json::Result<Self> {
        if values(text) > MOST_VALUES {
            return Err(Error::custom(format!("more than {MOST_VALUES} values")));
        }
        let document: Document<'_> = serde_json::from_str(text)?;
        let unknowns: HashMap<&str, &RawValue> = document
            .resource_changes
            .iter()
            .filter_map(|it| Some((it.address.as_ref(), it.change.as_ref()?.after_unknown?)))
            .collect();
        let variables = document.variables.into_iter().map(|(name, given)| (name, given.value)).collect();
        let lacks = match (document.errored, document.complete) {
            (true, _) => Some("`terraform plan` ended with an error: correct it and plan again"),
            (false, Some(false)) => {
                Some("it was made with -target or has deferred changes: plan again without them")
            }
            (false, _) => None,
        };
        let mut plan = Self { configuration: document.configuration, variables, lacks, ..Self::default() };
        let planned = document.planned_values.or(document.values).and_then(|values| values.root_module);
        // Values that data sources read are in the state, unless they are read after apply.
        let prior = document.prior_state.and_then(|state| state.values?.root_module);
        for (module, data_only) in planned.map(|it| (it, false)).into_iter().chain(prior.map(|it| (it, true)))
        {
            plan.add_module(module, &unknowns, data_only)?;
        }
        Ok(plan)
    }

    fn add_module(
        &mut self,
        module: Resources<'_>,
        unknowns: &HashMap<&str, &RawValue>,
        data_only: bool,
    ) -> serde_json::Result<()> {
        let Resources { address: module, resources, child_modules } = module;
        if !module.is_empty() {
            self.modules.insert(module.clone());
        }
        for resource in resources {
            let is_data = resource.mode == "data";
            let (base, key) = split_key(&resource.address);
            if data_only && !is_data {
                continue;
            }
            self.by_address.entry(base.to_owned()).or_default().push(self.instances.len());
            let name = base.strip_prefix(&module).unwrap_or(base).trim_start_matches('.').to_owned();
            let mut instance = Instance {
                key: key.map(str::to_owned),
                kind: resource.r#type.into_owned(),
                is_data,
                name,
                module: module.clone(),
                ..Instance::default()
            };
            let names_a_queue = |raw: &RawValue| SIGNS.iter().any(|sign| raw.get().contains(sign));
            let is_read = READ.iter().any(|prefix| instance.kind.starts_with(prefix));
            let json = |raw: &RawValue| serde_json::from_str(raw.get());
            if is_read || resource.values.is_some_and(names_a_queue) {
                instance.values = resource.values.map(json).transpose()?.unwrap_or_default();
            }
            let unknown = unknowns.get(resource.address.as_ref());
            instance.unknown = unknown.map(|raw| json(raw)).transpose()?.unwrap_or_default();
            instance.address = resource.address.into_owned();
            self.instances.push(instance);
        }
        child_modules.into_iter().try_for_each(|child| self.add_module(child, unknowns, data_only))
    }

    /// Returns the instances of a resource by its address, without a key.
    pub(super) fn instances_of(&self, address: &str) -> impl Iterator<Item = &Instance> {
        let all = self.by_address.get(address).into_iter().flatten();
        all.map(|instance| &self.instances[*instance])
    }

    /// Returns the module at an address as it is written.
    pub(super) fn module(&self, address: &str) -> Option<&Module> {
        let mut module = &self.configuration.as_ref()?.root_module;
        for name in module_names(address) {
            module = &module.module_calls.get(name)?.module;
        }
        Some(module)
    }
}

/// Returns `a` and `b` for `module.a["x"].module.b`.
fn module_names(address: &str) -> impl Iterator<Item = &str> {
    let names = steps(address).into_iter().filter_map(|step| match step {
        Step::Name(name) => Some(name),
        Step::Key(_) => None,
    });
    names.skip(1).step_by(2)
}

impl Instance {
    /// Returns an attribute that is known.
    pub(super) fn text(&self, attribute: &str) -> Option<&str> {
        self.values.get(attribute)?.as_str().filter(|text| !text.is_empty())
    }
}

/// The root module, and how its providers are set up.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Configuration {
    #[serde(default)]
    pub(super) provider_config: BTreeMap<String, Provider>,
    #[serde(default)]
    pub(super) root_module: Module,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Provider {
    #[serde(default)]
    pub(super) expressions: Json,
}

/// A module as it is written.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Module {
    #[serde(default, deserialize_with = "by_address")]
    resources: HashMap<String, Written>,
    #[serde(default)]
    pub(super) module_calls: BTreeMap<String, Call>,
    #[serde(default)]
    pub(super) outputs: BTreeMap<String, Output>,
    #[serde(default)]
    pub(super) variables: BTreeMap<String, Variable>,
}

/// A resource as it is written.
#[derive(Debug, Deserialize)]
pub(super) struct Written {
    address: String,
    #[serde(default)]
    pub(super) expressions: Json,
    #[serde(default)]
    pub(super) for_each_expression: Json,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Call {
    #[serde(default)]
    pub(super) expressions: Json,
    #[serde(default)]
    pub(super) for_each_expression: Json,
    #[serde(default)]
    pub(super) module: Module,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Output {
    #[serde(default)]
    pub(super) expression: Json,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Variable {
    #[serde(default)]
    pub(super) default: Json,
}

fn by_address<'de, D: Deserializer<'de>>(resources: D) -> Result<HashMap<String, Written>, D::Error> {
    let written = Vec::<Written>::deserialize(resources)?;
    Ok(written.into_iter().map(|resource| (resource.address.clone(), resource)).collect())
}

impl Module {
    pub(super) fn resource(&self, name: &str) -> Option<&Written> {
        self.resources.get(name)
    }
}
