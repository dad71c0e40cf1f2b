//! [`Invocation`]: Lambda's data about the call that delivered a batch.
#![expect(clippy::disallowed_methods, reason = "impure: it reads the clock")]

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use lambda_runtime::Context;
use redrive_sqs::LONGEST_INVOCATION;

/// The invocation that delivered a message: the same for all messages of a batch, and cheap to clone.
///
/// A handler gets it from [`Message::invocation`](crate::Message::invocation), a decoder from
/// [`Record::invocation`](crate::Record::invocation). The trace header belongs to this invocation even if several
/// batches run in one process, as on Lambda Managed Instances, which do not set `_X_AMZN_TRACE_ID`.
///
/// ```
/// use redrive::{Failure, Message};
///
/// async fn greet(name: Message<String>) -> Result<(), Failure> {
///     let invocation = &name.invocation;
///     tracing::info!(name.body, trace = invocation.trace_header(), remaining = ?name.remaining(), "hello");
///     Ok(())
/// }
/// # let consumer = redrive::Consumer::new(greet);
/// ```
///
/// [`Consumer::handle`](crate::Consumer::handle) makes it from a `lambda_runtime::Context`. In a test, `Invocation::default()`
/// has 15 minutes left, and everything else is `None`.
#[derive(Clone)]
pub struct Invocation(Arc<Inner>);

struct Inner {
    /// `None` outside of Lambda.
    context: Option<Context>,
    deadline: Instant,
    /// In `redrive local`, the start of the invocation by that clock, since the epoch.
    simulated: Option<Duration>,
}

impl Invocation {
    pub(crate) fn until(deadline: Instant) -> Self {
        Self(Arc::new(Inner { context: None, deadline, simulated: None }))
    }

    /// Returns the request id, as in Lambda's own log lines such as `REPORT`.
    #[must_use]
    pub fn request_id(&self) -> Option<&str> {
        self.told(|context| &context.request_id)
    }

    /// Returns the name of the function (`AWS_LAMBDA_FUNCTION_NAME`).
    #[must_use]
    pub fn function(&self) -> Option<&str> {
        self.told(|context| &context.env_config.function_name)
    }

    /// Returns the version of the function: a number, or `$LATEST`.
    #[must_use]
    pub fn function_version(&self) -> Option<&str> {
        self.told(|context| &context.env_config.version)
    }

    /// Returns the invoked ARN, with the alias or version if the mapping names one.
    #[must_use]
    pub fn function_arn(&self) -> Option<&str> {
        let arn = &self.context()?.invoked_function_arn;
        // Without the header, lambda_runtime puts a sentence here.
        arn.starts_with("arn:").then_some(arn)
    }

    /// Returns the memory of the function, in MB.
    #[must_use]
    pub fn memory_mb(&self) -> Option<u32> {
        u32::try_from(self.context()?.env_config.memory).ok().filter(|&memory| memory > 0)
    }

    /// Returns the X-Ray trace header of the invocation, such as `Root=1-5759e988-bd862e3fe1be46a994272793;Sampled=1`. The
    /// trace of a message's sender is in [`Message::trace_header`](crate::Message::trace_header).
    /// <https://docs.aws.amazon.com/xray/latest/devguide/xray-concepts.html#xray-concepts-tracingheader>
    #[must_use]
    pub fn trace_header(&self) -> Option<&str> {
        self.context()?.xray_trace_id.as_deref()
    }

    /// Returns the CloudWatch log group of the function.
    #[must_use]
    pub fn log_group(&self) -> Option<&str> {
        self.told(|context| &context.env_config.log_group)
    }

    /// Returns the CloudWatch log stream of this process.
    #[must_use]
    pub fn log_stream(&self) -> Option<&str> {
        self.told(|context| &context.env_config.log_stream)
    }

    /// Returns the time at which Lambda ends the invocation. redrive cancels handlers earlier, at
    /// [`Message::deadline`](crate::Message::deadline).
    pub(crate) fn deadline(&self) -> Instant {
        self.0.deadline
    }

    /// Returns the time by the clock of `redrive local`, which runs faster than real time.
    pub(crate) fn simulated(&self) -> Option<Duration> {
        self.0.simulated
    }

    fn context(&self) -> Option<&Context> {
        self.0.context.as_ref()
    }

    fn told(&self, text: impl Fn(&Context) -> &String) -> Option<&str> {
        self.context().map(|context| text(context).as_str()).filter(|text| !text.is_empty())
    }
}

/// Returns the time left until a deadline, or zero if it has passed.
pub(crate) fn remaining(deadline: Instant) -> Duration {
    // tokio's clock, which tests can pause.
    deadline.saturating_duration_since(tokio::time::Instant::now().into_std())
}

impl Default for Invocation {
    fn default() -> Self {
        Self::until(tokio::time::Instant::now().into_std() + LONGEST_INVOCATION)
    }
}

/// Creates an invocation of which only the deadline is known, for a test.
impl From<tokio::time::Instant> for Invocation {
    fn from(deadline: tokio::time::Instant) -> Self {
        Self::until(deadline.into_std())
    }
}

impl From<Context> for Invocation {
    fn from(context: Context) -> Self {
        Self::of(context, None)
    }
}

impl Invocation {
    /// Converts lambda_runtime's context. Some emulators of Lambda send a deadline that is decades in the past. Lambda's
    /// longest timeout then replaces it.
    pub(crate) fn of(context: Context, simulated: Option<Duration>) -> Self {
        let left = match context.deadline().duration_since(SystemTime::now()) {
            Ok(left) => left,
            Err(past) if past.duration() > Duration::from_secs(86_400) => LONGEST_INVOCATION,
            Err(_) => Duration::ZERO,
        };
        let deadline = tokio::time::Instant::now().into_std() + left;
        Self(Arc::new(Inner { context: Some(context), deadline, simulated }))
    }
}

impl fmt::Debug for Invocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Invocation")
            .field("request_id", &self.request_id())
            .field("function", &self.function())
            .field("trace_header", &self.trace_header())
            .finish_non_exhaustive()
    }
}
