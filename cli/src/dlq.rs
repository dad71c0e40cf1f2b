//! `redrive dlq`: dead letters in hand.

mod condition;
mod hold;
mod letter;

use clap::{Args, Subcommand};

use crate::problem::Problem;

/// Looks at dead letters, and sends back, edits or deletes them.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Problem> {
    match arguments.verb {}
}
