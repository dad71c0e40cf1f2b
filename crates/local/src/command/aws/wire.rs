//! The HTTP client of all calls. It remembers the endpoint, and prints it if no answer arrives.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aws_config::SdkConfig;
use aws_config::timeout::TimeoutConfig;
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpClient,
    SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use tokio::time::{Instant, sleep_until};

use crate::command::output::tell;

/// Time without an answer after which a line says what the command waits for.
const SILENCE: Duration = Duration::from_secs(5);

/// A response header that this client adds: the endpoint's address, such as `https://sqs.eu-west-1.amazonaws.com`.
pub const ANSWERED_BY: &str = "x-redrive-answered-by";

/// A wrapper of the SDK's client.
#[derive(Debug, Clone)]
pub struct Wire {
    inner: SharedHttpClient,
    /// Time limit of a call, not counting SQS's wait for messages.
    limit: Duration,
    poll: Duration,
    seen: Arc<Mutex<Seen>>,
}

#[derive(Debug, Default)]
struct Seen {
    /// The endpoints of the last call to SQS, and of the last call to any service.
    sqs: Option<String>,
    any: Option<String>,
    /// Start of the present silence, and whether the command has reported it, which it does once.
    silent_since: Option<Instant>,
    is_reported: bool,
}

#[derive(Debug)]
struct Connector {
    inner: SharedHttpConnector,
    wire: Wire,
}

impl Wire {
    pub fn around(inner: SharedHttpClient, limit: Duration) -> Self {
        Self { inner, limit, poll: Duration::ZERO, seen: Arc::default() }
    }

    /// Returns a client for calls that SQS may answer this late.
    pub fn polling(&self, poll: Duration) -> Self {
        Self { poll, ..self.clone() }
    }

    /// Returns settings that use this client. A try without an answer is not followed by a try of the same length.
    pub fn on(&self, config: SdkConfig) -> SdkConfig {
        let limit = self.limit + self.poll;
        let timeouts = TimeoutConfig::builder().operation_attempt_timeout(limit).operation_timeout(limit);
        config.into_builder().timeout_config(timeouts.build()).http_client(self.clone()).build()
    }

    /// Returns the endpoint of SQS, or else of the last call, such as `https://sqs.eu-west-1.amazonaws.com`.
    pub fn endpoint(&self) -> Option<String> {
        let seen = self.seen();
        seen.sqs.clone().or_else(|| seen.any.clone())
    }

    /// Returns the time at which to report the missing answer. A try after one that timed out belongs to the same wait.
    fn begin(&self, request: &HttpRequest) -> Instant {
        let endpoint = base(request.uri()).to_owned();
        let target = request.headers().get("x-amz-target").unwrap_or_default();
        let mut seen = self.seen();
        if target.starts_with("AmazonSQS.") {
            seen.sqs = Some(endpoint.clone());
        }
        seen.any = Some(endpoint);
        *seen.silent_since.get_or_insert_with(Instant::now) + self.silence()
    }

    fn silence(&self) -> Duration {
        SILENCE.min(self.limit / 2) + self.poll
    }

    fn end(&self, is_timeout: bool) {
        let mut seen = self.seen();
        if !is_timeout {
            seen.silent_since = None;
        }
    }

    fn report_silence(&self, endpoint: &str) {
        if !std::mem::replace(&mut self.seen().is_reported, true) {
            let (silence, limit) = (self.silence().as_secs(), (self.limit + self.poll).as_secs());
            tell(format_args!(
                "redrive: no answer from {endpoint} for {silence} s; waiting up to {limit} s (--timeout)"
            ));
        }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the part of a URL before its path, such as `http://127.0.0.1:9324`.
fn base(url: &str) -> &str {
    let host = url.find("://").map_or(0, |at| at + 3);
    let end = url[host..].find(['/', '?', '#']).map_or(url.len(), |at| host + at);
    &url[..end]
}

impl HttpClient for Wire {
    fn http_connector(
        &self,
        settings: &HttpConnectorSettings,
        components: &RuntimeComponents,
    ) -> SharedHttpConnector {
        let inner = self.inner.http_connector(settings, components);
        SharedHttpConnector::new(Connector { inner, wire: self.clone() })
    }
}

impl HttpConnector for Connector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let (wire, due) = (self.wire.clone(), self.wire.begin(&request));
        let endpoint = base(request.uri()).to_owned();
        let call = self.inner.call(request);
        HttpConnectorFuture::new(async move {
            tokio::pin!(call);
            let answer = tokio::select! {
                answer = &mut call => answer,
                () = sleep_until(due) => {
                    wire.report_silence(&endpoint);
                    call.await
                }
            };
            wire.end(answer.as_ref().is_err_and(|error| error.is_timeout()));
            answer.map(|mut answer| {
                // The error names the address.
                let _ = answer.headers_mut().try_insert(ANSWERED_BY, endpoint);
                answer
            })
        })
    }
}
