//! Helpers for the tests of the operations.

use serde_json::Value;

use super::Lambda;
use super::api::SERVICE;
use crate::mapping::MappingConfig;
use crate::protocol::testing::{Client, Refused, accepted, at, refused};
use crate::runtime_api::FunctionConfig;

/// Returns a client of two mappings: the queue `orders` feeds `worker`, the queue `letters.fifo` feeds `clerk`.
pub(super) fn client() -> Client<Lambda> {
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
    let worker = FunctionConfig { environment: [("SHOP".into(), "tea".into())].into(), ..function("worker") };
    let clerk = FunctionConfig { log_group: Some("/desk".into()), ..function("clerk") };
    let mappings = [mapping("orders", "worker"), mapping("letters.fifo", "clerk")];
    Client::new(&SERVICE, Lambda::new("eu-west-1", "123456789012", &[worker, clerk], &mappings, at(0)))
}

impl Client<Lambda> {
    /// Makes a GET request that must succeed.
    pub(super) fn get(&mut self, path: &str) -> Value {
        accepted(&self.rest("GET", path, ""))
    }

    pub(super) fn put(&mut self, path: &str, body: &Value) -> Value {
        accepted(&self.rest("PUT", path, &body.to_string()))
    }

    /// Makes a request that must be refused. Returns the status, the exception and its message.
    pub(super) fn refuses(&mut self, method: &str, path: &str, body: &str) -> (u16, String, String) {
        let Refused { status, shape, message, .. } = refused(&self.rest(method, path, body));
        (status, shape, message)
    }

    pub(super) fn path(&self, mapping: usize) -> String {
        format!("/2015-03-31/event-source-mappings/{}", self.state.mappings[mapping].id)
    }

    pub(super) fn update(&mut self, body: &Value) -> Value {
        let path = self.path(0);
        self.put(&path, body)
    }

    pub(super) fn mapping(&mut self) -> Value {
        let path = self.path(0);
        self.get(&path)
    }

    pub(super) fn settle(&mut self) {
        self.state.settled(0, self.now);
    }
}
