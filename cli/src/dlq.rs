//! `redrive dlq`.

mod letter;

use clap::Args;

use crate::problem::Problem;

/// Looks at dead letters, and sends back, edits or deletes them.
#[derive(Debug, Args)]
pub(crate) struct Arguments {}

pub(crate) fn run(_arguments: &Arguments) -> Result<(), Problem> {
    Ok(())
}
