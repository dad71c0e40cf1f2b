//! What the tests of CloudWatch Logs share.

use std::time::{Duration, UNIX_EPOCH};

use bytes::Bytes;
use http::Request;
use serde_json::Value;

use super::{Logs, answer};

/// The group `/shop`, with three events in two streams.
pub(super) struct World {
    logs: Logs,
}

impl World {
    pub(super) fn new() -> Self {
        let logs = Logs::new("eu-west-1", "123456789012", ["/shop".to_owned()], UNIX_EPOCH);
        let mut world = Self { logs };
        world.write("a", "one tea", 1_000);
        world.write("b", "two milk", 2_000);
        world.write("a", "three tea", 3_000);
        world
    }

    pub(super) fn write(&mut self, stream: &str, line: &str, at: u64) {
        self.logs.write("/shop", stream, line, UNIX_EPOCH + Duration::from_millis(at));
    }

    #[expect(clippy::needless_pass_by_value, reason = "callers write json!() in place")]
    fn call(&self, operation: &str, input: Value) -> (u16, Value) {
        let request = Request::post("/")
            .header("X-Amz-Target", format!("Logs_20140328.{operation}"))
            .body(Bytes::from(input.to_string()))
            .unwrap();
        let (response, _) = answer(&self.logs, &request);
        (response.status().as_u16(), serde_json::from_slice(response.body()).unwrap())
    }

    /// Asks for something that must succeed.
    pub(super) fn ask(&self, operation: &str, input: Value) -> Value {
        let (status, output) = self.call(operation, input);
        assert_eq!(status, 200, "{output}");
        output
    }

    /// Asks for something that must be refused: the exception and its message.
    pub(super) fn refused(&self, operation: &str, input: Value) -> (String, String) {
        let (status, output) = self.call(operation, input);
        assert_eq!(status, 400, "{output}");
        let text = |name: &str| output[name].as_str().unwrap().to_owned();
        (text("__type"), text("message"))
    }

    /// The messages of the group that are found, without the ends of their lines.
    pub(super) fn messages(&self, mut input: Value) -> Vec<String> {
        input["logGroupName"] = "/shop".into();
        let found = self.ask("FilterLogEvents", input);
        let messages =
            found["events"].as_array().unwrap().iter().map(|event| event["message"].as_str().unwrap());
        messages.map(|message| message.trim_end().to_owned()).collect()
    }
}
