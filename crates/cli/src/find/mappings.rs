//! Lists the event source mappings of queues.

use aws_sdk_lambda::types::EventSourceMappingConfiguration;
use redrive_sqs::queue_name;

use crate::aws::{Aws, DescribeError};

/// Owner of the mappings.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Of<'a> {
    /// A queue, by its ARN.
    Queue(&'a str),
    Function(&'a str),
}

/// Lists the mappings of a function or a queue that poll queues.
///
/// # Errors
/// The function does not exist, or permission is missing.
pub(crate) async fn mappings(aws: &Aws, of: Of<'_>) -> anyhow::Result<Vec<EventSourceMappingConfiguration>> {
    let request = aws.lambda().list_event_source_mappings();
    let (request, whose) = match of {
        Of::Queue(arn) => (request.event_source_arn(arn), queue_name(arn)),
        Of::Function(name) => (request.function_name(name), name),
    };
    let listed = request.into_paginator().items().send().collect::<Result<Vec<_>, _>>().await;
    let doing = format!("read the event source mappings of {whose}");
    let mut listed = listed.describe_error_in(&aws.here(), &doing, "lambda:ListEventSourceMappings")?;
    listed.retain(|mapping| mapping.event_source_arn().is_some_and(|arn| arn.contains(":sqs:")));
    Ok(listed)
}
