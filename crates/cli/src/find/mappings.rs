//! The event source mappings of queues, as Lambda lists them.

use aws_sdk_lambda::types::EventSourceMappingConfiguration;
use redrive_sqs::queue_name;

use crate::aws::{Aws, DescribeError};

/// Whose mappings.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Of<'a> {
    /// The ARN of a queue.
    Queue(&'a str),
    Function(&'a str),
}

/// All mappings that poll a queue.
///
/// # Errors
/// No such function; no permission.
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
