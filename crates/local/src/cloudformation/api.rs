//! The operations of CloudFormation, in the query protocol.

use serde::Deserialize;

use super::{CloudFormation, StackConfig, resources, stacks};
use crate::protocol::{
    AwsError, Query, RequestContext, SERIALIZATION, Service, UNKNOWN_OPERATION, VALIDATION, plain,
};

pub(crate) static SERVICE: Service<CloudFormation> = Service {
    name: "cloudformation",
    operations: &[
        ("DescribeStackResource", resources::describe_one),
        ("DescribeStackResources", resources::describe),
        ("DescribeStacks", stacks::describe),
        ("GetTemplate", stacks::template),
        ("ListStackResources", resources::list),
    ],
    target: None,
    query: Some(Query {
        version: "2010-05-15",
        namespace: "http://cloudformation.amazonaws.com/doc/2010-05-15/",
        flat: false,
        lists: &[],
        maps: &[],
    }),
    routes: &[],
    unknown: (UNKNOWN_OPERATION, "redrive-local does not support the operation {} of CloudFormation"),
    unreadable: (SERIALIZATION, "{}"),
    body: plain,
};

pub(super) type Context<'a> = RequestContext<'a, CloudFormation>;

/// The input of any operation.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Input {
    pub(super) logical_resource_id: Option<String>,
    pub(super) next_token: Option<String>,
    pub(super) physical_resource_id: Option<String>,
    pub(super) stack_name: Option<String>,
    pub(super) template_stage: Option<String>,
}

impl Input {
    /// Returns the stack, which the input must name.
    pub(super) fn stack<'a>(&self, stacks: &'a CloudFormation) -> Result<&'a StackConfig, AwsError> {
        stacks.find(VALIDATION.required(self.stack_name.as_ref(), "stackName")?)
    }
}
