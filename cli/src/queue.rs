//! `redrive queue`.

use clap::Args;

use crate::problem::Problem;

/// Looks after a queue, its dead-letter queue and its mapping.
#[derive(Debug, Args)]
pub(crate) struct Arguments {}

pub(crate) fn run(_arguments: &Arguments) -> Result<(), Problem> {
    Ok(())
}
