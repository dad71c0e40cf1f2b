//! The real SDK clients over an HTTP client that reaches an account in the same process.

use std::time::Duration;

use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;
use bytes::Bytes;
use http::{Request, Response};
use serde_json::{Value, json};

use super::{Aws, Fault};

impl Aws {
    pub(crate) fn sqs(&self) -> aws_sdk_sqs::Client {
        let config = aws_sdk_sqs::Config::builder()
            .behavior_version(aws_sdk_sqs::config::BehaviorVersion::latest())
            .region(aws_sdk_sqs::config::Region::new("eu-central-1"))
            .credentials_provider(aws_sdk_sqs::config::Credentials::new("test", "test", None, None, "test"))
            .http_client(self.clone());
        aws_sdk_sqs::Client::from_conf(config.build())
    }

    pub(crate) fn cloudwatch(&self) -> aws_sdk_cloudwatch::Client {
        let config = aws_sdk_cloudwatch::Config::builder()
            .behavior_version(aws_sdk_cloudwatch::config::BehaviorVersion::latest())
            .region(aws_sdk_cloudwatch::config::Region::new("eu-central-1"))
            .credentials_provider(aws_sdk_cloudwatch::config::Credentials::new(
                "test", "test", None, None, "test",
            ))
            .http_client(self.clone());
        aws_sdk_cloudwatch::Client::from_conf(config.build())
    }

    async fn answer(self, request: Request<Bytes>) -> Response<Bytes> {
        let operation = operation(&request);
        let number = self.account().calls().values().sum();
        let fault = self.faults.of(&operation, number);
        tokio::time::sleep(self.latency).await;
        match fault {
            Fault::None => self.reach(&request),
            Fault::Refused => refusal(500, "InternalFailure"),
            Fault::Throttled => refusal(400, "RequestThrottled"),
            Fault::Denied => refusal(403, "AccessDeniedException"),
            Fault::Hangs => std::future::pending().await,
            Fault::Blank => Response::builder().status(200).body("{}".into()).unwrap(),
            Fault::AnswerLost => {
                self.reach(&request);
                std::future::pending().await
            }
            Fault::Twice => {
                self.reach(&request);
                self.reach(&request)
            }
            Fault::HalfFails => self.half(request),
        }
    }

    fn reach(&self, request: &Request<Bytes>) -> Response<Bytes> {
        let now = self.now();
        self.account().answer(request, now)
    }

    /// Does half of the entries and says that the others failed.
    fn half(&self, mut request: Request<Bytes>) -> Response<Bytes> {
        let mut body: Value = serde_json::from_slice(request.body()).unwrap();
        let Some(entries) = body["Entries"].as_array_mut() else { return self.reach(&request) };
        let (odd, even): (Vec<_>, Vec<_>) = entries.drain(..).enumerate().partition(|(at, _)| at % 2 == 1);
        let failed = odd.into_iter().map(|(_, entry)| {
            json!({ "Id": entry["Id"], "SenderFault": false, "Code": "InternalError", "Message": "try again" })
        });
        let failed: Vec<_> = failed.collect();
        body["Entries"] = even.into_iter().map(|(_, entry)| entry).collect();
        *request.body_mut() = serde_json::to_vec(&body).unwrap().into();
        let response = self.reach(&request);
        let mut answered: Value = serde_json::from_slice(response.body()).unwrap();
        answered["Failed"] = failed.into();
        response.map(|_| serde_json::to_vec(&answered).unwrap().into())
    }
}

fn operation(request: &Request<Bytes>) -> String {
    let target = request.headers().get("x-amz-target").map(|target| target.to_str().unwrap().to_owned());
    let name = target.unwrap_or_else(|| request.uri().path().to_owned());
    name.rsplit(['.', '/']).next().unwrap_or_default().to_owned()
}

fn refusal(status: u16, code: &str) -> Response<Bytes> {
    let body = json!({ "__type": code, "message": "by the test" }).to_string();
    let response = Response::builder().status(status).header("content-type", "application/x-amz-json-1.0");
    response.header("x-amzn-query-error", format!("{code};Sender")).body(body.into()).unwrap()
}

impl HttpClient for Aws {
    fn http_connector(&self, _: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}

impl HttpConnector for Aws {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let aws = self.clone();
        HttpConnectorFuture::new(async move {
            let request = request.try_into_http1x().unwrap();
            let request = request.map(|body| Bytes::copy_from_slice(body.bytes().expect("a body in memory")));
            let response = aws.answer(request).await;
            Ok(HttpResponse::try_from(response.map(SdkBody::from)).unwrap())
        })
    }
}

/// What a call takes here.
pub(crate) const LATENCY: Duration = Duration::from_millis(5);
