//! What calls have taught about where they go: whether it answers, and whether its connections are alive.

use std::error::Error;
use std::future::Future;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_runtime_api::client::result::SdkError;
use tokio::time::timeout;

use crate::aws::http::Http;

/// What the one try costs at an endpoint that hung, and what a call must have waited to say that it hangs.
const SHORT: Duration = Duration::from_millis(500);

/// An endpoint that takes longer than the short try is not known from one that hangs, but shall be heard again.
const FORGIVEN: Duration = Duration::from_secs(300);

/// Where the calls of a service go.
#[derive(Debug, Default)]
pub(crate) struct Endpoint {
    http: Option<Http>,
    hung: Mutex<Option<Instant>>,
}

/// What came of a call.
#[derive(Debug)]
pub(crate) enum Heard<T, E> {
    Answer(T),
    /// An error of the service's, or one of ours before the request went out.
    Refusal(SdkError<E, HttpResponse>),
    /// The connection failed.
    Lost(SdkError<E, HttpResponse>),
    Silence,
}

impl Endpoint {
    /// One whose connections are ours.
    pub(crate) fn over(http: Http) -> Self {
        Self { http: Some(http), hung: Mutex::default() }
    }

    /// How long a call may wait now that usually may wait for so long, and how often it may be tried: an endpoint that
    /// hung has one short try until it answers.
    pub(crate) fn terms(&self, usual: Duration, tries: usize) -> (Duration, usize) {
        let hangs = self.with_hung(|hung| hangs(*hung, Instant::now()));
        if hangs { (usual.min(SHORT), 1) } else { (usual, tries) }
    }

    /// Waits for a call, but not for ever, and learns from it. After a call that failed on its way the next has a fresh
    /// connection.
    pub(crate) async fn hear<T, E: Error>(
        &self,
        patience: Duration,
        call: impl Future<Output = Result<T, SdkError<E, HttpResponse>>>,
    ) -> Heard<T, E> {
        let connections = self.http.as_ref().map(|http| (http, http.generation()));
        let heard = match timeout(patience, call).await {
            Ok(Ok(answer)) => Heard::Answer(answer),
            Ok(Err(error)) => match error {
                SdkError::DispatchFailure(ref failure) if !failure.is_timeout() => Heard::Lost(error),
                SdkError::DispatchFailure(_) | SdkError::TimeoutError(_) => Heard::Silence,
                _ => Heard::Refusal(error),
            },
            Err(_elapsed) => Heard::Silence,
        };
        match &heard {
            Heard::Answer(_) => self.answered(),
            Heard::Refusal(error) if error.raw_response().is_some() => self.answered(),
            Heard::Refusal(_) => {}
            Heard::Lost(_) | Heard::Silence => {
                if let Some((http, generation)) = connections {
                    http.forget(generation);
                }
            }
        }
        if matches!(heard, Heard::Silence) {
            self.with_hung(|hung| *hung = since(*hung, patience, Instant::now()));
        }
        heard
    }

    fn answered(&self) {
        self.with_hung(|hung| *hung = None);
    }

    fn with_hung<T>(&self, look: impl FnOnce(&mut Option<Instant>) -> T) -> T {
        look(&mut self.hung.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Since when an endpoint hangs that left a call unanswered. A short try does not begin it anew.
fn since(hung: Option<Instant>, patience: Duration, now: Instant) -> Option<Instant> {
    if patience > SHORT { Some(now) } else { hung }
}

fn hangs(hung: Option<Instant>, now: Instant) -> bool {
    hung.is_some_and(|since| now.saturating_duration_since(since) < FORGIVEN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_hangs_from_a_long_silence_until_it_is_forgiven() {
        let now = Instant::now();
        let later = |seconds| now + Duration::from_secs(seconds);
        let long = Duration::from_secs(2);
        assert!(!hangs(None, now));
        // The deadline was near, which says nothing of the endpoint.
        assert_eq!(since(None, Duration::from_millis(300), now), None);
        let hung = since(None, long, now);
        assert!(hangs(hung, now) && hangs(hung, later(299)) && !hangs(hung, later(300)));
        let still = since(hung, SHORT, later(299));
        assert!(!hangs(still, later(300)), "short tries do not put off the long one");
        let again = since(still, long, later(301));
        assert!(hangs(again, later(600)), "one long try in five minutes");
    }
}
