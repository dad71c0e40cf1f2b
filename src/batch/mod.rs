//! The vocabulary of a batch: what came of a handler, what to do about it, and what AWS made of that. The steps are
//! plan, work, decide, outbox, settle and report; none of them knows another.

pub(crate) mod decide;
pub(crate) mod outbox;
pub(crate) mod plan;
pub(crate) mod report;
pub(crate) mod settle;
pub(crate) mod work;

use std::borrow::Cow;
use std::time::Duration;

use crate::failure::{Fault, Ruling};

/// What came of one record.
#[derive(Debug)]
pub(crate) enum Outcome {
    Done,
    Failed(Fault),
    Panicked {
        text: String,
        /// It is the function's fault, not that of its message: others panicked before it and nothing has succeeded
        /// since, or the runtime that it needs is gone.
        again: bool,
    },
    TimedOut,
    /// Its handler holds the thread and could not be cancelled.
    Stuck,
    NotStarted,
}

impl Outcome {
    pub(crate) fn panicked(text: impl Into<String>) -> Self {
        Self::Panicked { text: text.into(), again: false }
    }

    /// Whether the next message of its FIFO group may run.
    pub(crate) fn lets_the_lane_go_on(&self) -> bool {
        match self {
            Self::Done => true,
            Self::Failed(fault) => fault.ruling == Ruling::Discard,
            Self::Panicked { .. } | Self::TimedOut | Self::Stuck | Self::NotStarted => false,
        }
    }

    /// Put off by the handler, which is no error.
    pub(crate) fn is_deferral(&self) -> bool {
        matches!(self, Self::Failed(fault) if matches!(fault.ruling, Ruling::Defer(_)))
    }

    /// The error in words, and the type of what was wrong, as they stand in the log and in the dead letter.
    pub(crate) fn describe(&self) -> (&str, &str) {
        match self {
            Self::Done => ("", ""),
            Self::Failed(fault) => (&fault.error, fault.exception),
            Self::Panicked { text, .. } => (text, "panic"),
            Self::TimedOut => ("the handler ran out of time", "timeout"),
            Self::Stuck => ("a handler blocks its thread and could not be cancelled", "timeout"),
            Self::NotStarted => {
                ("it was not started: time ran out, or a message before it in its group failed", "")
            }
        }
    }
}

/// What to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Action {
    /// Leave it out of the response: Lambda deletes the message.
    Ack,
    /// A failed attempt: back after this long.
    Retry { after: Duration },
    /// Its last delivery: back at once, so that this receive moves it by the redrive policy.
    GiveUp,
    /// Write the letter; if SQS does not confirm it, back after this long.
    DeadLetter { reason: Cow<'static, str>, or_retry: Duration },
    /// It never ran: back after this long.
    Release { after: Duration },
    /// Failed, and its visibility is left alone: somebody may still be working on it.
    Leave,
}

impl Action {
    /// When the message is back, if this is about coming back.
    pub(crate) fn back_after(&self) -> Option<Duration> {
        match self {
            Self::Retry { after } | Self::Release { after } | Self::DeadLetter { or_retry: after, .. } => {
                Some(*after)
            }
            Self::GiveUp => Some(Duration::ZERO),
            Self::Ack | Self::Leave => None,
        }
    }
}

/// One record at the end of its batch.
#[derive(Debug)]
pub(crate) struct Settled {
    pub(crate) outcome: Outcome,
    pub(crate) action: Action,
    /// SQS has confirmed what the action asked of it.
    pub(crate) confirmed: bool,
    /// When the handler ended and how long it ran, if it ran.
    pub(crate) ran: Option<Ran>,
}

/// How long a handler ran, and when it ended, counted from the start of the batch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ran {
    pub(crate) took: Duration,
    pub(crate) ended: Duration,
}

impl Settled {
    /// Whether Lambda may delete the message: it is failed until proven done.
    pub(crate) fn is_over(&self) -> bool {
        match self.action {
            Action::Ack => true,
            Action::DeadLetter { .. } => self.confirmed,
            Action::Retry { .. } | Action::GiveUp | Action::Release { .. } | Action::Leave => false,
        }
    }
}
