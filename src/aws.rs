//! The clients of the AWS services that a consumer calls, and the observed health of their endpoints.
#![expect(clippy::disallowed_methods, reason = "impure: it reads the clock")]

mod freeze;
mod http;
pub(crate) mod letter;
pub(crate) mod settle;

use std::error::Error;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_sqs::config::StalledStreamProtectionConfig;
use aws_sdk_sqs::config::retry::RetryConfig;
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_runtime_api::client::result::SdkError;
use redrive_http::Network;
use redrive_sqs::Address;
use tokio::time::timeout;

use crate::aws::http::Http;
use crate::error::Kind;

/// The timeout of the single try at an endpoint that hangs. Only a longer silence proves that an endpoint hangs.
const SHORT_TIMEOUT: Duration = Duration::from_millis(500);

/// The time after which a call gets the full timeout again: a short try cannot tell a slow endpoint from one that hangs.
const HANG_LASTS: Duration = Duration::from_secs(300);

/// SQS and its client.
pub(crate) type Sqs = Service<aws_sdk_sqs::Client>;
/// CloudWatch and its client.
pub(crate) type CloudWatch = Service<aws_sdk_cloudwatch::Client>;

/// A client and its endpoint, shared by all batches of a consumer and its clones.
#[derive(Debug, Clone)]
pub(crate) struct Service<C> {
    pub(crate) client: C,
    pub(crate) endpoint: Arc<Endpoint>,
}

/// The user's own client.
impl Sqs {
    pub(crate) fn given(client: &aws_sdk_sqs::Client) -> Self {
        Self { client: once(client.config()), endpoint: Arc::default() }
    }
}

impl CloudWatch {
    pub(crate) fn given(client: aws_sdk_cloudwatch::Client) -> Self {
        Self { client, endpoint: Arc::default() }
    }
}

/// Creates a client without the SDK's retries, which wait too long and repeat whole batches. redrive retries by itself.
fn once(config: &aws_sdk_sqs::Config) -> aws_sdk_sqs::Client {
    let config = config.to_builder().retry_config(RetryConfig::disabled());
    // It cuts off slow answers, which are bounded anyway: <https://github.com/awslabs/aws-sdk-rust/issues/1148>.
    let config = config.stalled_stream_protection(StalledStreamProtectionConfig::disabled());
    aws_sdk_sqs::Client::from_conf(config.build())
}

/// The region, credentials and endpoints of the environment, and one HTTP client for all services.
#[derive(Debug)]
pub(crate) struct Environment {
    config: SdkConfig,
    http: Http,
}

impl Environment {
    /// Loads the environment. If it has no region, a worker uses the one in its queue's URL.
    ///
    /// # Errors
    /// There is no region, or the proxy or the certificates cannot be used.
    pub(crate) async fn load(queue_url: Option<&str>) -> Result<Self, Kind> {
        let http = Http::new(Network::of_environment(None).await.map_err(Kind::Network)?);
        let config = aws_config::defaults(BehaviorVersion::latest()).http_client(http.clone()).load().await;
        let of_queue = || Address::parse(queue_url?).ok()?.region().map(str::to_ascii_lowercase);
        let region = config.region().cloned().or_else(|| of_queue().map(Region::new)).ok_or(Kind::Region)?;
        Ok(Self { config: config.into_builder().region(region).build(), http })
    }

    pub(crate) fn sqs(&self) -> Sqs {
        Service { client: once(&(&self.config).into()), endpoint: self.endpoint() }
    }

    pub(crate) fn cloudwatch(&self) -> CloudWatch {
        Service { client: aws_sdk_cloudwatch::Client::new(&self.config), endpoint: self.endpoint() }
    }

    fn endpoint(&self) -> Arc<Endpoint> {
        Arc::new(Endpoint { http: Some(self.http.clone()), hung: Mutex::default() })
    }
}

/// The endpoint of a service, with its connections and the last time that it hung.
#[derive(Debug, Default)]
pub(crate) struct Endpoint {
    /// `None` for the user's own client, whose connections redrive does not manage.
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
    /// Returns the timeout and the number of tries for a call, given the usual ones. An endpoint that hangs gets a single short
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

/// Returns the time since which an endpoint hangs, after a call timed out. A short try does not restart the time.
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
