//! `redrive doctor`.

use clap::Args;

use crate::problem::Problem;

/// Finds every known way to lose or delay messages, in a template or a stack.
#[derive(Debug, Args)]
pub(crate) struct Arguments {}

pub(crate) fn run(_arguments: &Arguments) -> Result<(), Problem> {
    Ok(())
}
