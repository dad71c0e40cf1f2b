//! A decision that travels inside an error.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::time::Duration;

use crate::BoxError;
use crate::failure::{Cause, Ruling};

/// A decision that travels inside an error.
///
/// Code deep below the handler can decide about the message by returning a verdict as its error. The verdict still
/// counts when it is wrapped on the way up, by `anyhow` context or a `thiserror` enum with `#[from]` or `#[source]`.
/// It must be the error itself: as the context of another error it is only text.
///
/// ```
/// use redrive::{Failure, Verdict};
///
/// #[derive(Debug)]
/// struct StoreError(Verdict);
/// impl std::fmt::Display for StoreError {
///     fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
///         f.write_str("the order was not stored")
///     }
/// }
/// impl std::error::Error for StoreError {
///     fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
///         Some(&self.0)
///     }
/// }
///
/// let failure = Failure::from(StoreError(Verdict::reject("row 7 exists")));
/// assert_eq!(failure.to_string(), "the order was not stored: rejected: row 7 exists");
/// ```
#[derive(Debug)]
#[must_use = "a handler has to return it"]
pub struct Verdict(Judgment);

/// The source of a [`Verdict`]: wrappers that hide their own type, as anyhow's does, still show their sources.
#[derive(Debug)]
pub(crate) struct Judgment {
    ruling: Ruling,
    cause: Cause,
    reason: Option<Cow<'static, str>>,
}

impl Judgment {
    pub(crate) const fn ruling(&self) -> Ruling {
        self.ruling
    }

    pub(crate) const fn cause(&self) -> &Cause {
        &self.cause
    }

    pub(crate) fn reason(&self) -> Option<Cow<'static, str>> {
        self.reason.clone()
    }
}

impl Verdict {
    /// Like [`Failure::reject`](crate::Failure::reject).
    pub fn reject(error: impl Into<BoxError> + 'static) -> Self {
        Self::new(Ruling::Reject, error)
    }

    /// Like [`Failure::retry`](crate::Failure::retry).
    pub fn retry(error: impl Into<BoxError> + 'static) -> Self {
        Self::new(Ruling::Retry, error)
    }

    /// Like [`Failure::retry_after`](crate::Failure::retry_after).
    pub fn retry_after(after: Duration, error: impl Into<BoxError> + 'static) -> Self {
        Self::new(Ruling::RetryAfter(after), error)
    }

    /// Like [`Failure::defer`](crate::Failure::defer).
    pub fn defer(after: Duration) -> Self {
        Self::new(Ruling::Defer(after), "not now")
    }

    /// Like [`Failure::discard`](crate::Failure::discard).
    pub fn discard(error: impl Into<BoxError> + 'static) -> Self {
        Self::new(Ruling::Discard, error)
    }

    /// Like [`Failure::with_reason`](crate::Failure::with_reason).
    pub fn with_reason(mut self, code: impl Into<Cow<'static, str>>) -> Self {
        self.0.reason = Some(code.into());
        self
    }

    fn new(ruling: Ruling, error: impl Into<BoxError> + 'static) -> Self {
        Self(Judgment { ruling, cause: Cause::new(error), reason: None })
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0.ruling {
            Ruling::Retry | Ruling::RetryAfter(_) => "to be retried",
            Ruling::Reject => "rejected",
            Ruling::Defer(_) => "deferred",
            Ruling::Discard => "discarded",
            Ruling::Malformed => "malformed",
        })
    }
}

impl Error for Verdict {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0)
    }
}

impl fmt::Display for Judgment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.cause.error(), f)
    }
}

impl Error for Judgment {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.cause.error().source()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Failure;

    #[derive(Debug, thiserror::Error)]
    enum StoreError {
        #[error("not stored")]
        Refused(#[from] Verdict),
        #[error(transparent)]
        As(Verdict),
        #[error("not stored in {table}")]
        In { table: &'static str, source: Box<Self> },
    }

    #[test]
    fn a_verdict_is_found_through_the_enums_of_thiserror() {
        let refused = || Verdict::reject("refused");
        let below = |error| StoreError::In { table: "orders", source: Box::new(error) };
        assert_eq!(ruling(StoreError::from(refused())), Ruling::Reject);
        assert_eq!(ruling(StoreError::As(refused())), Ruling::Reject);
        assert_eq!(ruling(below(below(refused().into()))), Ruling::Reject);
        assert_eq!(ruling(below(StoreError::As(refused()))), Ruling::Reject);
    }

    fn ruling(failure: impl Into<Failure>) -> Ruling {
        failure.into().reduce(None).ruling
    }

    #[test]
    fn a_verdict_is_found_on_top_below_and_through_anyhow() {
        let refused = || Verdict::reject("refused").with_reason("card-refused");
        assert_eq!(ruling(refused()), Ruling::Reject);
        assert_eq!(ruling(std::io::Error::other(refused())), Ruling::Reject);
        assert_eq!(ruling(anyhow::Error::from(refused())), Ruling::Reject);
        assert_eq!(
            ruling(anyhow::Error::from(refused()).context("paying").context("order 7")),
            Ruling::Reject
        );
        assert_eq!(
            Failure::from(anyhow::Error::from(refused())).reduce(None).code.as_deref(),
            Some("card-refused")
        );
        assert_eq!(ruling(Verdict::defer(Duration::from_secs(9))), Ruling::Defer(Duration::from_secs(9)));
        assert_eq!(ruling(Verdict::discard("late")), Ruling::Discard);
        assert_eq!(ruling(Verdict::retry("busy")), Ruling::Retry);
        let after = Duration::from_secs(3);
        assert_eq!(ruling(Verdict::retry_after(after, "busy")), Ruling::RetryAfter(after));
    }
}
