//! `redrive dlq delete`: deletes letters that nobody needs.

use std::path::PathBuf;

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
use crate::letters::{Copies, LetterRun, Work, run as run_job};
use crate::problem::{OrProblem, Problem};
use crate::sqs::Receivable;
use crate::tell::tell;

/// Deletes letters for good.
#[derive(Debug, Args)]
#[command(mut_arg("json", |json| json.help("Print a JSON object for each letter, and one for the totals")), after_help = format!("\
Examples:
  redrive dlq delete --stack shop --where 'body.test = true' --dry-run
      shows what would be deleted
  redrive dlq list --queue orders --json | jq -c 'select(.reason == \"malformed\")' | redrive dlq delete --queue orders --ids - --yes
      deletes the letters that another program selected
  redrive dlq delete --queue orders --all --export kept.jsonl
      deletes all letters present at the start, one by one, each once it is in the file; purge also deletes those that arrive
      meanwhile

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

    /// Write each letter to this new file before it is deleted, as export does; import reads it
    #[arg(long, value_name = "FILE")]
    export: Option<PathBuf>,

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
    let copies = arguments.export.as_deref().map(Copies::to).transpose()?;
    let (aws, pair) = arguments.which.find().await?;
    let from = pair.dead().or_input()?.clone();
    arguments.account.check(&aws, &from, arguments.consent)?;
    let from = Receivable::ask(from, arguments.consent.sure)?;
    let job = LetterRun {
        work: Work::Delete(copies),
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
        send_again: false,
        json: arguments.output.json,
    };
    let question = |letters: &str, which: &str| format!("delete {letters}{which}");
    let consequence = ["This cannot be undone.", "nothing was deleted"];
    match confirm(&aws, &job, arguments.consent, question, consequence).await? {
        true => {
            let ended = run_job(&aws, &job).await;
            if let Work::Delete(Some(copies)) = &job.work
                && let Some(file) = copies.written()
            {
                let (name, queue) = (file.display(), job.from.name());
                match ended.is_ok() {
                    true => {
                        tell(format_args!(
                            "redrive: {name} has the letters; dlq import sends them to {queue} again"
                        ));
                    }
                    false => tell(format_args!(
                        "redrive: {name} may also have letters that are still in {queue}; dlq import would send these a second time"
                    )),
                }
            }
            ended
        }
        false => Ok(()),
    }
}
