//! Events that are not of SQS, such as warm-up pings, and the user's closure that takes them.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt};
use serde_json::Value;
use tokio::sync::oneshot;
use tokio::time::Instant;
use tracing::{Instrument, error_span};

use crate::error::{Error, Kind};
use crate::flow::FOR_THE_RESPONSE;
use crate::work::Host;
use crate::{BoxError, Invocation};

/// An event that is not from SQS, for [`Consumer::on_other_event`](crate::Consumer::on_other_event).
///
/// ```
/// use redrive::OtherEvent;
/// use serde_json::{Value, json};
///
/// async fn ping(event: OtherEvent) -> std::io::Result<Value> {
///     tracing::info!(remaining = ?event.invocation().remaining(), "pinged");
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
}

impl OtherEvent {
    /// An event for a test, with 15 minutes left.
    #[must_use]
    pub fn new(value: Value) -> Self {
        Self { value, invocation: Invocation::default() }
    }

    /// What was sent.
    #[must_use]
    pub const fn value(&self) -> &Value {
        &self.value
    }

    /// What was sent.
    #[must_use]
    pub fn into_value(self) -> Value {
        self.value
    }

    /// The invocation that delivered it.
    #[must_use]
    pub const fn invocation(&self) -> &Invocation {
        &self.invocation
    }
}

/// Never the event.
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
        Self(Arc::new(move |event| {
            let taken = take(event);
            async move { taken.await.map_err(Into::into) }.boxed()
        }))
    }

    /// Takes the event where handlers run, until it ends or time is up.
    pub(crate) async fn take(
        &self,
        value: Value,
        host: &Host,
        invocation: &Invocation,
    ) -> Result<Value, Error> {
        let deadline = Instant::from_std(invocation.deadline());
        let until = deadline.checked_sub(FOR_THE_RESPONSE).unwrap_or(deadline);
        let (answer, answered) = oneshot::channel();
        let take = self.clone();
        let event = OtherEvent { value, invocation: invocation.clone() };
        let code = async move {
            let taken = (take.0)(event).await;
            // Its `Display` is the user's too.
            let _ = answer.send(taken.map_err(|error| error.to_string()));
        };
        let code = code.instrument(error_span!("event", request_id = invocation.request_id()));
        let failed = |why: String| Error(Kind::OtherEvent(why));
        match host.run(code, until).await {
            Ok(()) => answered.await.expect("it has ended").map_err(failed),
            Err(problem) => Err(failed(format!("the closure of on_other_event {problem}"))),
        }
    }
}
