//! The configuration of a stack.

use std::collections::BTreeMap;

/// The CloudFormation stack from which everything else was created.
#[derive(Debug, Clone, Default)]
pub struct StackConfig {
    /// Its name.
    pub name: String,
    /// The template's text.
    pub template: String,
    /// The values of its parameters.
    pub parameters: BTreeMap<String, String>,
    /// Its outputs, in the template's order.
    pub outputs: Vec<StackOutput>,
    /// Its resources, in the template's order.
    pub resources: Vec<StackResource>,
}

/// An output of a stack.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StackOutput {
    /// Its key.
    pub key: String,
    /// Its value.
    pub value: String,
    /// Its description in the template.
    pub description: Option<String>,
}

/// A resource of a stack.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StackResource {
    /// Its name in the template.
    pub logical_id: String,
    /// Its name on AWS, the value of `Ref`.
    pub physical_id: String,
    /// Its type, such as `AWS::SQS::Queue`.
    pub kind: String,
}
