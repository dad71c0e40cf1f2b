//! `redrive queue attach`: sets the dead-letter queue of a queue in use.

mod create;
mod plan;

use std::collections::HashMap;

use aws_sdk_sqs::types::QueueAttributeName;
use clap::Args;
use redrive_sqs::MAX_RECEIVE_COUNT;
use serde_json::json;

use crate::ask::Consent;
use crate::aws::{Aws, DescribeError};
use crate::find::{Queue, WhichSource, queue_address};
use crate::problem::{OrProblem, Problem};
use crate::tell::{print_line, tell};
use crate::wait::wait;
use plan::{Change, Dead, Wanted};

/// Time for a change to take effect.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SetQueueAttributes.html>
pub(super) const SETTLES: &str = "it takes SQS up to 60 s to apply this everywhere";

/// Sets a queue's dead-letter queue and maximum receive count.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  redrive queue attach --queue orders
      moves messages to orders-dead after 10 receives, and creates orders-dead if it does not exist
  redrive queue attach --stack shop --max-receive-count 5 --dry-run
  redrive queue attach --queue orders.fifo --dead-letter-queue failed.fifo --yes

Values that you do not pass stay as they are: a queue with a redrive policy keeps its dead-letter queue and count. A new
dead-letter queue gets the queue's type and KMS key, a retention period of 14 days, and a redrive allow policy that names
the queue, so no other queue can use it. Messages in both queues stay where they are. If you lower the count, messages that
were already received that often move at their next receive.

If a stack owns the queue, change its template too: its next deployment may reset the queue.

Exit codes: 0 done, 1 failed or not confirmed, 2 wrong usage or input.")]
pub(crate) struct Arguments {
    /// Dead-letter queue by name, URL or ARN; created if it does not exist [default: the current one, else QUEUE-dead]
    #[arg(long, value_name = "QUEUE", value_parser = queue_address)]
    dead_letter_queue: Option<String>,

    /// Receives after which a message is dead-lettered, 1 to 1000 [default: the current count, else 10]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(i64::from(*MAX_RECEIVE_COUNT.start())..=i64::from(*MAX_RECEIVE_COUNT.end())))]
    max_receive_count: Option<u32>,

    #[command(flatten)]
    consent: Consent,

    #[command(flatten)]
    which: WhichSource,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Problem> {
    wait(async {
        let (aws, source) = arguments.which.find().await?;
        let wanted =
            Wanted::new(&source, arguments.dead_letter_queue.as_deref(), arguments.max_receive_count)
                .or_input()?;
        let dead = match Queue::find_if_exists(&aws, &wanted.dead_letter_queue).await.or_failed()? {
            Some(queue) => Dead::Is(queue),
            None => Dead::Missing(wanted.dead_letter_queue.clone()),
        };
        let change = Change::new(&source, &dead, wanted.max_receive_count).or_input()?;
        let warnings = warnings(&aws, &source, &change).await;
        carry_out(&aws, &source, dead, &change, &warnings, arguments).await
    })
}

async fn carry_out(
    aws: &Aws,
    source: &Queue,
    dead: Dead,
    change: &Change,
    warnings: &[String],
    arguments: &Arguments,
) -> Result<(), Problem> {
    let (name, target, count) = (source.name(), dead.name().to_owned(), change.max_receive_count);
    if change.is_none {
        return print_line(format!("{name}: no change: after {count} receives messages go to {target}"));
    }
    warnings.iter().for_each(|warning| tell(format_args!("warning: {warning}")));
    let made = if matches!(dead, Dead::Missing(_)) { " (a new queue)" } else { "" };
    if arguments.consent.dry.run {
        return print_line(format!("{name}: after {count} receives messages would go to {target}{made}"));
    }
    let question = format!("move messages of {name} to {target}{made} after {count} receives");
    let consequence = format!("Messages in both queues stay where they are. In {}.", aws.place(&source.arn));
    arguments.consent.confirm(&question, &consequence, "nothing was changed")?;
    let is_new = matches!(dead, Dead::Missing(_));
    let dead = match dead {
        Dead::Is(queue) => queue,
        Dead::Missing(name) => create::create(aws, source, &name).await.or_failed()?,
    };
    let policy = json!({ "deadLetterTargetArn": dead.arn, "maxReceiveCount": count }).to_string();
    set_policy(aws, source, &policy, is_new).await.or_failed()?;
    print_line(format!("{name}: after {count} receives messages go to {target}{made}; {SETTLES}"))
}

/// Sets the redrive policy, or removes it if the text is empty. A queue that was just created may not be known everywhere.
pub(super) async fn set_policy(aws: &Aws, source: &Queue, policy: &str, is_new: bool) -> anyhow::Result<()> {
    let attributes = HashMap::from([(QueueAttributeName::RedrivePolicy, policy.to_owned())]);
    let mut tries = if is_new { create::TRIES } else { 1 };
    loop {
        let request = aws.sqs().set_queue_attributes().queue_url(&source.url);
        let set = request.set_attributes(Some(attributes.clone())).send().await;
        let set = set.describe_error(
            &format!("set the redrive policy of {}", source.name()),
            "sqs:SetQueueAttributes",
        );
        tries -= 1;
        match set {
            Err(error) if tries > 0 && error.to_string().contains("does not exist") => {
                tokio::time::sleep(create::PAUSE).await;
            }
            result => return result.map(|_| ()),
        }
    }
}

/// Adds a warning to the change's own if the queue is a dead-letter queue itself.
async fn warnings(aws: &Aws, source: &Queue, change: &Change) -> Vec<String> {
    let sources = aws.sqs().list_dead_letter_source_queues().queue_url(&source.url).max_results(10).send();
    let mut warnings = change.warnings.clone();
    if let Ok(sources) = sources.await
        && let [first, ..] = sources.queue_urls()
    {
        let first = first.rsplit('/').next().unwrap_or(first);
        warnings.push(format!(
            "chained dead-letter queues: {} is the dead-letter queue of {first}, so letters that are received too often move on",
            source.name()
        ));
    }
    warnings
}
