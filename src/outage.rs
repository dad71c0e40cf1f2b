//! What else a function does while the dependency of all its messages is down, such as pausing its event source mapping.

use std::future::Future;
use std::time::{Instant, SystemTime};

use futures_util::future::{BoxFuture, FutureExt};

/// Code that runs while the dependency of all messages of a function is down, in addition to returning the messages
/// to the queue. `redrive-pause` pauses the event source mapping.
///
/// [`Consumer::on_outage`](crate::Consumer::on_outage) says when redrive calls it.
///
/// ```
/// use redrive::{Consumer, OnOutage, Outage};
///
/// struct Warn;
///
/// impl OnOutage for Warn {
///     async fn on_outage(&self, outage: Outage) {
///         let down_for = outage.now.duration_since(outage.began).unwrap_or_default();
///         tracing::warn!(queue = outage.queue_arn, ?down_for, "the bank is down");
///     }
/// }
/// # async fn place(order: String) -> Result<(), redrive::Failure> { Ok(()) }
/// let consumer = Consumer::new(place).on_outage(Warn);
/// ```
pub trait OnOutage: Send + Sync + 'static {
    /// Runs after a batch on Lambda, before its response. redrive drops the future at [`Outage::until`]. It cannot
    /// change the response: a panic or a timeout is logged.
    fn on_outage(&self, outage: Outage) -> impl Future<Output = ()> + Send;
}

/// A dependency that all messages of a function need is down, see [`OnOutage`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Outage {
    /// The ARN of the queue that the batch came from.
    pub queue_arn: String,
    /// The ARN that Lambda invoked, with the alias or version if the mapping names one.
    pub function_arn: String,
    /// When the circuit breaker of this process opened, on the wall clock.
    pub began: SystemTime,
    /// The present time on the wall clock.
    pub now: SystemTime,
    /// 100 ms before the deadline of the invocation, on tokio's clock.
    pub until: Instant,
}

/// An [`OnOutage`] of any type.
pub(crate) trait AnyOnOutage: Send + Sync {
    fn on_outage(&self, outage: Outage) -> BoxFuture<'_, ()>;
}

impl<O: OnOutage> AnyOnOutage for O {
    fn on_outage(&self, outage: Outage) -> BoxFuture<'_, ()> {
        OnOutage::on_outage(self, outage).boxed()
    }
}
