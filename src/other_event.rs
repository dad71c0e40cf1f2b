//! Events that are not of SQS, such as warm-up pings, and the user's closure that takes them.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::oneshot;
use tokio::time::Instant;
use tracing::{Instrument, error_span};

use crate::batch::work::Host;
use crate::error::{Error, Kind};
use crate::flow::FOR_THE_RESPONSE;
use crate::{BoxError, Invocation};

type Taken = Pin<Box<dyn Future<Output = Result<Value, BoxError>> + Send>>;

/// The closure of [`on_other_event`](crate::Consumer::on_other_event).
#[derive(Clone)]
pub(crate) struct TakeOther(Arc<dyn Fn(Value) -> Taken + Send + Sync>);

impl TakeOther {
    pub(crate) fn new<R, E>(take: impl Fn(Value) -> R + Send + Sync + 'static) -> Self
    where
        R: Future<Output = Result<Value, E>> + Send + 'static,
        E: Into<BoxError>,
    {
        Self(Arc::new(move |event| {
            let taken = take(event);
            Box::pin(async move { taken.await.map_err(Into::into) })
        }))
    }

    /// Takes the event where handlers run, until it ends or time is up.
    pub(crate) async fn take(
        &self,
        event: Value,
        host: &Host,
        invocation: &Invocation,
    ) -> Result<Value, Error> {
        let deadline = Instant::from_std(invocation.deadline());
        let until = deadline.checked_sub(FOR_THE_RESPONSE).unwrap_or(deadline);
        let (answer, answered) = oneshot::channel();
        let take = self.clone();
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
