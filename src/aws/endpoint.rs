//! What earlier calls have shown about an endpoint: whether it answers, and whether its connections are alive.
#![expect(clippy::disallowed_methods, reason = "impure: it reads the clock")]

use std::error::Error;
use std::future::Future;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_runtime_api::client::result::SdkError;
use tokio::time::timeout;

use crate::aws::http::Http;

/// The timeout of the single try at an endpoint that hangs. Only a longer silence shows that an endpoint hangs.
const SHORT_TIMEOUT: Duration = Duration::from_millis(500);

/// After this the full timeout is tried again: a short try cannot tell a slow endpoint from one that hangs.
const HANG_LASTS: Duration = Duration::from_secs(300);

/// The endpoint of a service.
#[derive(Debug, Default)]
pub(crate) struct Endpoint {
    http: Option<Http>,
    hung: Mutex<Option<Instant>>,
}

/// The outcome of a call.
#[derive(Debug)]
pub(crate) enum CallOutcome<T, E> {
    Answered(T),
    /// An error from the service, or one before the request was sent.
    Refused(SdkError<E, HttpResponse>),
    ConnectionFailed(SdkError<E, HttpResponse>),
    TimedOut,
}

impl Endpoint {
    /// An endpoint whose connections are redrive's own.
    pub(crate) fn over(http: Http) -> Self {
        Self { http: Some(http), hung: Mutex::default() }
    }

    /// The timeout and the number of tries for a call, given the usual ones: an endpoint that hangs gets a single short
    /// try.
    pub(crate) fn limits(&self, usual: Duration, tries: usize) -> (Duration, usize) {
        let hangs = self.with_hung(|hung| hangs(*hung, Instant::now()));
        if hangs { (usual.min(SHORT_TIMEOUT), 1) } else { (usual, tries) }
    }

    /// Waits for a call up to a limit, and remembers its outcome. After a failed connection or a timeout the next call gets
    /// a fresh connection.
    pub(crate) async fn call<T, E: Error>(
        &self,
        limit: Duration,
        call: impl Future<Output = Result<T, SdkError<E, HttpResponse>>>,
    ) -> CallOutcome<T, E> {
        let connections = self.http.as_ref().map(|http| (http, http.generation()));
        let outcome = match timeout(limit, call).await {
            Ok(Ok(answer)) => CallOutcome::Answered(answer),
            Ok(Err(error)) => match error {
                SdkError::DispatchFailure(ref failure) if !failure.is_timeout() => {
                    CallOutcome::ConnectionFailed(error)
                }
                SdkError::DispatchFailure(_) | SdkError::TimeoutError(_) => CallOutcome::TimedOut,
                _ => CallOutcome::Refused(error),
            },
            Err(_elapsed) => CallOutcome::TimedOut,
        };
        match &outcome {
            CallOutcome::Answered(_) => self.answered(),
            CallOutcome::Refused(error) if error.raw_response().is_some() => self.answered(),
            CallOutcome::Refused(_) => {}
            CallOutcome::ConnectionFailed(_) | CallOutcome::TimedOut => {
                if let Some((http, generation)) = connections {
                    http.drop_connections(generation);
                }
            }
        }
        if matches!(outcome, CallOutcome::TimedOut) {
            self.with_hung(|hung| *hung = since(*hung, limit, Instant::now()));
        }
        outcome
    }

    fn answered(&self) {
        self.with_hung(|hung| *hung = None);
    }

    fn with_hung<T>(&self, look: impl FnOnce(&mut Option<Instant>) -> T) -> T {
        look(&mut self.hung.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Since when an endpoint hangs, after a call timed out. A short try does not restart the time.
fn since(hung: Option<Instant>, limit: Duration, now: Instant) -> Option<Instant> {
    if limit > SHORT_TIMEOUT { Some(now) } else { hung }
}

fn hangs(hung: Option<Instant>, now: Instant) -> bool {
    hung.is_some_and(|since| now.saturating_duration_since(since) < HANG_LASTS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_hangs_from_a_long_silence_on_for_five_minutes() {
        let now = Instant::now();
        let later = |seconds| now + Duration::from_secs(seconds);
        let long = Duration::from_secs(2);
        assert!(!hangs(None, now));
        // The deadline was near, which says nothing about the endpoint.
        assert_eq!(since(None, Duration::from_millis(300), now), None);
        let hung = since(None, long, now);
        assert!(hangs(hung, now) && hangs(hung, later(299)) && !hangs(hung, later(300)));
        let still = since(hung, SHORT_TIMEOUT, later(299));
        assert!(!hangs(still, later(300)), "short tries do not put off the long one");
        let again = since(still, long, later(301));
        assert!(hangs(again, later(600)), "one long try in five minutes");
    }
}
