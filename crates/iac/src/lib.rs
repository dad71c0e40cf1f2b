//! SAM and CloudFormation templates with their parameters, conditions and functions worked out, and consumers as [`subject`]
//! reads them from templates, Terraform's plans and Kubernetes' manifests. Pure.
//!
//! `yaml` reads YAML or JSON into `document`, `resolve` works out what it says. What cannot be worked out stays in its place as
//! unknown, with the reason: `subject` reads values from that, and a command that needs a missing one says so.
//!
//! For the command `redrive` alone: nothing here is kept as it is for others.

// `subject/template` reads templates, `subject/terraform` makes a template of a plan, `subject/kubernetes` reads manifests.

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
pub mod subject;
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
