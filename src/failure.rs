//! The failures that a handler can return, each with a decision about its message.

mod error_chain;
mod foreign;
pub(crate) mod classifier;

use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::time::Duration;

use redrive_engine::{Disposition, ErrorSummary};

pub(crate) use self::error_chain::ErrorChain;
pub use self::foreign::ForeignError;

/// Any error, boxed. The `?` operator turns it into a [`Failure`].
///
/// ```
/// let failure = redrive::Failure::from(redrive::BoxError::from("no such table"));
/// assert_eq!(failure.to_string(), "no such table");
/// ```
pub type BoxError = Box<dyn Error + Send + Sync>;

/// The failure of a handler, with a decision about its message.
///
/// `?` turns any error into a `Failure` that means *try again later*, unless the error's chain of sources contains a
/// [`Verdict`]. Every other decision has a constructor. An `anyhow::Error` counts as the error that it wraps.
///
/// ```
/// use redrive::Failure;
/// use std::time::Duration;
///
/// fn price(sku: &str) -> Result<u32, Failure> {
///     match sku {
///         "tea" => Ok(450),
///         "" => Err(Failure::reject("an order line must name an item").with_reason("no-item")),
///         "truffle" => Err(Failure::retry_after(Duration::from_secs(600), "truffles are priced at noon")),
///         _ => Ok(sku.parse()?),
///     }
/// }
/// assert_eq!(price("tea").unwrap(), 450);
/// assert_eq!(price("").unwrap_err().to_string(), "an order line must name an item");
/// assert_eq!(price("gold").unwrap_err().to_string(), "invalid digit found in string");
/// ```
#[must_use = "a handler has to return it"]
pub struct Failure {
    /// `None` for a plain error, which is retried.
    disposition: Option<Disposition>,
    chain: Option<ErrorChain>,
    reason: Option<Cow<'static, str>>,
    /// The dependency that an outage names.
    dependency: Option<Cow<'static, str>>,
}

/// The longest error text in logs and notes, in characters.
const ERROR_CHARACTERS: usize = 256;

impl Failure {
    /// Sends the message to the dead-letter queue at once, because no further attempt can succeed.
    ///
    /// redrive deletes the message from its queue only after SQS has confirmed the dead letter. Without a dead-letter
    /// queue, redrive retries the message and logs a warning.
    pub fn reject(error: impl Into<Self>) -> Self {
        Self { disposition: Some(Disposition::Reject), ..error.into() }
    }

    /// Retries after the backoff's delay, as for any error, overriding [`classify`](crate::Consumer::classify).
    pub fn retry(error: impl Into<Self>) -> Self {
        Self { disposition: Some(Disposition::Retry), ..error.into() }
    }

    /// Retries after `after` instead of the backoff's delay. The delay is in whole seconds, rounded up, and at most
    /// 43,200 s minus the queue's visibility timeout, because [SQS allows 12 hours in
    /// total](https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-visibility-timeout.html).
    /// Zero makes the message visible at once.
    ///
    /// This uses up a delivery, like every failure. For an outage of hours, use [`Failure::outage`].
    pub fn retry_after(after: Duration, error: impl Into<Self>) -> Self {
        Self { disposition: Some(Disposition::RetryAfter(after)), ..error.into() }
    }

    /// Makes the message visible again after `after`, and does not count it as an error.
    ///
    /// This uses up a delivery, because SQS counts every receive.
    pub const fn defer(after: Duration) -> Self {
        Self { disposition: Some(Disposition::Defer(after)), chain: None, reason: None, dependency: None }
    }

    /// Reports that a dependency is down, and that the message is not at fault.
    ///
    /// redrive retries the message after 1 min, doubled for each delivery up to 1 h, or later if the deliveries left would
    /// not last for the [outage horizon](crate::Consumer::outage_horizon). It counts the message as `Outages`, not as
    /// `WorkerErrors`. After three outages in a row without a success, a circuit breaker opens: messages that need the
    /// dependency return to the queue, except one each minute that tries it.
    ///
    /// Without [`on_dependency`](Self::on_dependency), everything that the message [depends on](crate::Consumer::depends_on) counts as down.
    ///
    /// ```
    /// use redrive::Failure;
    ///
    /// # async fn pay() -> Result<(), std::io::Error> { Ok(()) }
    /// async fn charge(order: String) -> Result<(), Failure> {
    ///     pay().await.map_err(Failure::outage)
    /// }
    /// # let consumer = redrive::Consumer::new(charge);
    /// ```
    pub fn outage(error: impl Into<Self>) -> Self {
        Self { disposition: Some(Disposition::Outage), ..error.into() }
    }

    /// Names the dependency that is down, for [`outage`](Self::outage). Only messages that
    /// [depend on it](crate::Consumer::depends_on) wait. If `depends_on` is set and does not name it for this message, no
    /// breaker opens, and redrive logs a warning with both names, once for each dependency. Without `depends_on`, no breaker
    /// opens. Other failures ignore the name.
    pub fn on_dependency(self, dependency: impl Into<Cow<'static, str>>) -> Self {
        Self { dependency: Some(dependency.into()), ..self }
    }

    /// Deletes the message on purpose. redrive logs and counts it.
    pub fn discard(error: impl Into<Self>) -> Self {
        Self { disposition: Some(Disposition::Discard), ..error.into() }
    }

    /// Reports that the handler cannot use the body. [`Consumer::on_malformed`](crate::Consumer::on_malformed) decides what
    /// happens to the message. By default it goes to the dead-letter queue with the reason `malformed`, like a body that cannot
    /// be decoded.
    ///
    /// If a [`Verdict`] or a constructor of this type has already decided on the error, that
    /// decision stays.
    ///
    /// ```
    /// use redrive::{Failure, Verdict};
    ///
    /// let order = |text: &str| text.parse::<u32>().map_err(Failure::malformed);
    /// assert!(order("4x").unwrap_err().is_malformed());
    /// assert!(Failure::malformed(Verdict::discard("of an old version")).is_discard());
    /// ```
    pub fn malformed(error: impl Into<Self>) -> Self {
        let failure = error.into();
        match failure.is_decided() {
            true => failure,
            false => Self { disposition: Some(Disposition::Malformed), ..failure },
        }
    }

    /// Sets the reason in the log, and in the dead letter's note instead of `rejected` or `exhausted`. After the last
    /// delivery on a standard queue, the redrive policy moves the message without a note, unless
    /// [`last_delivery`](crate::Consumer::last_delivery) is set to `DeadLetter`.
    ///
    /// Operators group and filter letters by reason. Use short, stable codes such as `card-refused`.
    pub fn with_reason(self, code: impl Into<Cow<'static, str>>) -> Self {
        Self { reason: Some(code.into()), ..self }
    }

    /// Returns true if redrive retries the message, after the backoff or after [`Failure::after`].
    ///
    /// ```
    /// use redrive::Failure;
    ///
    /// let failure = Failure::reject("no such street").with_reason("bad-address");
    /// assert!(failure.is_rejection() && !failure.is_retry());
    /// assert_eq!(failure.reason(), Some("bad-address"));
    /// assert_eq!(failure.error().unwrap().to_string(), "no such street");
    /// ```
    #[must_use]
    pub const fn is_retry(&self) -> bool {
        matches!(self.disposition(), Disposition::Retry | Disposition::RetryAfter(_))
    }

    /// Returns true if the failure rejects the message, see [`Failure::reject`].
    #[must_use]
    pub const fn is_rejection(&self) -> bool {
        matches!(self.disposition(), Disposition::Reject)
    }

    /// Returns true if the failure discards the message, see [`Failure::discard`].
    #[must_use]
    pub const fn is_discard(&self) -> bool {
        matches!(self.disposition(), Disposition::Discard)
    }

    /// Returns true if the failure defers the message, see [`Failure::defer`].
    #[must_use]
    pub const fn is_deferral(&self) -> bool {
        matches!(self.disposition(), Disposition::Defer(_))
    }

    /// Returns true if the body cannot be used, see [`Failure::malformed`].
    #[must_use]
    pub const fn is_malformed(&self) -> bool {
        matches!(self.disposition(), Disposition::Malformed)
    }

    /// Returns true if a dependency is down, see [`Failure::outage`].
    #[must_use]
    pub const fn is_outage(&self) -> bool {
        matches!(self.disposition(), Disposition::Outage)
    }

    /// Returns the dependency given to [`Failure::on_dependency`].
    #[must_use]
    pub fn dependency(&self) -> Option<&str> {
        self.dependency.as_deref()
    }

    /// Returns the delay given to [`Failure::retry_after`] or [`Failure::defer`].
    #[must_use]
    pub const fn after(&self) -> Option<Duration> {
        match self.disposition() {
            Disposition::RetryAfter(after) | Disposition::Defer(after) => Some(after),
            Disposition::Retry
            | Disposition::Reject
            | Disposition::Discard
            | Disposition::Outage
            | Disposition::Malformed => None,
        }
    }

    /// Returns the reason given to [`Failure::with_reason`].
    #[must_use]
    pub fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }

    /// Returns the error, or `None` for [`Failure::defer`].
    #[must_use]
    pub fn error(&self) -> Option<&(dyn Error + Send + Sync + 'static)> {
        Some(self.chain.as_ref()?.error())
    }

    /// Returns the first error of type `E` in the chain of sources, including errors inside an `anyhow::Error` or a
    /// [`Verdict`].
    ///
    /// ```
    /// # use redrive::Failure;
    /// let failure = Failure::from("4x".parse::<u8>().unwrap_err());
    /// assert!(failure.find::<std::num::ParseIntError>().is_some());
    ///
    /// let failure = Failure::from(anyhow::Error::from("4x".parse::<u8>().unwrap_err()));
    /// assert!(failure.find::<std::num::ParseIntError>().is_some());
    /// ```
    #[must_use]
    pub fn find<E: Error + 'static>(&self) -> Option<&E> {
        self.chain.as_ref()?.find()
    }

    /// Returns true if a constructor or a verdict has decided about the message.
    pub(crate) const fn is_decided(&self) -> bool {
        self.disposition.is_some()
    }

    const fn disposition(&self) -> Disposition {
        match self.disposition {
            Some(disposition) => disposition,
            None => Disposition::Retry,
        }
    }

    /// Returns true if the backoff sets the delay, also if the dead letter of a rejected message could not be written.
    pub(crate) const fn waits_by_schedule(&self) -> bool {
        match self.disposition() {
            Disposition::Retry | Disposition::Reject | Disposition::Malformed => true,
            Disposition::RetryAfter(_)
            | Disposition::Defer(_)
            | Disposition::Discard
            | Disposition::Outage => false,
        }
    }

    /// Returns a failure that reports the same as this fault.
    pub(crate) fn restored(summary: &ErrorSummary) -> Self {
        let ErrorSummary { disposition, code, error, dependency, .. } = summary.clone();
        Self { disposition: Some(disposition), chain: Some(ErrorChain::new(error)), reason: code, dependency }
    }

    /// Calls the user's `Display` and drops the user's error, both for the last time.
    pub(crate) fn reduce(self, delay: Option<Duration>) -> Box<ErrorSummary> {
        let error = self.to_string().chars().take(ERROR_CHARACTERS).collect();
        let exception = self.chain.as_ref().map_or(Cow::Borrowed(""), ErrorChain::exception);
        let (disposition, code, dependency) = (self.disposition(), self.reason, self.dependency);
        Box::new(ErrorSummary { disposition, code, error, exception, delay, dependency, is_of_store: false })
    }
}

impl<E: Into<BoxError> + 'static> From<E> for Failure {
    fn from(error: E) -> Self {
        let chain = ErrorChain::new(error);
        let judgment = chain.find::<Judgment>();
        Self {
            disposition: judgment.map(|judgment| judgment.disposition),
            reason: judgment.and_then(|judgment| judgment.reason.clone()),
            dependency: judgment.and_then(|judgment| judgment.dependency.clone()),
            chain: Some(chain),
        }
    }
}

/// Writes the whole chain of sources, joined by `: `.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(chain) = &self.chain else { return f.write_str("deferred") };
        for (depth, error) in chain.chain().enumerate() {
            let separator = if depth == 0 { "" } else { ": " };
            write!(f, "{separator}{error}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Failure")
            .field("disposition", &self.disposition())
            .field("error", &self.error())
            .finish_non_exhaustive()
    }
}

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
#[derive(Debug, thiserror::Error)]
#[error("{}", name_of(.0.disposition))]
#[must_use = "a handler has to return it"]
pub struct Verdict(#[source] Judgment);

/// The source of a [`Verdict`]: wrappers that hide their own type, as anyhow's does, still show their sources.
#[derive(Debug)]
pub(crate) struct Judgment {
    disposition: Disposition,
    chain: ErrorChain,
    reason: Option<Cow<'static, str>>,
    dependency: Option<Cow<'static, str>>,
}

impl Verdict {
    /// Like [`Failure::reject`](Failure::reject).
    pub fn reject(error: impl Into<BoxError> + 'static) -> Self {
        Self::new(Disposition::Reject, error)
    }

    /// Like [`Failure::retry`](Failure::retry).
    pub fn retry(error: impl Into<BoxError> + 'static) -> Self {
        Self::new(Disposition::Retry, error)
    }

    /// Like [`Failure::retry_after`](Failure::retry_after).
    pub fn retry_after(after: Duration, error: impl Into<BoxError> + 'static) -> Self {
        Self::new(Disposition::RetryAfter(after), error)
    }

    /// Like [`Failure::defer`](Failure::defer).
    pub fn defer(after: Duration) -> Self {
        Self::new(Disposition::Defer(after), "not now")
    }

    /// Like [`Failure::discard`](Failure::discard).
    pub fn discard(error: impl Into<BoxError> + 'static) -> Self {
        Self::new(Disposition::Discard, error)
    }

    /// Like [`Failure::outage`](Failure::outage).
    pub fn outage(error: impl Into<BoxError> + 'static) -> Self {
        Self::new(Disposition::Outage, error)
    }

    /// Like [`Failure::on_dependency`](Failure::on_dependency).
    pub fn on_dependency(mut self, dependency: impl Into<Cow<'static, str>>) -> Self {
        self.0.dependency = Some(dependency.into());
        self
    }

    /// Like [`Failure::with_reason`](Failure::with_reason).
    pub fn with_reason(mut self, code: impl Into<Cow<'static, str>>) -> Self {
        self.0.reason = Some(code.into());
        self
    }

    fn new(disposition: Disposition, error: impl Into<BoxError> + 'static) -> Self {
        Self(Judgment { disposition, chain: ErrorChain::new(error), reason: None, dependency: None })
    }
}

const fn name_of(disposition: Disposition) -> &'static str {
    match disposition {
        Disposition::Retry | Disposition::RetryAfter(_) => "to be retried",
        Disposition::Reject
        | Disposition::Defer(_)
        | Disposition::Discard
        | Disposition::Outage
        | Disposition::Malformed => disposition.name(),
    }
}

impl fmt::Display for Judgment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.chain.error(), f)
    }
}

impl Error for Judgment {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.chain.error().source()
    }
}

#[cfg(test)]
mod tests;
