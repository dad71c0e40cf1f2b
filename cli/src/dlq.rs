//! `redrive dlq`: dead letters in hand.

mod condition;
mod export;
mod harmless;
mod hold;
mod import;
mod letter;
mod limits;
mod line;
mod list;
mod logs;
mod look;
mod pretty;
mod show;
mod tell;
mod when;

use clap::{Args, Subcommand};

use crate::problem::Problem;

/// Looks at dead letters, and sends back, edits or deletes them.
#[derive(Debug, Args)]
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
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Problem> {
    match &arguments.verb {
        Verb::List(arguments) => list::run(arguments),
        Verb::Show(arguments) => show::run(arguments),
        Verb::Export(arguments) => export::run(arguments),
        Verb::Import(arguments) => import::run(arguments),
    }
}
