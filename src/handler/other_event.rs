//! Events that are not from SQS, such as warm-up pings, and the user's closure that handles them.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::{BoxFuture, FutureExt};
use serde_json::Value;

use crate::failure::BoxError;
use crate::message::invocation::{Invocation, remaining};

/// An event that is not from SQS, for [`Consumer::on_other_event`](crate::Consumer::on_other_event).
///
/// ```
/// use redrive::OtherEvent;
/// use serde_json::{Value, json};
///
/// async fn ping(event: OtherEvent) -> std::io::Result<Value> {
///     tracing::info!(remaining = ?event.remaining(), "pinged");
///     Ok(event.into_value())
/// }
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// assert_eq!(ping(OtherEvent::new(json!("ping"))).await.unwrap(), "ping");
/// # })
/// ```
#[derive(Clone)]
pub struct OtherEvent {
    value: Value,
    invocation: Invocation,
    deadline: Instant,
}

impl OtherEvent {
    /// Creates an event for a test, with 15 minutes left.
    #[must_use]
    pub fn new(value: Value) -> Self {
        let invocation = Invocation::default();
        Self { value, deadline: invocation.deadline(), invocation }
    }

    pub(crate) const fn of(value: Value, invocation: Invocation, deadline: Instant) -> Self {
        Self { value, invocation, deadline }
    }

    /// Returns the event as JSON.
    #[must_use]
    pub const fn value(&self) -> &Value {
        &self.value
    }

    /// Returns the event as JSON.
    #[must_use]
    pub fn into_value(self) -> Value {
        self.value
    }

    /// Returns the invocation that delivered the event.
    #[must_use]
    pub const fn invocation(&self) -> &Invocation {
        &self.invocation
    }

    /// Returns the time left until redrive cancels the closure, or zero if it has passed.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        remaining(self.deadline)
    }
}

/// Omits the event.
impl fmt::Debug for OtherEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OtherEvent").field("invocation", &self.invocation).finish_non_exhaustive()
    }
}

/// The closure of [`on_other_event`](crate::Consumer::on_other_event).
#[derive(Clone)]
pub(crate) struct TakeOther(
    Arc<dyn Fn(OtherEvent) -> BoxFuture<'static, Result<Value, BoxError>> + Send + Sync>,
);

impl TakeOther {
    pub(crate) fn new<R, E>(take: impl Fn(OtherEvent) -> R + Send + Sync + 'static) -> Self
    where
        R: Future<Output = Result<Value, E>> + Send + 'static,
        E: Into<BoxError>,
    {
        Self(Arc::new(move |event| take(event).map(|taken| taken.map_err(Into::into)).boxed()))
    }

    pub(crate) fn call(&self, event: OtherEvent) -> BoxFuture<'static, Result<Value, BoxError>> {
        (self.0)(event)
    }
}
