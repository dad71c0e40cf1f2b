//! Helpers for the tests of the operations.

use std::time::{Duration, UNIX_EPOCH};

use serde_json::Value;

use super::Logs;
use super::api::SERVICE;
use crate::protocol::testing::Client;

/// Returns a client of the group `/shop`, with three events in two streams.
pub(super) fn client() -> Client<Logs> {
    let logs = Logs::new("eu-west-1", "123456789012", ["/shop".to_owned()], UNIX_EPOCH);
    let mut client = Client::new(&SERVICE, logs);
    client.write("a", "one tea", 1_000);
    client.write("b", "two milk", 2_000);
    client.write("a", "three tea", 3_000);
    client
}

impl Client<Logs> {
    pub(super) fn write(&mut self, stream: &str, line: &str, at: u64) {
        self.state.write("/shop", stream, line, UNIX_EPOCH + Duration::from_millis(at));
    }

    /// Returns the messages of the group that match, without newlines.
    pub(super) fn messages(&mut self, mut input: Value) -> Vec<String> {
        input["logGroupName"] = "/shop".into();
        let found = self.ask("FilterLogEvents", input);
        let messages =
            found["events"].as_array().unwrap().iter().map(|event| event["message"].as_str().unwrap());
        messages.map(|message| message.trim_end().to_owned()).collect()
    }
}
