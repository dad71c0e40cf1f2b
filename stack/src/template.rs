//! SAM and CloudFormation templates with their parameters, conditions and functions worked out. Pure.
//!
//! `yaml` reads YAML or JSON into `document`, `resolve` works out what it says. What cannot be worked out stays in its place as
//! unknown, with the reason: `subject` reads values from that, and a command that needs a missing one says so.

mod comments;
mod document;
mod parameters;
mod resolve;
pub(crate) mod scalar;
mod yaml;

pub use comments::{Comment, comments};
pub(crate) use document::Value;
pub use document::{Node, TemplateError};
pub(crate) use resolve::{ACCOUNT, REGION};
pub use resolve::{Absent, Doubtful, Gaps, Property, Resolver, Resource, Surroundings, Varying};
pub use yaml::parse;
pub(crate) use yaml::{parse_stream, read};
