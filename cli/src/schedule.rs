//! `redrive schedule`.

use clap::Args;

use crate::problem::Problem;

/// Shows when each retry comes, and when a message is dead or expired.
#[derive(Debug, Args)]
pub(crate) struct Arguments {}

pub(crate) fn run(_arguments: &Arguments) -> Result<(), Problem> {
    Ok(())
}
