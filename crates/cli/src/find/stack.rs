//! Finds the queues of a stack by its outputs, else by its resources.

use anyhow::{Context, bail};
use aws_sdk_cloudformation::types::{Stack, StackResourceSummary};
use redrive_sqs::queue_name;

use super::{Pair, Queue, feeding};
use crate::aws::{Aws, DescribeError};

/// The outputs of `template.yaml`, each none if the stack lacks it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct StackOutputs {
    /// Name of the stack.
    pub(crate) name: String,
    pub(crate) queue_url: Option<String>,
    pub(crate) dead_letter_queue_url: Option<String>,
    pub(crate) function_name: Option<String>,
    pub(crate) log_group_name: Option<String>,
}

impl StackOutputs {
    /// Reads them from CloudFormation.
    ///
    /// # Errors
    /// The stack does not exist, or permission is missing.
    pub(crate) async fn read(aws: &Aws, name: &str) -> anyhow::Result<Self> {
        let stack = described(aws, name).await?;
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

/// Finds the queue of a stack, and the dead-letter queue of its outputs, else of its redrive policy.
///
/// # Errors
/// The stack does not exist, has no queue or several, or permission is missing.
pub(super) async fn pair(aws: &Aws, name: &str) -> anyhow::Result<Pair> {
    let outputs = StackOutputs::read(aws, name).await?;
    let mut pair = Pair::of_source(aws, source_in(aws, &outputs).await?).await;
    if let Some(url) = &outputs.dead_letter_queue_url {
        (pair.dead, pair.not_read) = (Some(Queue::find(aws, url).await?), None);
    }
    pair.function = outputs.function_name.clone();
    pair.stack = Some(outputs);
    Ok(pair)
}

/// Finds the queue of a stack: the one in its output, else the one that feeds its function, else its only one. A dead-letter
/// queue of the stack does not count, even if it feeds a function too.
///
/// # Errors
/// The stack has no queue or several, or permission is missing.
pub(super) async fn source_in(aws: &Aws, outputs: &StackOutputs) -> anyhow::Result<Queue> {
    if let Some(url) = &outputs.queue_url {
        return Queue::find(aws, url).await;
    }
    let name = &outputs.name;
    let resources = resources(aws, name).await.with_context(|| {
        format!("the stack {name} has no output QueueUrl: pass --queue or --function instead of --stack")
    })?;
    let of_kind = |kind: &'static str| {
        let of_kind = resources.iter().filter(move |resource| resource.resource_type() == Some(kind));
        of_kind.filter_map(|resource| resource.physical_resource_id().map(str::to_owned))
    };
    let mut fed = Vec::new();
    for function in of_kind("AWS::Lambda::Function") {
        fed.extend(feeding(aws, &function).await?);
    }
    let candidates = if fed.is_empty() { of_kind("AWS::SQS::Queue").collect() } else { fed };
    let mut queues: Vec<Queue> = Vec::new();
    for candidate in candidates {
        let queue = Queue::find(aws, &candidate).await?;
        if queues.iter().all(|known| known.arn != queue.arn) {
            queues.push(queue);
        }
    }
    let targets: Vec<String> =
        queues.iter().filter_map(|queue| Some(queue.redrive_policy()?.dead_letter_target_arn)).collect();
    queues.retain(|queue| !targets.contains(&queue.arn));
    if queues.len() > 1 {
        let names: Vec<_> = queues.iter().map(|queue| queue_name(&queue.url)).collect();
        bail!("the stack {name} has several queues ({}): pass --queue", names.join(", "));
    }
    queues.pop().with_context(|| format!("the stack {name} has no queue: pass --queue or --function"))
}

/// # Errors
/// The stack does not exist, or permission is missing.
pub(crate) async fn described(aws: &Aws, name: &str) -> anyhow::Result<Stack> {
    let described = aws.cloudformation().describe_stacks().stack_name(name).send().await;
    let doing = format!("read the stack {name}");
    let described = described.describe_error_in(&aws.here(), &doing, "cloudformation:DescribeStacks")?;
    let mut stacks = described.stacks.unwrap_or_default().into_iter();
    stacks.next().with_context(|| format!("there is no stack {name}"))
}

/// Lists all resources of a stack.
///
/// # Errors
/// Permission is missing.
pub(crate) async fn resources(aws: &Aws, stack: &str) -> anyhow::Result<Vec<StackResourceSummary>> {
    let request = aws.cloudformation().list_stack_resources().stack_name(stack);
    let listed = request.into_paginator().items().send().collect::<Result<Vec<_>, _>>().await;
    listed.describe_error(&format!("list the resources of {stack}"), "cloudformation:ListStackResources")
}
