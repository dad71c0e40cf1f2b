//! The result of one message, for hooks and observers.

use std::time::{Duration, SystemTime};

use redrive_sqs::{Attributes, queue_name};

use redrive_engine::{Description, Disposition, NextStep, Outcome, Ran, Settlement};

use crate::message::record::Record;

/// The result of one delivery of a message, see [`Consumer::observe`](crate::Consumer::observe) and
/// [`Hook::settled`](crate::hook::Hook::settled).
///
/// ```
/// # async fn place(order: String) -> Result<(), redrive::Failure> { Ok(()) }
/// let consumer = redrive::Consumer::new(place).observe(|message: &redrive::MessageReport| {
///     tracing::info!(message.id, outcome = message.outcome.as_str(), reason = message.reason.as_deref(), "settled");
/// });
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MessageReport {
    /// The name of the queue.
    pub queue: String,
    /// The message id.
    pub id: String,
    /// The receive count.
    pub attempt: u32,
    /// The message group.
    pub group: Option<String>,
    /// The attributes that the sender set.
    pub attributes: Attributes,
    /// The outcome of the delivery.
    pub outcome: MessageOutcome,
    /// The reason why it did not succeed: the handler's own, or one of redrive's, such as `error`, `rejected`, `malformed`,
    /// `panic` or `timeout`.
    pub reason: Option<String>,
    /// The error and its sources, at most 256 characters; empty without one, as after a deferral.
    pub error: String,
    /// The type of the error; empty without one.
    pub exception: String,
    /// The time at which the message was sent.
    pub sent_at: Option<SystemTime>,
    /// The call of the handler, if it was called.
    pub handler: Option<Timing>,
    /// The call to SQS that delayed or dead-lettered the message, if there was one.
    pub settling: Option<Timing>,
    /// The time until it is visible again, counted from that call. Set only if SQS has confirmed the delay.
    pub back_after: Option<Duration>,
    /// True if SQS has confirmed the dead letter or the delay. A message on its last delivery goes to the dead-letter queue
    /// either way; if unconfirmed, not before its visibility timeout ends.
    pub confirmed: bool,
}

/// The outcome of one delivery of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MessageOutcome {
    /// The handler returned `Ok`. Lambda or the worker deletes the message.
    Succeeded,
    /// It failed and returns to the queue.
    Retried,
    /// It failed and goes to the dead-letter queue, by redrive or by the redrive policy.
    DeadLettered,
    /// The handler deferred it.
    Deferred,
    /// The handler discarded it. Lambda or the worker deletes the message.
    Discarded,
    /// The store of [`Consumer::once`](crate::Consumer::once) has recorded that it was handled before. It is deleted.
    Replayed,
    /// It did not run, or a worker's shutdown interrupted it. It returns to the queue.
    NotStarted,
}

/// The start and the duration of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Timing {
    /// The start, by the wall clock.
    pub began: SystemTime,
    /// The duration.
    pub took: Duration,
}

impl Timing {
    /// Creates a timing for the test of a hook.
    #[must_use]
    pub const fn new(began: SystemTime, took: Duration) -> Self {
        Self { began, took }
    }
}

impl MessageReport {
    /// Creates a report for the test of a hook or an observer: the first delivery of a message from the queue `test-queue`. Set
    /// the fields that the test needs.
    ///
    /// ```
    /// use redrive::{MessageOutcome, MessageReport};
    ///
    /// let mut message = MessageReport::new("m-1", MessageOutcome::Retried);
    /// message.attempt = 2;
    /// message.reason = Some("error".to_owned());
    /// ```
    #[must_use]
    pub fn new(id: impl Into<String>, outcome: MessageOutcome) -> Self {
        Self {
            queue: "test-queue".to_owned(),
            id: id.into(),
            attempt: 1,
            group: None,
            attributes: Attributes::default(),
            outcome,
            reason: None,
            error: String::new(),
            exception: String::new(),
            sent_at: None,
            handler: None,
            settling: None,
            back_after: None,
            confirmed: false,
        }
    }

    /// Creates the report of a settled message. `began` is the start of the batch by the wall clock.
    pub(crate) fn of(record: &Record<'_>, settled: &Settlement, began: SystemTime) -> Self {
        let outcome = MessageOutcome::of(settled);
        let has_error = !settled.outcome.never_ran() && !settled.outcome.is_deferral();
        let described = if has_error { &settled.outcome } else { &Outcome::Done };
        let Description { error, exception, .. } = described.describe();
        let timing = |ran: Ran| Timing { began: began + ran.ended.saturating_sub(ran.took), took: ran.took };
        Self {
            queue: queue_name(record.source()).to_owned(),
            id: record.id().to_owned(),
            attempt: record.attempt(),
            group: record.group().map(str::to_owned),
            attributes: record.attributes(),
            outcome,
            reason: settled.reason().map(str::to_owned),
            error: error.to_owned(),
            exception: exception.to_owned(),
            sent_at: record.sent_at(),
            handler: settled.ran.map(timing),
            settling: settled.call.map(timing),
            back_after: settled
                .action
                .back_after()
                .filter(|_| settled.is_delayed() && outcome != MessageOutcome::DeadLettered),
            confirmed: settled.is_confirmed() || settled.is_delayed(),
        }
    }
}

impl MessageOutcome {
    /// Returns the outcome as a word in lower case, such as `dead-lettered`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Retried => "retried",
            Self::DeadLettered => "dead-lettered",
            Self::Deferred => "deferred",
            Self::Discarded => "discarded",
            Self::Replayed => "replayed",
            Self::NotStarted => "not-started",
        }
    }

    pub(crate) fn of(settled: &Settlement) -> Self {
        match (&settled.outcome, &settled.action) {
            (Outcome::Done | Outcome::Unrecorded, _) => Self::Succeeded,
            (Outcome::Replayed, _) => Self::Replayed,
            (Outcome::Failed(summary), _) if summary.disposition == Disposition::Discard => Self::Discarded,
            (_, NextStep::ByRedrivePolicy) => Self::DeadLettered,
            (_, NextStep::DeadLetter { .. }) if settled.is_confirmed() => Self::DeadLettered,
            (outcome, _) if outcome.is_deferral() => Self::Deferred,
            (
                Outcome::NotStarted | Outcome::BreakerOpen | Outcome::Interrupted,
                NextStep::Release { .. } | NextStep::Leave,
            ) => Self::NotStarted,
            _ => Self::Retried,
        }
    }
}

#[cfg(test)]
mod tests;
