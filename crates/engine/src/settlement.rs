//! The settlement of a message: the outcome of its handler, the next step, and its state.

use std::borrow::Cow;
use std::time::Duration;

use super::guards::{Guard, holds, require};
use super::outbox::SettleCall;
use crate::error_summary::{Disposition, ErrorSummary};

/// The outcome of one record.
#[derive(Debug, Default, Clone)]
pub enum Outcome {
    Done,
    /// Another delivery has handled it, so its handler did not run.
    Replayed,
    /// Its handler returned `Ok`, but the store did not confirm that it recorded this.
    Unrecorded,
    /// Boxed, because few messages fail.
    Failed(Box<ErrorSummary>),
    Panicked {
        text: String,
        /// True if the function is at fault, not the message: others panicked before and none has succeeded since, or the
        /// runtime has been shut down.
        again: bool,
        /// True if the body was being fetched or decoded, so that the handler had not been called.
        is_early: bool,
    },
    TimedOut,
    /// Its handler blocks a thread and could not be cancelled.
    Stuck,
    /// Its worker ended without waiting for the handler any longer.
    Interrupted,
    /// Its worker has lost the lease: SQS may have delivered it again.
    LeaseLost,
    #[default]
    NotStarted,
    /// It was not started, because a dependency is down.
    BreakerOpen,
}

impl Outcome {
    pub fn panicked(text: impl Into<String>) -> Self {
        Self::Panicked { text: text.into(), again: false, is_early: false }
    }

    /// Returns true if the next message of its FIFO group may run.
    pub fn lets_the_lane_go_on(&self) -> bool {
        match self {
            Self::Done | Self::Replayed | Self::Unrecorded => true,
            Self::Failed(summary) => summary.disposition == Disposition::Discard,
            Self::Panicked { .. }
            | Self::TimedOut
            | Self::Stuck
            | Self::Interrupted
            | Self::LeaseLost
            | Self::NotStarted
            | Self::BreakerOpen => false,
        }
    }

    /// Returns true if no handler has begun the message.
    pub const fn never_ran(&self) -> bool {
        matches!(self, Self::NotStarted | Self::BreakerOpen)
    }

    /// Returns true if the handler reported an outage, so the message is not at fault.
    pub fn is_outage(&self) -> bool {
        matches!(self, Self::Failed(summary) if summary.disposition == Disposition::Outage)
    }

    /// Returns true if the handler deferred the message, which is not an error.
    pub fn is_deferral(&self) -> bool {
        matches!(self, Self::Failed(summary) if matches!(summary.disposition, Disposition::Defer(_)))
    }

    /// Returns why the message did not succeed, for the log and the dead letter.
    pub fn describe(&self) -> Description<'_> {
        let (reason, error, exception) = match self {
            Self::Done | Self::Replayed => return Description { reason: None, error: "", exception: "" },
            Self::Unrecorded => {
                let error = "the handler returned Ok, but the idempotency store did not record it: a duplicate may run";
                ("lease-lost", error, "lease-lost")
            }
            Self::Failed(summary) => (
                summary.code.as_deref().unwrap_or(summary.disposition.name()),
                &*summary.error,
                &*summary.exception,
            ),
            Self::Panicked { text, .. } => ("panic", &**text, "panic"),
            Self::TimedOut => ("timeout", "the handler ran out of time", "timeout"),
            Self::Stuck => ("blocked", "a handler blocks its thread and could not be canceled", "timeout"),
            Self::Interrupted => ("interrupted", "the worker ended before the handler did", "interrupted"),
            Self::LeaseLost => {
                let error = "the lease was lost: SQS may have delivered the message again";
                ("lease-lost", error, "lease-lost")
            }
            Self::NotStarted => {
                let error = "it was not started: time ran out, or a message before it in its group failed";
                ("not-started", error, "")
            }
            Self::BreakerOpen => ("not-started", "it was not started: a dependency is down", ""),
        };
        Description { reason: Some(reason), error, exception }
    }
}

/// The reason why a message did not succeed.
#[derive(Debug, Clone, Copy)]
pub struct Description<'o> {
    pub reason: Option<&'o str>,
    pub error: &'o str,
    /// The type of the error.
    pub exception: &'o str,
}

/// The next step for a message.
#[cfg_attr(test, derive(Hash))]
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub enum NextStep {
    /// Leave it out of the response: Lambda deletes the message.
    Ack,
    /// Retry a failed attempt: make it visible after this time.
    Retry { after: Duration },
    /// Make it visible at once after its last delivery failed, so that the next receive moves it by the redrive policy.
    ByRedrivePolicy,
    /// Write the letter. If SQS does not confirm it, make the message visible after this time.
    DeadLetter { reason: Cow<'static, str>, or_retry: Duration },
    /// Return a message that did not run: make it visible after this time.
    Release { after: Duration },
    /// Keep the visibility timeout of a failed message, because a handler may still be working on it.
    #[default]
    Leave,
}

impl NextStep {
    /// Returns the visibility timeout that this step sets, if any.
    pub fn back_after(&self) -> Option<Duration> {
        match self {
            Self::Retry { after } | Self::Release { after } | Self::DeadLetter { or_retry: after, .. } => {
                Some(*after)
            }
            Self::ByRedrivePolicy => Some(Duration::ZERO),
            Self::Ack | Self::Leave => None,
        }
    }
}

/// The state of a message.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// It waits for the messages before it in its group.
    #[default]
    Waiting,
    /// It is queued for a runner, or its handler runs.
    Running,
    /// Its handler has ended. It waits for the letter of a message before it in its group.
    Ended,
    /// Its letter is to be written.
    Writing,
    /// Its visibility timeout is to be set.
    Delaying,
    /// It is done, or its letter is written: a worker is to delete it.
    Deleting,
    /// A worker has deleted it, or Lambda will.
    Gone,
    /// SQS has confirmed its visibility timeout.
    Back,
    /// SQS has confirmed nothing. The message returns when its visibility timeout ends.
    Left,
}

impl State {
    /// Returns true if a message may go from this state to the next. ARCHITECTURE.md lists the transitions.
    pub const fn leads_to(self, next: Self) -> bool {
        match self {
            Self::Waiting => matches!(next, Self::Running | Self::Writing | Self::Delaying | Self::Left),
            Self::Running => matches!(next, Self::Waiting | Self::Ended | Self::Deleting | Self::Gone),
            Self::Ended => matches!(next, Self::Writing | Self::Delaying | Self::Left),
            Self::Writing => matches!(next, Self::Deleting | Self::Gone | Self::Delaying),
            Self::Delaying => matches!(next, Self::Back | Self::Left),
            Self::Deleting => matches!(next, Self::Gone | Self::Left),
            Self::Gone | Self::Back | Self::Left => false,
        }
    }

    /// Returns true if nothing more happens to the message.
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Gone | Self::Back | Self::Left)
    }

    /// Returns the call to SQS that the message waits for.
    pub const fn call(self) -> Option<SettleCall> {
        match self {
            Self::Writing => Some(SettleCall::DeadLetter),
            Self::Delaying => Some(SettleCall::ChangeVisibility),
            Self::Deleting => Some(SettleCall::Delete),
            Self::Waiting | Self::Running | Self::Ended | Self::Gone | Self::Back | Self::Left => None,
        }
    }
}

/// The result of a message at the end of its batch. By default, no handler has begun it.
#[derive(Debug, Default, Clone)]
pub struct Settlement {
    pub outcome: Outcome,
    pub action: NextStep,
    pub state: State,
    /// True if SQS has confirmed its letter.
    pub has_letter: bool,
    /// True if the worker has lost its lease.
    pub is_lost: bool,
    /// The time of its handler, if it ran.
    pub ran: Option<Ran>,
    /// The time of the last call that delayed or dead-lettered it.
    pub call: Option<Ran>,
}

/// The duration of a handler or a call to SQS, and its end since the start of the batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ran {
    pub took: Duration,
    pub ended: Duration,
    /// True if another message stands for the handler call that they shared.
    pub is_shared: bool,
}

impl Settlement {
    /// Returns the reason why the message did not succeed, as in the log and in its letter.
    pub fn reason(&self) -> Option<&str> {
        match &self.action {
            NextStep::DeadLetter { reason, .. } => Some(reason),
            _ => self.outcome.describe().reason,
        }
    }

    /// Returns true if the message may be deleted. It is failed until proven done.
    pub fn is_over(&self) -> bool {
        match self.action {
            NextStep::Ack => true,
            NextStep::DeadLetter { .. } => require!(LetterIsConfirmed, self.has_letter),
            NextStep::Retry { .. }
            | NextStep::ByRedrivePolicy
            | NextStep::Release { .. }
            | NextStep::Leave => !holds(Guard::FailedStays),
        }
    }

    /// Returns true if SQS has confirmed the next step.
    pub fn is_confirmed(&self) -> bool {
        self.has_letter || self.is_delayed() && !matches!(self.action, NextStep::DeadLetter { .. })
    }

    /// Returns true if SQS has confirmed a visibility timeout, of the next step or in place of a letter that was not confirmed.
    pub fn is_delayed(&self) -> bool {
        self.state == State::Back
    }

    /// Returns true if SQS did not confirm a call that was due.
    pub fn has_settle_error(&self) -> bool {
        match self.action {
            NextStep::Leave => false,
            _ if self.is_over() => self.state == State::Left,
            _ => !self.is_confirmed(),
        }
    }
}
