//! What the requests of all operations have in common.

use serde::Deserialize;

use super::{CloudFormation, StackConfig};
use crate::protocol::{AwsError, RequestContext, VALIDATION};

pub(super) type Context<'a> = RequestContext<'a, CloudFormation>;

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
    /// The stack that must be named.
    pub(super) fn stack<'a>(&self, stacks: &'a CloudFormation) -> Result<&'a StackConfig, AwsError> {
        stacks.find(VALIDATION.required(self.stack_name.as_ref(), "stackName")?)
    }
}
