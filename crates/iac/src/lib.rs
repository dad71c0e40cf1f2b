//! Resolves SAM and CloudFormation templates, and reads consumers from templates, Terraform's plans and Kubernetes manifests. Pure.
//!
//! `yaml` reads YAML or JSON into `document`, and `resolve` evaluates parameters, conditions and functions. What it cannot evaluate stays
//! in place as unknown, with the reason. [`deployment`] reads values from the result, and a command reports a value that it misses.
//!
//! For the command `redrive` alone: this API may change at any time.

// `deployment/template` reads templates, `deployment/terraform` turns a plan into a template, `deployment/kubernetes` reads manifests.

#![expect(
    missing_docs,
    missing_debug_implementations,
    clippy::must_use_candidate,
    reason = "for the command alone"
)]

mod comments;
mod document;
pub mod nearest;
mod parameters;
mod resolve;
pub mod scalar;
pub mod deployment;
mod yaml;
#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod properties;

pub use comments::{Comment, comments};
pub use document::{Node, TemplateError, Value};
pub use parameters::is_pseudo;
pub(crate) use resolve::{ACCOUNT, REGION, TRANSFORM, partition_of};
pub use resolve::{
    Absent, DeployedResource, Doubtful, Gaps, Output, Property, Resolver, Resource, Surroundings, Varying,
};
pub(crate) use yaml::parse_stream;
pub use yaml::{parse, read};
