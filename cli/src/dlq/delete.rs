//! `redrive dlq delete`: letters that nobody needs.

use anyhow::anyhow;
use clap::Args;

use super::condition;
use super::select::Chosen;
use super::sweep::{Doing, Order, Talk, sweep, visible};
use crate::ask::confirm;
use crate::aws::{Aws, Place};
use crate::find::Which;
use crate::problem::{OrProblem, Problem};

/// Deletes letters for good.
#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  redrive dlq delete --stack shop --where 'body.test = true' --dry-run
      shows what would be deleted
  redrive dlq list --queue orders --json | jq -c 'select(.reason == \"malformed\")' | redrive dlq delete --queue orders --ids - --yes
      what a program chose
  redrive dlq export --queue orders kept.jsonl && redrive dlq delete --queue orders --all
      everything that was there at the start, one by one; purge deletes what comes meanwhile too

{}

Exit codes: 0 done, 1 some could not be deleted or were not found, 2 wrong usage or input, 130 interrupted.", condition::HELP))]
pub(crate) struct Arguments {
    #[command(flatten)]
    chosen: Chosen,

    /// All letters, if no others are chosen
    #[arg(long, conflicts_with_all = ["conditions", "ids"])]
    all: bool,

    /// Show what would be deleted
    #[arg(long)]
    dry_run: bool,

    /// Do not ask
    #[arg(long)]
    yes: bool,

    /// Print a JSON object for each letter, and one for the totals
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    which: Which,

    #[command(flatten)]
    place: Place,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Problem> {
    crate::wait::wait(delete(arguments))
}

async fn delete(arguments: &Arguments) -> Result<(), Problem> {
    let selection = arguments.chosen.read()?;
    if selection.is_all() && !arguments.all {
        return Err(Problem::Input(anyhow!("which letters? Give --where, --ids or --all")));
    }
    let aws = Aws::connect(&arguments.place).await.or_input()?;
    let pair = arguments.which.find(&aws).await.or_failed()?;
    let from = pair.dead().or_input()?.clone();
    if !arguments.yes && !arguments.dry_run {
        let upto = selection.most().map(|most| format!("up to {most} of ")).unwrap_or_default();
        let which = if selection.is_all() { "the" } else { "the chosen ones of the" };
        let question = format!("delete {upto}{which} {} letters in {}", visible(&from), from.name());
        confirm(&question, "They cannot be brought back.", "nothing was deleted")?;
    }
    let order = Order {
        from,
        deed: Doing::Delete,
        selection,
        max_receive_count: pair.max_receive_count(),
        rate: None,
        dry_run: arguments.dry_run,
        talk: if arguments.json { Talk::Json } else { Talk::Plain },
    };
    sweep(&aws, &order).await.map(drop)
}
