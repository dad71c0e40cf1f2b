//! What the tests of the wire protocol share.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use http::{Request, Response};
use serde_json::Value;

use super::{Call, answer};
use crate::sqs::Sqs;

/// A standard queue `q`, a FIFO queue `f.fifo`, and a time to ask at.
pub(super) struct World {
    pub(super) queues: Sqs,
    pub(super) now: SystemTime,
}

/// A refusal as a client sees it.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) status: u16,
    pub(super) shape: String,
    pub(super) header: String,
    pub(super) message: String,
}

impl World {
    pub(super) fn new() -> Self {
        let now = UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        let mut queues = Sqs::new("eu-west-1", "123456789012");
        queues.create("q", &BTreeMap::new(), now).unwrap();
        let fifo = BTreeMap::from([("FifoQueue".to_owned(), "true".to_owned())]);
        queues.create("f.fifo", &fifo, now).unwrap();
        Self { queues, now }
    }

    pub(super) fn pass(&mut self, seconds: u64) {
        self.now += Duration::from_secs(seconds);
    }

    /// Asks for something that must succeed.
    pub(super) fn ask(&mut self, operation: &str, input: Value) -> Value {
        let (response, _) = self.call(operation, input);
        assert_eq!(response.status(), 200, "{:?}", response.body());
        serde_json::from_slice(response.body()).unwrap()
    }

    /// Asks for something that must be refused.
    pub(super) fn refused(&mut self, operation: &str, input: Value) -> Refusal {
        let (response, _) = self.call(operation, input);
        let body: Value = serde_json::from_slice(response.body()).unwrap();
        let text = |name: &str| body[name].as_str().unwrap().to_owned();
        Refusal {
            status: response.status().as_u16(),
            shape: text("__type"),
            header: response.headers()["x-amzn-query-error"].to_str().unwrap().to_owned(),
            message: text("message"),
        }
    }

    /// Sends a form of the query protocol; gives the status and the answer, with `-` for the request id.
    pub(super) fn form(&mut self, body: &str) -> String {
        let request = Request::post("/")
            .header("Host", "127.0.0.1:4566")
            .header("Content-Type", "application/x-www-form-urlencoded")
            .body(Bytes::from(format!("Version=2012-11-05&{body}")))
            .unwrap();
        let (response, _) = answer(&mut self.queues, &request, self.now);
        let id = response.headers()["x-amzn-requestid"].to_str().unwrap().to_owned();
        let text = String::from_utf8(response.body().to_vec()).unwrap().replace(&id, "-");
        format!("{} {text}", response.status().as_u16())
    }

    #[expect(clippy::needless_pass_by_value, reason = "callers write json!() in place")]
    pub(super) fn call(&mut self, operation: &str, input: Value) -> (Response<Bytes>, Call) {
        let request = request(&format!("AmazonSQS.{operation}"), &input);
        answer(&mut self.queues, &request, self.now)
    }
}

pub(super) fn request(target: &str, input: &Value) -> Request<Bytes> {
    Request::post("/")
        .header("Host", "127.0.0.1:4566")
        .header("X-Amz-Target", target)
        .header("Content-Type", "application/x-amz-json-1.0")
        .body(Bytes::from(input.to_string()))
        .unwrap()
}
