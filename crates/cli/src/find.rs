//! Finds a queue by its name, its stack, or the function that it feeds.

mod all;
mod mappings;
mod queue;
mod source;
pub(crate) mod stack;
mod typed;

use anyhow::{Context, anyhow, bail};
use clap::Args;
use redrive_sqs::{Address, queue_name};

use crate::aws::{Aws, DescribeError, Place};
use crate::problem::{OrProblem, Problem};
pub(crate) use all::WhichOrAll;
pub(crate) use mappings::{Of, mappings};
pub(crate) use queue::{Queue, queue_address};
pub(crate) use redrive_iac::deployment::function_name;
pub(crate) use source::WhichSource;
pub(crate) use stack::StackOutputs;

/// What was typed.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Queue")]
// The members are named, since the derive names none of a struct with something flattened into it.
#[group(required = true, multiple = true, args = ["queue", "stack", "function", "dead_letter_queue"])]
pub(crate) struct Which {
    /// Queue by name, URL or ARN: the one that feeds the function, or its dead-letter queue
    #[arg(long, value_name = "QUEUE", value_parser = queue_address, conflicts_with_all = ["stack", "function"])]
    pub(crate) queue: Option<String>,

    /// Queue of a CloudFormation stack: the one in its output QueueUrl, else the one that feeds its function
    #[arg(long, value_name = "NAME", conflicts_with = "function")]
    pub(crate) stack: Option<String>,

    /// Queue that feeds a Lambda function
    #[arg(long, value_name = "NAME")]
    pub(crate) function: Option<String>,

    /// Dead-letter queue by name, URL or ARN, if the redrive policy does not name it
    #[arg(long, value_name = "QUEUE", value_parser = queue_address)]
    pub(crate) dead_letter_queue: Option<String>,

    #[command(flatten)]
    pub(crate) place: Place,
}

/// A queue and its dead-letter queue, as far as they are known.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pair {
    /// The queue that feeds the function.
    pub(crate) source: Option<Queue>,
    /// Its dead-letter queue.
    pub(crate) dead: Option<Queue>,
    /// Outputs of the stack.
    pub(crate) stack: Option<StackOutputs>,
    function: Option<String>,
    /// Reason why the dead-letter queue in the redrive policy could not be read.
    not_read: Option<String>,
    /// Queues that share the dead-letter queue, if there are several and none was named.
    shared_by: Vec<String>,
    /// Reason why the source of the dead-letter queue is unknown.
    no_source: Option<String>,
}

/// Queues that use a dead-letter queue.
enum Sources {
    One(Queue),
    /// Names of several.
    Several(Vec<String>),
    /// They are unknown, for this reason.
    Unknown(String),
}

impl Which {
    /// Returns the flags as typed, for another verb.
    pub(crate) fn typed(&self) -> String {
        let Self { queue, stack, function, dead_letter_queue, place } = self;
        let which = [
            ("queue", queue),
            ("stack", stack),
            ("function", function),
            ("dead-letter-queue", dead_letter_queue),
        ];
        typed::typed(which, place)
    }

    /// Connects to AWS and looks the queues up.
    ///
    /// # Errors
    /// AWS cannot be reached. The queue, stack or function does not exist. Several queues feed the function. Permission is missing.
    pub(crate) async fn find(&self) -> Result<(Aws, Pair), Problem> {
        let aws = self.connect().await?;
        let pair = self.find_with(&aws).await.or_failed()?;
        Ok((aws, pair))
    }

    /// # Errors
    /// There is no region, or there are no credentials.
    pub(crate) async fn connect(&self) -> Result<Aws, Problem> {
        Aws::connect(&place_of(&self.place, [&self.queue, &self.dead_letter_queue])).await.or_input()
    }

    /// Looks the queues up.
    ///
    /// # Errors
    /// The queue, stack or function does not exist, several queues feed the function, or permission is missing.
    pub(crate) async fn find_with(&self, aws: &Aws) -> anyhow::Result<Pair> {
        let mut pair = match (&self.queue, &self.stack, &self.function) {
            (Some(queue), _, _) => of_queue(aws, queue).await?,
            (None, Some(name), _) => stack::pair(aws, name).await?,
            (None, None, Some(name)) => {
                let pair = Pair::of_source(aws, of_function(aws, name).await?).await;
                Pair { function: Some(function_name(name).to_owned()), ..pair }
            }
            (None, None, None) => Pair::default(),
        };
        if let Some(dead) = &self.dead_letter_queue {
            let dead = Queue::find(aws, dead).await?;
            if pair.source.as_ref().is_some_and(|source| source.arn == dead.arn) {
                bail!("{} cannot be its own dead-letter queue", dead.name());
            }
            if pair.source.is_none() {
                match sources_of(aws, &dead).await? {
                    Sources::One(source) => pair.source = Some(source),
                    Sources::Several(names) => pair.shared_by = names,
                    Sources::Unknown(why) => pair.no_source = Some(why),
                }
            }
            (pair.dead, pair.not_read) = (Some(dead), None);
        }
        Ok(pair)
    }
}

/// Adds the region of the first queue whose URL or ARN has one, if the settings have none.
fn place_of<const N: usize>(place: &Place, queues: [&Option<String>; N]) -> Place {
    let mut said = queues.into_iter().flatten().filter_map(|queue| Address::parse(queue).ok()?.region());
    Place { otherwise: said.next().map(str::to_ascii_lowercase), ..place.clone() }
}

impl Pair {
    /// Returns a queue with the dead-letter queue of its redrive policy.
    async fn of_source(aws: &Aws, source: Queue) -> Self {
        let (dead, not_read) = match source.redrive_policy() {
            Some(policy) => match Queue::find(aws, &policy.dead_letter_target_arn).await {
                Ok(dead) => (Some(dead), None),
                Err(error) => (None, Some(format!("{error:#}"))),
            },
            None => (None, None),
        };
        Self { source: Some(source), dead, not_read, ..Self::default() }
    }

    /// Returns the reason why the dead-letter queue in the redrive policy could not be read.
    pub(crate) fn not_read(&self) -> Option<&str> {
        self.not_read.as_deref()
    }

    /// Reads the attributes of both queues again.
    ///
    /// # Errors
    /// One of them is gone, or permission is missing.
    pub(crate) async fn refresh(&self, aws: &Aws) -> anyhow::Result<Self> {
        let mut pair = self.clone();
        if let Some(source) = &self.source {
            pair.source = Some(source.refresh(aws).await?);
        }
        if let Some(dead) = &self.dead {
            pair.dead = Some(dead.refresh(aws).await?);
        }
        Ok(pair)
    }

    /// Returns the queue that feeds the function.
    ///
    /// # Errors
    /// Only a dead-letter queue was given, and its source is unknown, or it has several.
    pub(crate) fn source(&self) -> anyhow::Result<&Queue> {
        self.source.as_ref().with_context(|| match &self.dead {
            Some(dead) if self.is_shared() => {
                let which: Vec<_> = self.shared_by.iter().map(|name| format!("--queue {name}")).collect();
                let queues = self.shared_by.join(" and ");
                format!("{} is the dead-letter queue of {queues}: pass {}", dead.name(), which.join(" or "))
            }
            Some(dead) => {
                let why = self.no_source.as_deref().unwrap_or("no redrive policy names it");
                format!("which queue do the letters in {} come from? {why}: pass --queue", dead.name())
            }
            None => "which queue? Pass --queue, --stack or --function".to_owned(),
        })
    }

    /// Returns true if several queues share the dead-letter queue, and none of them was named.
    pub(crate) fn is_shared(&self) -> bool {
        !self.shared_by.is_empty()
    }

    /// Returns the dead-letter queue.
    ///
    /// # Errors
    /// The queue has no dead-letter queue.
    pub(crate) fn dead(&self) -> anyhow::Result<&Queue> {
        self.dead.as_ref().with_context(|| match (&self.source, &self.not_read) {
            (_, Some(why)) => why.clone(),
            (Some(source), None) => {
                let name = source.name();
                let why = self.no_source.as_deref().map(|why| format!(", and {why}")).unwrap_or_default();
                format!("{name} has no redrive policy{why}: pass --queue and --dead-letter-queue")
            }
            (None, None) => "which dead-letter queue? Pass --dead-letter-queue".to_owned(),
        })
    }

    /// Returns the number of deliveries before SQS moves a message to the dead-letter queue, if it does.
    pub(crate) fn max_receive_count(&self) -> Option<u32> {
        let policy = self.source.as_ref()?.redrive_policy()?;
        let is_here = self.dead.as_ref().is_some_and(|dead| dead.arn == policy.dead_letter_target_arn);
        is_here.then_some(policy.max_receive_count)
    }

    /// Returns the function that the queue feeds, if there is one.
    ///
    /// # Errors
    /// The queue feeds several, or permission is missing.
    pub(crate) async fn function(&self, aws: &Aws) -> anyhow::Result<Option<String>> {
        if self.function.is_some() {
            return Ok(self.function.clone());
        }
        let source = self.source()?;
        let mappings = mappings(aws, Of::Queue(&source.arn)).await?;
        let mut names: Vec<&str> =
            mappings.iter().filter_map(|mapping| mapping.function_arn()).map(function_name).collect();
        names.sort_unstable();
        names.dedup();
        match names.as_slice() {
            [] => Ok(None),
            [name] => Ok(Some((*name).to_owned())),
            several => Err(anyhow!(
                "{} feeds several functions ({}): pass --function",
                source.name(),
                several.join(", ")
            )),
        }
    }
}

async fn of_queue(aws: &Aws, queue: &str) -> anyhow::Result<Pair> {
    let queue = Queue::find(aws, queue).await?;
    if queue.redrive_policy().is_some() {
        return Ok(Pair::of_source(aws, queue).await);
    }
    Ok(match sources_of(aws, &queue).await? {
        Sources::One(source) => Pair { source: Some(source), dead: Some(queue), ..Pair::default() },
        Sources::Several(shared_by) => Pair { dead: Some(queue), shared_by, ..Pair::default() },
        Sources::Unknown(why) => Pair { source: Some(queue), no_source: Some(why), ..Pair::default() },
    })
}

async fn of_function(aws: &Aws, name: &str) -> anyhow::Result<Queue> {
    match feeding(aws, name).await?.as_slice() {
        [] => bail!("no queue feeds the function {name} in {}", aws.here()),
        [arn] => Queue::find(aws, arn).await,
        several => bail!("{name} is fed by several queues ({}): pass --queue", several.join(", ")),
    }
}

/// Returns the ARNs of the queues that feed a function, each once.
async fn feeding(aws: &Aws, function: &str) -> anyhow::Result<Vec<String>> {
    let mappings = mappings(aws, Of::Function(function)).await?;
    let mut arns: Vec<String> = mappings.into_iter().filter_map(|mapping| mapping.event_source_arn).collect();
    arns.sort_unstable();
    arns.dedup();
    Ok(arns)
}

/// Finds the queues that name this one in their redrive policies.
async fn sources_of(aws: &Aws, dead: &Queue) -> anyhow::Result<Sources> {
    let listed = aws.sqs().list_dead_letter_source_queues().queue_url(&dead.url).send().await;
    let doing = format!("list the queues that name {} in their redrive policy", dead.name());
    let listed = match listed.describe_error(&doing, "sqs:ListDeadLetterSourceQueues") {
        Ok(listed) => listed,
        // If both queues were given, the sources are not needed.
        Err(error) => return Ok(Sources::Unknown(error.to_string())),
    };
    Ok(match listed.queue_urls() {
        [] => Sources::Unknown("no queue names it in a redrive policy".to_owned()),
        [url] => Sources::One(Queue::find(aws, url).await?),
        several => Sources::Several(several.iter().map(|url| queue_name(url).to_owned()).collect()),
    })
}
