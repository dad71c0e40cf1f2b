//! `redrive dlq`: the verbs about dead letters.

mod blocking;
mod confirm;
mod delete;
mod export;
mod import;
mod list;
pub(crate) mod logs;
mod pretty;
mod purge;
mod retry;
mod select;
mod show;
mod triage;

use clap::{Args, Subcommand};

pub(crate) use self::import::MORE as MORE_ON_IMPORT;
pub(crate) use self::retry::{MORE as MORE_ON_RETRY, check_document};
pub(crate) use self::triage::MORE as MORE_ON_TRIAGE;

use crate::letters::{condition, letter, line, look, when};
use crate::problem::Problem;

/// Lists, edits, retries and deletes dead letters.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples, in the order of an incident:
  redrive dlq list --stack shop --logs
      shows what failed, how often and why
  redrive dlq show --stack shop ID
      shows one letter with its history
  redrive dlq export --stack shop letters.jsonl
      copies the letters before you change anything
  redrive dlq retry --stack shop --where 'reason = panic' --dry-run
      shows which letters would be sent back; without --dry-run, sends them
  redrive dlq triage --stack shop
      shows letters one by one, with a key for each action")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    List(list::Arguments),
    Show(show::Arguments),
    Export(export::Arguments),
    Import(import::Arguments),
    Triage(triage::Arguments),
    Retry(retry::Arguments),
    Delete(delete::Arguments),
    Purge(purge::Arguments),
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Problem> {
    match &arguments.verb {
        Verb::List(arguments) => list::run(arguments),
        Verb::Show(arguments) => show::run(arguments),
        Verb::Export(arguments) => export::run(arguments),
        Verb::Import(arguments) => import::run(arguments),
        Verb::Triage(arguments) => triage::run(arguments),
        Verb::Retry(arguments) => retry::run(arguments),
        Verb::Delete(arguments) => delete::run(arguments),
        Verb::Purge(arguments) => purge::run(arguments),
    }
}
