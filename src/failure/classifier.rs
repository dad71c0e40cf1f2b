//! The user's closures that classify failures. They run where handlers run, never in the engine.

use std::sync::Arc;
use std::time::Duration;

use crate::failure::Failure;
use redrive_engine::ErrorSummary;

type Classify = dyn Fn(Failure) -> Failure + Send + Sync;
type Delay = dyn Fn(u32, &Failure) -> Duration + Send + Sync;

/// The closures of [`classify`](crate::Consumer::classify) and [`backoff_by`](crate::Consumer::backoff_by).
#[derive(Clone, Default)]
pub(crate) struct FailureClassifier {
    pub(crate) classify: Option<Arc<Classify>>,
    pub(crate) delay: Option<Arc<Delay>>,
}

impl FailureClassifier {
    /// Classifies a handler's error, unless the handler has decided about the message or could not decode it.
    pub(crate) fn failed(&self, failure: Failure, attempt: u32) -> Box<ErrorSummary> {
        let failure = self.classified(failure);
        let delay = self.delay(&failure, attempt);
        failure.reduce(delay)
    }

    /// Classifies the failure of a call with several messages, and computes the delay for each of these attempts.
    pub(crate) fn failed_all(
        &self,
        failure: Failure,
        attempts: impl Iterator<Item = u32>,
    ) -> Vec<ErrorSummary> {
        let failure = self.classified(failure);
        let delays: Vec<_> = attempts.map(|attempt| self.delay(&failure, attempt)).collect();
        let summary = failure.reduce(None);
        delays.into_iter().map(|delay| ErrorSummary { delay, ..ErrorSummary::clone(&summary) }).collect()
    }

    fn classified(&self, failure: Failure) -> Failure {
        match &self.classify {
            Some(classify) if !failure.is_decided() => classify(failure),
            Some(_) | None => failure,
        }
    }

    fn delay(&self, failure: &Failure, attempt: u32) -> Option<Duration> {
        let asked = self.delay.as_ref().filter(|_| failure.waits_by_schedule());
        asked.map(|delay| delay(attempt, failure))
    }
}
