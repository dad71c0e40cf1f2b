//! For tools that manage redrive's queues, such as the command `redrive`: they predict the function's behavior without running
//! it. A minor version may change this module.

mod exit_meaning;
mod retries;

use std::sync::Arc;
use std::time::SystemTime;

pub use redrive_sqs::origin_of_letter;

use crate::consumer::Consumer;
use crate::error::Error;
pub use crate::failure::ForeignError;
use crate::handler::Handler;
use crate::message::record::Record;
use crate::runners::Input;
pub use crate::settings::{VARIABLES_OF_ONE_QUEUE, variable_of_queue, variables};
pub use crate::telemetry::metrics::metric_names;
pub use crate::tools::exit_meaning::ExitMeaning;
pub use crate::tools::retries::{Retries, Retry};

/// Prepares a consumer for a simulation: it reads variables and the wall clock from these functions. Only
/// [`Consumer::handle`] uses the clock, which must advance with tokio's.
///
/// # Errors
/// A setting is invalid; the error names it, its value and what is allowed.
pub fn simulated<H, M>(
    consumer: Consumer<H, M>,
    variable: impl Fn(&str) -> Option<String>,
    wall_clock: impl Fn() -> SystemTime + Send + Sync + 'static,
) -> Result<Consumer<H, M>, Error> {
    consumer.simulated(variable, Arc::new(wall_clock))
}

/// Works like [`Consumer::work`], but receives messages only after `is_ready` has ended. Meanwhile, it answers probes and
/// handles signals.
///
/// # Errors
/// The errors of [`Consumer::work`], or the error of `is_ready`.
#[cfg(feature = "worker")]
pub fn work_when<H: Handler<M>, M: Input>(
    is_ready: impl Future<Output = Result<(), String>> + Send + 'static,
    consumer: Consumer<H, M>,
    queue_url: impl Into<String>,
) -> impl Future<Output = Result<(), Error>> {
    consumer.work_when(is_ready, queue_url.into())
}

/// Prepares a consumer whose handler works in another process. If that process ends, only its own messages fail, so redrive
/// does not run any message last and alone.
pub fn outlives_handlers<H: Handler<M>, M: Input>(consumer: Consumer<H, M>) -> Consumer<H, M> {
    consumer.outlives_handlers()
}

/// Returns the receipt handle, which distinguishes the deliveries of a message.
#[must_use]
pub fn receipt_handle<'record>(record: &'record Record<'_>) -> &'record str {
    record.receipt_handle()
}

/// Writes redrive's log to standard output, as [`run`](crate::run()) does.
///
/// # Errors
/// `REDRIVE_LOG` is invalid.
pub fn start_log() -> Result<(), Error> {
    crate::run::start_log()
}
