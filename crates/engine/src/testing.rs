//! Failures, messages and policies for tests.

use std::borrow::Cow;
use std::time::Duration;

use redrive_sqs::LONGEST_VISIBILITY;

use crate::decide::Policy;
use crate::{
    Backoff, Disposition, ErrorSummary, LastDelivery, MessageMeta, MessageOverrides, OnFailure, Outcome,
    Overrides, Time,
};

/// A failure, built as handlers build `redrive::Failure`.
pub(crate) struct Failure(ErrorSummary);

impl Failure {
    fn new(disposition: Disposition, error: &str) -> Self {
        let (error, exception) = (error.to_owned(), Cow::Borrowed(""));
        let (code, delay, dependency, is_of_store) = (None, None, None, false);
        Self(ErrorSummary { disposition, code, error, exception, delay, dependency, is_of_store })
    }

    pub(crate) fn retry(error: &str) -> Self {
        Self::new(Disposition::Retry, error)
    }

    pub(crate) fn retry_after(after: Duration, error: &str) -> Self {
        Self::new(Disposition::RetryAfter(after), error)
    }

    pub(crate) fn reject(error: &str) -> Self {
        Self::new(Disposition::Reject, error)
    }

    pub(crate) fn defer(after: Duration) -> Self {
        Self::new(Disposition::Defer(after), "")
    }

    pub(crate) fn discard(error: &str) -> Self {
        Self::new(Disposition::Discard, error)
    }

    pub(crate) fn outage(error: &str) -> Self {
        Self::new(Disposition::Outage, error)
    }

    pub(crate) fn malformed(error: &str) -> Self {
        Self::new(Disposition::Malformed, error)
    }

    pub(crate) fn on_dependency(mut self, dependency: &'static str) -> Self {
        self.0.dependency = Some(dependency.into());
        self
    }

    pub(crate) fn with_reason(mut self, code: &'static str) -> Self {
        self.0.code = Some(code.into());
        self
    }

    /// Turns it into the outage of a store that did not answer, or the failure that follows from its answer.
    pub(crate) fn of_store(mut self) -> Self {
        self.0.is_of_store = true;
        self
    }

    /// Returns the failure as plain values, with the delay of the user's own schedule.
    pub(crate) fn reduce(self, delay: Option<Duration>) -> Box<ErrorSummary> {
        Box::new(ErrorSummary { delay, ..self.0 })
    }
}

impl From<&str> for Failure {
    fn from(error: &str) -> Self {
        Self::retry(error)
    }
}

pub(crate) fn failed(failure: impl Into<Failure>) -> Outcome {
    Outcome::Failed(failure.into().reduce(None))
}

/// Returns the policy of a queue with a dead-letter queue, by default.
pub(crate) fn policy(is_fifo: bool, max_receive_count: Option<u32>, visibility: Duration) -> Policy<'static> {
    let last_delivery = if is_fifo { LastDelivery::DeadLetter } else { LastDelivery::RedrivePolicy };
    Policy {
        backoff: &Backoff::DOUBLING,
        overrides: Overrides::default(),
        is_fifo,
        longest: LONGEST_VISIBILITY.saturating_sub(visibility),
        max_receive_count,
        last_delivery,
        on_panic: OnFailure::DeadLetter,
        on_malformed: OnFailure::DeadLetter,
        has_dead_letter_queue: true,
        outage_horizon: Duration::from_secs(4 * 3_600),
        names_dependencies: false,
        has_store: false,
        suspects_from: 3,
        ends: false,
    }
}

/// A message. Its id may begin with the name of what it depends on, which is also the key of its rate.
#[derive(Debug, Clone)]
pub(crate) struct Fake {
    pub(crate) id: String,
    pub(crate) attempt: u32,
    pub(crate) group: Option<String>,
}

impl MessageMeta for Fake {
    fn id(&self) -> &str {
        &self.id
    }

    fn attempt(&self) -> u32 {
        self.attempt
    }

    fn group(&self) -> Option<&str> {
        self.group.as_deref()
    }

    fn overrides(&self, _policy: &Policy<'_>) -> Option<(MessageOverrides, Vec<String>)> {
        None
    }

    fn first_received(&self) -> Option<Time> {
        None
    }

    fn dependencies(&self) -> Vec<String> {
        self.rate_key().into_iter().collect()
    }

    fn rate_key(&self) -> Option<String> {
        Some(self.id.split_once('/')?.0.to_owned())
    }
}
