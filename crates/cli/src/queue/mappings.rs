//! The event source mappings of a queue or a function, from Lambda.

use aws_sdk_lambda::operation::get_event_source_mapping::GetEventSourceMappingOutput;
use aws_sdk_lambda::types::EventSourceMappingConfiguration;
use redrive_sqs::queue_name;
use serde::Serialize;

use crate::aws::{Aws, DescribeError};
use crate::find::{Of, function_name, mappings};

/// An event source mapping.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Mapping {
    pub(super) uuid: String,
    pub(super) function: String,
    pub(super) queue_arn: String,
    /// State such as `Enabled` or `Disabling`.
    /// <https://docs.aws.amazon.com/lambda/latest/api/API_GetEventSourceMapping.html>
    pub(super) state: String,
    pub(super) batch_size: Option<i32>,
    pub(super) maximum_concurrency: Option<i32>,
}

impl Mapping {
    /// Lists the mappings that poll a queue.
    ///
    /// # Errors
    /// The function does not exist, or permission is missing.
    pub(super) async fn list(aws: &Aws, of: Of<'_>) -> anyhow::Result<Vec<Self>> {
        Ok(mappings(aws, of).await?.into_iter().map(Self::from).collect())
    }

    /// Reads the state again.
    ///
    /// # Errors
    /// The mapping is gone, or permission is missing.
    pub(super) async fn refresh(&self, aws: &Aws) -> anyhow::Result<Self> {
        let read = aws.lambda().get_event_source_mapping().uuid(&self.uuid).send().await;
        let doing = format!("read the event source mapping {}", self.uuid);
        let read: GetEventSourceMappingOutput =
            read.describe_error(&doing, "lambda:GetEventSourceMapping")?;
        Ok(Self { state: read.state.unwrap_or_default(), ..self.clone() })
    }

    /// Returns the queue's name.
    pub(super) fn queue(&self) -> &str {
        queue_name(&self.queue_arn)
    }
}

impl From<EventSourceMappingConfiguration> for Mapping {
    fn from(given: EventSourceMappingConfiguration) -> Self {
        Self {
            function: function_name(given.function_arn().unwrap_or_default()).to_owned(),
            maximum_concurrency: given.scaling_config().and_then(|scaling| scaling.maximum_concurrency()),
            batch_size: given.batch_size(),
            uuid: given.uuid.unwrap_or_default(),
            queue_arn: given.event_source_arn.unwrap_or_default(),
            state: given.state.unwrap_or_default(),
        }
    }
}
