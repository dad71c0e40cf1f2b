//! The user's closures that classify failures. They run where handlers run, never where batches are decided on.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::Failure;
use crate::failure::Fault;

type Classify = dyn Fn(Failure) -> Failure + Send + Sync;
type Delay = dyn Fn(u32, &Failure) -> Duration + Send + Sync;

/// The closures of [`classify`](crate::Consumer::classify) and [`backoff_by`](crate::Consumer::backoff_by).
#[derive(Clone, Default)]
pub(crate) struct Judge {
    pub(crate) classify: Option<Arc<Classify>>,
    pub(crate) delay: Option<Arc<Delay>>,
}

impl Judge {
    /// Classifies the error that a handler returned, unless it has ruled on the message or could not decode it.
    pub(crate) fn failed(&self, failure: Failure, attempt: u32) -> Fault {
        match &self.classify {
            Some(classify) if !failure.is_ruled() => self.reduced(classify(failure), attempt),
            Some(_) | None => self.reduced(failure, attempt),
        }
    }

    fn reduced(&self, failure: Failure, attempt: u32) -> Fault {
        let asked = self.delay.as_ref().filter(|_| failure.waits_by_schedule());
        let delay = asked.map(|delay| delay(attempt, &failure));
        failure.reduce(delay)
    }
}

impl fmt::Debug for Judge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Judge")
    }
}
