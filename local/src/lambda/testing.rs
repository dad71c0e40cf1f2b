//! What the tests of Lambda's API share.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use http::{Request, Response};
use serde_json::Value;

use super::{Lambda, answer};
use crate::clock::ClientClock;
use crate::mapping::MappingConfig;
use crate::runtime_api::FunctionConfig;

/// The queue `orders` feeds `worker`, the queue `letters.fifo` feeds `clerk`.
pub(super) struct World {
    pub(super) lambda: Lambda,
    now: SystemTime,
}

impl World {
    pub(super) fn new() -> Self {
        let now = UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        let function = |name: &str| FunctionConfig {
            name: name.into(),
            command: "/opt/bootstrap".into(),
            ..FunctionConfig::default()
        };
        let mapping = |queue: &str, function: &str| MappingConfig {
            queue: queue.into(),
            function: function.into(),
            report_batch_item_failures: true,
            ..MappingConfig::default()
        };
        let worker =
            FunctionConfig { environment: [("SHOP".into(), "tea".into())].into(), ..function("worker") };
        let clerk = FunctionConfig { log_group: Some("/desk".into()), ..function("clerk") };
        let mappings = [mapping("orders", "worker"), mapping("letters.fifo", "clerk")];
        Self { lambda: Lambda::new("eu-west-1", "123456789012", &[worker, clerk], &mappings, now), now }
    }

    pub(super) fn call(&mut self, method: &str, path: &str, body: &str) -> Response<Bytes> {
        let body = Bytes::from(body.to_owned());
        let request = Request::builder().method(method).uri(path).body(body).unwrap();
        answer(&mut self.lambda, &request, self.now, ClientClock::default()).0
    }

    /// Asks for something that must succeed.
    pub(super) fn ask(&mut self, method: &str, path: &str, body: &str) -> Value {
        let response = self.call(method, path, body);
        assert!(response.status().is_success(), "{:?}", response.body());
        serde_json::from_slice(response.body()).unwrap()
    }

    /// Asks for something that must be refused: the status, the exception and its message.
    pub(super) fn refused(&mut self, method: &str, path: &str, body: &str) -> (u16, String, String) {
        let response = self.call(method, path, body);
        let said: Value = serde_json::from_slice(response.body()).unwrap();
        let message = said.get("message").or(said.get("Message")).and_then(Value::as_str).unwrap();
        let shape = response.headers()["x-amzn-errortype"].to_str().unwrap();
        (response.status().as_u16(), shape.to_owned(), message.to_owned())
    }

    pub(super) fn path(&self, mapping: usize) -> String {
        format!("/2015-03-31/event-source-mappings/{}", self.lambda.mappings[mapping].id)
    }

    /// Changes the first mapping.
    pub(super) fn update(&mut self, body: &Value) -> Value {
        let path = self.path(0);
        self.ask("PUT", &path, &body.to_string())
    }

    pub(super) fn mapping(&mut self) -> Value {
        let path = self.path(0);
        self.ask("GET", &path, "")
    }

    pub(super) fn settle(&mut self) {
        self.lambda.settled(0, self.now);
    }
}
