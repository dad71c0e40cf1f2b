//! Starts the runtime for futures.

use anyhow::Context;

use crate::problem::{OrProblem, Problem};

/// Runs a verb to its end.
pub(crate) fn wait<T>(work: impl Future<Output = Result<T, Problem>>) -> Result<T, Problem> {
    let runtime = tokio::runtime::Runtime::new().context("could not start").or_failed()?;
    runtime.block_on(work)
}
