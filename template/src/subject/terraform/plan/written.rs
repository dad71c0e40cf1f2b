//! A configuration as a plan repeats it: what each attribute is written as.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Deserializer};
use serde_json::Value as Json;

/// The root module, and how its providers are set up.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Configuration {
    #[serde(default)]
    pub(crate) provider_config: BTreeMap<String, Provider>,
    #[serde(default)]
    pub(crate) root_module: Module,
}

#[derive(Debug, Default, Deserialize)]
pub(crate) struct Provider {
    #[serde(default)]
    pub(crate) expressions: Json,
}

/// A module as it is written.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Module {
    #[serde(default, deserialize_with = "by_address")]
    resources: HashMap<String, Written>,
    #[serde(default)]
    pub(crate) module_calls: BTreeMap<String, Call>,
    #[serde(default)]
    pub(crate) outputs: BTreeMap<String, Output>,
    #[serde(default)]
    pub(crate) variables: BTreeMap<String, Variable>,
}

/// A resource as it is written.
#[derive(Debug, Deserialize)]
pub(crate) struct Written {
    address: String,
    #[serde(default)]
    pub(crate) expressions: Json,
    #[serde(default)]
    pub(crate) for_each_expression: Json,
}

#[derive(Debug, Default, Deserialize)]
pub(crate) struct Call {
    #[serde(default)]
    pub(crate) expressions: Json,
    #[serde(default)]
    pub(crate) for_each_expression: Json,
    #[serde(default)]
    pub(crate) module: Module,
}

#[derive(Debug, Default, Deserialize)]
pub(crate) struct Output {
    #[serde(default)]
    pub(crate) expression: Json,
}

#[derive(Debug, Default, Deserialize)]
pub(crate) struct Variable {
    #[serde(default)]
    pub(crate) default: Json,
}

fn by_address<'de, D: Deserializer<'de>>(resources: D) -> Result<HashMap<String, Written>, D::Error> {
    let written = Vec::<Written>::deserialize(resources)?;
    Ok(written.into_iter().map(|resource| (resource.address.clone(), resource)).collect())
}

impl Module {
    pub(crate) fn resource(&self, name: &str) -> Option<&Written> {
        self.resources.get(name)
    }
}
