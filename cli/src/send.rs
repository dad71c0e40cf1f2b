//! `redrive send`.

use clap::Args;

use crate::problem::Problem;

/// Sends messages to a queue, from a file or from stdin.
#[derive(Debug, Args)]
pub(crate) struct Arguments {}

pub(crate) fn run(_arguments: &Arguments) -> Result<(), Problem> {
    Ok(())
}
