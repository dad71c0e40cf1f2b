//! `redrive dlq delete`: letters that nobody needs.

use anyhow::anyhow;
use clap::Args;

use super::condition;
use super::confirm::confirm;
use super::select::{AllowNone, Chosen};
use crate::ask::Consent;
use crate::find::Which;
use crate::flags::{Account, Output};
use crate::history::History;
use crate::journal::Journal;
use crate::letters::{Job, Work, run as run_job};
use crate::problem::{OrProblem, Problem};

/// Deletes letters for good.
#[derive(Debug, Args)]
#[command(mut_arg("json", |json| json.help("Print a JSON object for each letter, and one for the totals")), after_help = format!("\
Examples:
  redrive dlq delete --stack shop --where 'body.test = true' --dry-run
      shows what would be deleted
  redrive dlq list --queue orders --json | jq -c 'select(.reason == \"malformed\")' | redrive dlq delete --queue orders --ids - --yes
      deletes the letters that another program selected
  redrive dlq export --queue orders kept.jsonl && redrive dlq delete --queue orders --all
      deletes all letters present at the start, one by one; purge also deletes those that arrive meanwhile

On AWS itself, --yes also requires --account with the id of the queue's account.

{}

Exit codes: 0 done, 1 some could not be deleted or were not found, 2 wrong usage or input, 3 no letter matches, 130 interrupted.", condition::HELP))]
pub(crate) struct Arguments {
    #[command(flatten)]
    chosen: Chosen,

    #[command(flatten)]
    none: AllowNone,

    /// Delete all letters, instead of those that --where or --ids selects
    #[arg(long, conflicts_with_all = ["conditions", "ids"])]
    all: bool,

    #[command(flatten)]
    consent: Consent,

    #[command(flatten)]
    account: Account,

    #[command(flatten)]
    output: Output,

    #[command(flatten)]
    which: Which,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Problem> {
    crate::wait::wait(delete(arguments))
}

async fn delete(arguments: &Arguments) -> Result<(), Problem> {
    let selection = arguments.chosen.read()?;
    if selection.is_all() && !arguments.all {
        return Err(Problem::Input(anyhow!("which letters? Pass --where, --ids or --all")));
    }
    let (aws, pair) = arguments.which.find().await?;
    let from = pair.dead().or_input()?.clone();
    arguments.account.check(&aws, &from, arguments.consent)?;
    let job = Job {
        work: Work::Delete,
        from,
        selection,
        allow_none: arguments.none.allowed,
        origin_senders: None,
        max_receive_count: pair.max_receive_count(),
        journal: Journal::off(),
        history: History::from_env(&aws).await?,
        verb: "delete",
        sent_back: None,
        rate: None,
        dry_run: arguments.consent.dry.run,
        json: arguments.output.json,
    };
    let question = |letters: &str, which: &str| format!("delete {letters}{which}");
    let consequence = ["This cannot be undone.", "nothing was deleted"];
    match confirm(&aws, &job, arguments.consent, question, consequence).await? {
        true => run_job(&aws, &job).await,
        false => Ok(()),
    }
}
