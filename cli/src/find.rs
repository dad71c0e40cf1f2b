//! Which queue is meant: by its name, its stack, or the function that it feeds.

mod queue;
mod stack;

use anyhow::{Context, anyhow, bail};
use clap::Args;

use crate::aws::{Aws, Said};
pub(crate) use queue::{Queue, RedrivePolicy};
pub(crate) use stack::StackOutputs;

/// What was typed.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Queue")]
#[group(required = true, multiple = true)]
pub(crate) struct Which {
    /// Queue by name, URL or ARN: the one that feeds the function, or its dead-letter queue
    #[arg(long, value_name = "QUEUE", conflicts_with_all = ["stack", "function"])]
    pub(crate) queue: Option<String>,

    /// Queue of a CloudFormation stack, by the stack's outputs QueueUrl, DeadLetterQueueUrl and FunctionName
    #[arg(long, value_name = "NAME", conflicts_with = "function")]
    pub(crate) stack: Option<String>,

    /// Queue that feeds a Lambda function
    #[arg(long, value_name = "NAME")]
    pub(crate) function: Option<String>,

    /// Dead-letter queue by name, URL or ARN, where the redrive policy does not name it
    #[arg(long, value_name = "QUEUE")]
    pub(crate) dead_letter_queue: Option<String>,
}

/// A queue and its dead-letter queue, as far as they are known.
#[derive(Debug, Clone)]
pub(crate) struct Pair {
    /// The queue that feeds the function.
    pub(crate) source: Option<Queue>,
    /// Where its letters end.
    pub(crate) dead: Option<Queue>,
    /// What else the stack says.
    pub(crate) stack: Option<StackOutputs>,
    function: Option<String>,
}

impl Which {
    /// Looks the queues up.
    ///
    /// # Errors
    /// No such queue, stack or function; a function that is fed by several queues; no permission.
    pub(crate) async fn find(&self, aws: &Aws) -> anyhow::Result<Pair> {
        let mut pair = match (&self.queue, &self.stack, &self.function) {
            (Some(queue), _, _) => of_queue(aws, queue).await?,
            (None, Some(name), _) => of_stack(aws, name).await?,
            (None, None, Some(name)) => of_function(aws, name).await?,
            (None, None, None) => Pair { source: None, dead: None, stack: None, function: None },
        };
        if let Some(dead) = &self.dead_letter_queue {
            let dead = Queue::find(aws, dead).await?;
            if pair.source.as_ref().is_some_and(|source| source.arn == dead.arn) {
                bail!("{} cannot be its own dead-letter queue", dead.name());
            }
            pair.source = match pair.source {
                Some(source) => Some(source),
                None => source_of(aws, &dead).await?,
            };
            pair.dead = Some(dead);
        }
        Ok(pair)
    }
}

impl Pair {
    /// The queue that feeds the function.
    ///
    /// # Errors
    /// Only a dead-letter queue was given, and nothing says which queue it serves.
    pub(crate) fn source(&self) -> anyhow::Result<&Queue> {
        self.source.as_ref().with_context(|| match &self.dead {
            Some(dead) => format!("no queue names {} in its redrive policy: give --queue", dead.name()),
            None => "which queue? Give --queue, --stack or --function".to_owned(),
        })
    }

    /// The dead-letter queue.
    ///
    /// # Errors
    /// The queue has none.
    pub(crate) fn dead(&self) -> anyhow::Result<&Queue> {
        self.dead.as_ref().with_context(|| match &self.source {
            Some(source) => {
                format!("{} has no redrive policy: give --dead-letter-queue", source.name())
            }
            None => "which dead-letter queue? Give --dead-letter-queue".to_owned(),
        })
    }

    /// How often the queue's messages are delivered before SQS moves them to the dead-letter queue, if it does.
    pub(crate) fn max_receive_count(&self) -> Option<u32> {
        let policy = self.source.as_ref()?.redrive_policy()?;
        let is_here = self.dead.as_ref().is_some_and(|dead| dead.arn == policy.dead_letter_target_arn);
        is_here.then_some(policy.max_receive_count)
    }

    /// The function that the queue feeds, if one does.
    ///
    /// # Errors
    /// Several do; no permission.
    pub(crate) async fn function(&self, aws: &Aws) -> anyhow::Result<Option<String>> {
        if self.function.is_some() {
            return Ok(self.function.clone());
        }
        let source = self.source()?;
        let mappings = aws.lambda().list_event_source_mappings().event_source_arn(&source.arn).send().await;
        let mappings = mappings
            .said(
                &format!("look for the function that {} feeds", source.name()),
                "lambda:ListEventSourceMappings",
            )?
            .event_source_mappings
            .unwrap_or_default();
        let mut names: Vec<&str> =
            mappings.iter().filter_map(|mapping| mapping.function_arn()).map(function_name).collect();
        names.dedup();
        match names.as_slice() {
            [] => Ok(None),
            [name] => Ok(Some((*name).to_owned())),
            several => Err(anyhow!(
                "{} feeds several functions ({}): give --function",
                source.name(),
                several.join(", ")
            )),
        }
    }
}

/// The name in `arn:aws:lambda:REGION:ACCOUNT:function:NAME[:VERSION]`, or in a name.
pub(crate) fn function_name(arn: &str) -> &str {
    let name = arn.split_once(":function:").map_or(arn, |(_, name)| name);
    name.split(':').next().unwrap_or(name)
}

async fn of_queue(aws: &Aws, queue: &str) -> anyhow::Result<Pair> {
    let queue = Queue::find(aws, queue).await?;
    if queue.redrive_policy().is_none()
        && let Some(source) = source_of(aws, &queue).await?
    {
        return Ok(Pair { source: Some(source), dead: Some(queue), stack: None, function: None });
    }
    let dead = dead_of(aws, &queue).await?;
    Ok(Pair { source: Some(queue), dead, stack: None, function: None })
}

async fn of_stack(aws: &Aws, name: &str) -> anyhow::Result<Pair> {
    let outputs = StackOutputs::read(aws, name).await?;
    let url = outputs.queue_url.as_deref().with_context(|| {
        format!("the stack {name} has no output QueueUrl: give --queue or --function instead of --stack")
    })?;
    let source = Queue::find(aws, url).await?;
    let dead = match &outputs.dead_letter_queue_url {
        Some(url) => Some(Queue::find(aws, url).await?),
        None => dead_of(aws, &source).await?,
    };
    let function = outputs.function_name.clone();
    Ok(Pair { source: Some(source), dead, stack: Some(outputs), function })
}

async fn of_function(aws: &Aws, name: &str) -> anyhow::Result<Pair> {
    let mappings = aws.lambda().list_event_source_mappings().function_name(name).send().await;
    let mappings = mappings
        .said(&format!("read the event source mappings of {name}"), "lambda:ListEventSourceMappings")?
        .event_source_mappings
        .unwrap_or_default();
    let arns: Vec<&str> = mappings
        .iter()
        .filter_map(|mapping| mapping.event_source_arn())
        .filter(|arn| arn.contains(":sqs:"))
        .collect();
    let source = match arns.as_slice() {
        [] => bail!("no queue feeds the function {name}"),
        [arn] => Queue::find(aws, arn).await?,
        several => bail!("{name} is fed by several queues ({}): give --queue", several.join(", ")),
    };
    let dead = dead_of(aws, &source).await?;
    let function = Some(function_name(name).to_owned());
    Ok(Pair { source: Some(source), dead, stack: None, function })
}

async fn dead_of(aws: &Aws, source: &Queue) -> anyhow::Result<Option<Queue>> {
    match source.redrive_policy() {
        Some(policy) => Ok(Some(Queue::find(aws, &policy.dead_letter_target_arn).await?)),
        None => Ok(None),
    }
}

/// The one queue that names this one in its redrive policy; none if AWS does not say, or names several.
async fn source_of(aws: &Aws, dead: &Queue) -> anyhow::Result<Option<Queue>> {
    let listed = aws.sqs().list_dead_letter_source_queues().queue_url(&dead.url).max_results(2).send().await;
    let Ok(listed) = listed else { return Ok(None) };
    match listed.queue_urls() {
        [url] => Queue::find(aws, url).await.map(Some),
        _ => Ok(None),
    }
}
