//! `redrive dlq delete`: letters that nobody needs.

use anyhow::anyhow;
use clap::Args;

use super::condition;
use super::select::Chosen;
use crate::ask::Consent;
use crate::find::Which;
use crate::flags::Output;
use crate::letters::{Job, Operation, run as run_job};
use crate::problem::{OrProblem, Problem};

/// Deletes letters for good.
#[derive(Debug, Args)]
#[command(mut_arg("json", |json| json.help("Print a JSON object for each letter, and one for the totals")), after_help = format!("\
Examples:
  redrive dlq delete --stack shop --where 'body.test = true' --dry-run
      shows what would be deleted
  redrive dlq list --queue orders --json | jq -c 'select(.reason == \"malformed\")' | redrive dlq delete --queue orders --ids - --yes
      the letters that a program selected
  redrive dlq export --queue orders kept.jsonl && redrive dlq delete --queue orders --all
      all letters present at the start, one by one; purge also deletes those that arrive meanwhile

{}

Exit codes: 0 done, 1 some could not be deleted or were not found, 2 wrong usage or input, 130 interrupted.", condition::HELP))]
pub(crate) struct Arguments {
    #[command(flatten)]
    chosen: Chosen,

    /// All letters, instead of --where or --ids
    #[arg(long, conflicts_with_all = ["conditions", "ids"])]
    all: bool,

    #[command(flatten)]
    consent: Consent,

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
        return Err(Problem::Input(anyhow!("which letters? Give --where, --ids or --all")));
    }
    let (aws, pair) = arguments.which.find().await?;
    let from = pair.dead().or_input()?.clone();
    let Which { queue, dead_letter_queue, .. } = &arguments.which;
    let name = from.name_in_question(&[queue, dead_letter_queue], &from);
    let question = format!("delete {} {} letters in {name}", selection.share(), from.visible());
    arguments.consent.confirm(&question, "They cannot be brought back.", "nothing was deleted")?;
    let job = Job {
        operation: Operation::Delete,
        from,
        route: None,
        decider: None,
        selection,
        origin_senders: None,
        max_receive_count: pair.max_receive_count(),
        rate: None,
        dry_run: arguments.consent.dry.run,
        json: arguments.output.json,
    };
    run_job(&aws, &job).await
}
