//! The real SDK clients over an HTTP client that reaches the account in the same process.

use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;
use bytes::Bytes;
use http::{Request, Response};
use tokio::time::sleep;

use super::{TestAws, lock};
use crate::account::REGION;

impl TestAws {
    /// Returns a client of this account's SQS.
    #[must_use]
    pub fn sqs(&self) -> aws_sdk_sqs::Client {
        use aws_sdk_sqs::config::{
            BehaviorVersion, Config, Credentials, Region, StalledStreamProtectionConfig,
        };
        let config = Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::new(REGION))
            .credentials_provider(Credentials::new("test", "test", None, None, "test"))
            // The protection compares tokio's clock with the machine's. On a busy machine it would repeat a call that waits.
            .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
            .http_client(self.clone());
        aws_sdk_sqs::Client::from_conf(config.build())
    }

    /// Returns a client of this account's CloudWatch.
    #[must_use]
    pub fn cloudwatch(&self) -> aws_sdk_cloudwatch::Client {
        use aws_sdk_cloudwatch::config::{
            BehaviorVersion, Config, Credentials, Region, StalledStreamProtectionConfig,
        };
        let config = Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::new(REGION))
            .credentials_provider(Credentials::new("test", "test", None, None, "test"))
            .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
            .http_client(self.clone());
        aws_sdk_cloudwatch::Client::from_conf(config.build())
    }

    /// Returns an HTTP client that reaches this account, for a client of another service that the account has, such as the Scheduler.
    #[must_use]
    pub fn http_client(&self) -> aws_smithy_runtime_api::client::http::SharedHttpClient {
        aws_smithy_runtime_api::client::http::SharedHttpClient::new(self.clone())
    }

    /// Answers a call. A long poll waits for messages until its time is up.
    pub(super) async fn answer(&self, request: &Request<Bytes>) -> Response<Bytes> {
        let (began, mut changes) = (self.now(), self.shared.changes.subscribe());
        loop {
            changes.mark_unchanged();
            let (response, until) = self.with(|account, now| {
                let (response, wait) = account.try_answer(request, now);
                let until = wait.and_then(|wait| {
                    let end = began + wait.longest;
                    let next = wait.receivable.map_or(end, |receivable| receivable.min(end));
                    if end <= now {
                        account.end_wait(&wait);
                    }
                    (end > now).then(|| next.duration_since(now).unwrap_or_default())
                });
                (response, until)
            });
            let Some(until) = until else {
                self.shared.changes.send_replace(());
                return response;
            };
            tokio::select! {
                _ = changes.changed() => (),
                () = sleep(until) => (),
            }
        }
    }

    async fn call(self, request: Request<Bytes>) -> Response<Bytes> {
        let operation = operation(&request);
        let (number, latency) = {
            let mut state = self.state();
            let number = state.calls.entry(operation.clone()).or_default();
            *number += 1;
            (*number - 1, state.latency)
        };
        let fault = lock(&self.shared.faults)(&operation, number);
        sleep(latency).await;
        match fault {
            None => self.answer(&request).await,
            Some(fault) => fault.answer(&self, request).await,
        }
    }
}

/// Returns the operation, with which the JSON protocol's header and the CBOR protocol's path end.
fn operation(request: &Request<Bytes>) -> String {
    let target = request.headers().get("x-amz-target").and_then(|target| target.to_str().ok());
    let name = target.unwrap_or(request.uri().path());
    name.rsplit(['.', '/']).next().unwrap_or_default().to_owned()
}

impl HttpClient for TestAws {
    fn http_connector(&self, _: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}

impl HttpConnector for TestAws {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let aws = self.clone();
        HttpConnectorFuture::new(async move {
            let unusable = |error: &str| ConnectorError::user(error.into());
            let request = request.try_into_http1x().map_err(|error| ConnectorError::user(error.into()))?;
            let (parts, body) = request.into_parts();
            let body =
                body.bytes().ok_or_else(|| unusable("a streamed body cannot be sent to a test account"))?;
            let request = Request::from_parts(parts, Bytes::copy_from_slice(body));
            let response = Self::call(aws, request).await.map(SdkBody::from);
            HttpResponse::try_from(response).map_err(|error| ConnectorError::user(error.into()))
        })
    }
}
