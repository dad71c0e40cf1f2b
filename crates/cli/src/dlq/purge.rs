//! `redrive dlq purge`: empties the dead-letter queue.

use anyhow::anyhow;
use clap::Args;

use crate::ask::Consent;
use crate::aws::DescribeError;
use crate::find::{Queue, Which};
use crate::flags::Account;
use crate::history::{History, HistoryAction, UNCONFIRMED};
use crate::problem::{OrProblem, Problem};
use crate::tell::print_line;

/// Empties the dead-letter queue at once, including letters in flight and letters that arrive meanwhile.
// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_PurgeQueue.html
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  redrive dlq purge --queue orders --dry-run
      shows how many letters would be deleted
  redrive dlq purge --queue orders
      asks for the name of the dead-letter queue first

On AWS itself, --yes in a script also requires --account with the id of the queue's account. --endpoint-url,
AWS_ENDPOINT_URL or the profile's endpoint_url selects an emulator instead, on this machine or at a name without a dot.

A purge takes up to 60 s; until then, SQS rejects another one. To select letters, or to keep those that arrive meanwhile,
use dlq delete.

Exit codes: 0 done, 1 failed or not confirmed, 2 wrong usage or input.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    consent: Consent,

    #[command(flatten)]
    account: Account,

    #[command(flatten)]
    which: Which,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Problem> {
    crate::wait::wait(purge(arguments))
}

async fn purge(arguments: &Arguments) -> Result<(), Problem> {
    let (aws, pair) = arguments.which.find().await?;
    let dead = pair.dead().or_input()?;
    let policy = pair.source().ok().and_then(Queue::redrive_policy);
    let is_known = policy.is_some_and(|policy| policy.dead_letter_target_arn == dead.arn);
    if dead.redrive_policy().is_some() && !is_known {
        return Err(Problem::Input(anyhow!(
            "{0} has a redrive policy of its own, so it may be a source queue: delete its letters with \
             redrive dlq delete --dead-letter-queue {0} --all",
            dead.name()
        )));
    }
    arguments.account.check(&aws, dead, arguments.consent)?;
    let history = History::from_env(&aws).await?;
    let letters = dead.counted();
    if arguments.consent.dry.run {
        return print_line(format!("about {letters} letters would be deleted from {}", dead.name()));
    }
    let question = format!("purge {}", dead.name());
    let consequence = format!("This deletes about {letters} letters for good, in {}.", aws.place(&dead.arn));
    arguments.consent.confirm_by_name(&question, &consequence, dead.name(), "nothing was deleted")?;
    let action = HistoryAction { verb: "purge", queue: &dead.arn, ..HistoryAction::default() };
    let began = history.start(&aws, action).await;
    let purged = aws.sqs().purge_queue().queue_url(&dead.url).send().await;
    let purged = purged.describe_error(&format!("purge {}", dead.name()), "sqs:PurgeQueue");
    let end = match &purged {
        Ok(_) => HistoryAction { deleted: letters, ..action },
        Err(_) => HistoryAction { what: Some(UNCONFIRMED), ..action },
    };
    history.record(&aws, HistoryAction { began: began.as_deref(), ..end }).await;
    purged.or_failed()?;
    print_line(format!("about {letters} letters deleted from {}; SQS takes up to 60 s", dead.name()))
}
