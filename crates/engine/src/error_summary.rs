//! The failure of a handler as plain values.

use std::borrow::Cow;
use std::time::Duration;

/// The decision of a handler about its message. [`decide`](crate::decide) turns it into a [`NextStep`](crate::NextStep).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disposition {
    Retry,
    RetryAfter(Duration),
    Reject,
    Defer(Duration),
    Discard,
    /// A dependency is down.
    Outage,
    /// The handler cannot use the body.
    Malformed,
}

/// A failure reduced to plain values, so that no user code is left to call or to drop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorSummary {
    pub disposition: Disposition,
    /// The user's own reason.
    pub code: Option<Cow<'static, str>>,
    /// The error and its sources, cut to 256 characters.
    pub error: String,
    /// The type of the error as far as it is known, empty for `defer`.
    pub exception: Cow<'static, str>,
    /// The delay that the user's `backoff_by` has returned.
    pub delay: Option<Duration>,
    /// The dependency that an outage names.
    pub dependency: Option<Cow<'static, str>>,
    /// True if the failure follows from the idempotency store's answer to a claim, or from a missing answer.
    pub is_of_store: bool,
}

impl Disposition {
    /// Returns the name that the log uses.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Retry | Self::RetryAfter(_) => "error",
            Self::Reject => "rejected",
            Self::Defer(_) => "deferred",
            Self::Discard => "discarded",
            Self::Outage => "outage",
            Self::Malformed => "malformed",
        }
    }
}
