//! Finds a queue for verbs that need one that feeds a function.

use clap::Args;

use super::stack::source_in;
use super::typed::typed;
use super::{Queue, StackOutputs, of_function, place_of, queue_address};
use crate::aws::{Aws, Place};
use crate::problem::{OrProblem, Problem};

/// What was typed.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Queue")]
#[group(required = true, multiple = false, args = ["queue", "stack", "function"])]
pub(crate) struct WhichSource {
    /// Queue by name, URL or ARN
    #[arg(long, value_name = "QUEUE", value_parser = queue_address)]
    pub(crate) queue: Option<String>,

    /// Queue of a CloudFormation stack: the one in its output QueueUrl, else the one that feeds its function
    #[arg(long, value_name = "NAME")]
    pub(crate) stack: Option<String>,

    /// Queue that feeds a Lambda function
    #[arg(long, value_name = "NAME")]
    pub(crate) function: Option<String>,

    #[command(flatten)]
    pub(crate) place: Place,
}

impl WhichSource {
    /// Returns the flags as typed, for another verb.
    pub(crate) fn typed(&self) -> String {
        let Self { queue, stack, function, place } = self;
        typed([("queue", queue), ("stack", stack), ("function", function)], place)
    }

    /// Connects to AWS and looks the queue up.
    ///
    /// # Errors
    /// AWS cannot be reached. The queue, stack or function does not exist. Several queues feed the function. Permission is missing.
    pub(crate) async fn find(&self) -> Result<(Aws, Queue), Problem> {
        let aws = self.connect().await?;
        let queue = self.find_with(&aws).await.or_failed()?;
        Ok((aws, queue))
    }

    /// # Errors
    /// There is no region, or there are no credentials.
    pub(crate) async fn connect(&self) -> Result<Aws, Problem> {
        Aws::connect(&place_of(&self.place, [&self.queue])).await.or_input()
    }

    /// Looks the queue up. A queue that is given by its name may be a dead-letter queue.
    ///
    /// # Errors
    /// The queue, stack or function does not exist, several queues feed the function, or permission is missing.
    pub(crate) async fn find_with(&self, aws: &Aws) -> anyhow::Result<Queue> {
        match (&self.queue, &self.stack, &self.function) {
            (Some(queue), _, _) => Queue::find(aws, queue).await,
            (None, Some(stack), _) => source_in(aws, &StackOutputs::read(aws, stack).await?).await,
            (None, None, function) => of_function(aws, function.as_deref().unwrap_or_default()).await,
        }
    }
}
