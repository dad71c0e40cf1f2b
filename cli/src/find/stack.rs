//! What a stack says of itself in its outputs.

use anyhow::Context;

use crate::aws::{Aws, DescribeError};

/// The outputs that `template.yaml` has, each none if the stack does not have it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct StackOutputs {
    /// The stack's name.
    pub(crate) name: String,
    pub(crate) queue_url: Option<String>,
    pub(crate) dead_letter_queue_url: Option<String>,
    pub(crate) function_name: Option<String>,
    pub(crate) log_group_name: Option<String>,
}

impl StackOutputs {
    /// Asks CloudFormation.
    ///
    /// # Errors
    /// No such stack; no permission.
    pub(crate) async fn read(aws: &Aws, name: &str) -> anyhow::Result<Self> {
        let described = aws.cloudformation().describe_stacks().stack_name(name).send().await;
        let described =
            described.describe_error(&format!("read the stack {name}"), "cloudformation:DescribeStacks")?;
        let stack = described.stacks().first().with_context(|| format!("there is no stack {name}"))?;
        let output = |key: &str| {
            let found = stack.outputs().iter().find(|output| output.output_key() == Some(key));
            found.and_then(|output| output.output_value()).map(str::to_owned)
        };
        Ok(Self {
            name: name.to_owned(),
            queue_url: output("QueueUrl"),
            dead_letter_queue_url: output("DeadLetterQueueUrl"),
            function_name: output("FunctionName"),
            log_group_name: output("LogGroupName"),
        })
    }
}
