//! An SQS client whose calls wait until the test decides about each.

use std::sync::{Arc, Mutex, MutexGuard};

use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use bytes::Bytes;
use http::{Request, Response};
use redrive::reexports::{aws_sdk_sqs, tokio};
use redrive_local::kit::TestAws;
use tokio::sync::oneshot;

/// The calls of one process that were not answered.
#[derive(Debug, Clone, Default)]
pub(super) struct Wire(Arc<Mutex<Vec<Waiting>>>);

#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) request: Request<Bytes>,
    /// The answer of SQS that has not arrived yet.
    pub(super) answer: Option<Response<Bytes>>,
    caller: oneshot::Sender<Result<HttpResponse, ConnectorError>>,
}

impl Wire {
    pub(super) fn client(&self, aws: &TestAws) -> aws_sdk_sqs::Client {
        let config = aws.sqs().config().to_builder().http_client(self.clone());
        aws_sdk_sqs::Client::from_conf(config.build())
    }

    /// Returns the calls whose callers still wait, the oldest first.
    pub(super) fn waiting(&self) -> MutexGuard<'_, Vec<Waiting>> {
        let mut waiting = self.0.lock().unwrap();
        waiting.retain(|it| !it.caller.is_closed());
        waiting
    }

    pub(super) fn answer(&self, call: usize, answer: Response<Bytes>) {
        let caller = self.waiting().remove(call).caller;
        let _ = caller.send(Ok(HttpResponse::try_from(answer.map(Into::into)).unwrap()));
    }

    /// Breaks the connection of a call.
    pub(super) fn lose(&self, call: usize) {
        let caller = self.waiting().remove(call).caller;
        let _ = caller.send(Err(lost()));
    }
}

fn lost() -> ConnectorError {
    ConnectorError::io("the connection is lost".into())
}

impl HttpClient for Wire {
    fn http_connector(&self, _: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}

impl HttpConnector for Wire {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let (parts, body) = request.try_into_http1x().unwrap().into_parts();
        let body = Bytes::copy_from_slice(body.bytes().unwrap_or_default());
        let (caller, answered) = oneshot::channel();
        let request = Request::from_parts(parts, body);
        self.0.lock().unwrap().push(Waiting { request, answer: None, caller });
        HttpConnectorFuture::new(async move { answered.await.unwrap_or_else(|_| Err(lost())) })
    }
}
