//! Operations asked for in JSON, as tests like to write it.

use std::time::SystemTime;

use serde_json::Value;

use super::{Asked, perform};
use crate::clock::ClientClock;
use crate::cloudwatch::CloudWatch;
use crate::cloudwatch::store::moment;

/// A minute begins then.
pub(super) const NOON: u64 = 1_795_262_400;

pub(super) fn at(seconds: i64) -> SystemTime {
    moment(NOON.saturating_add_signed(seconds))
}

/// A CloudWatch at noon.
#[derive(Debug)]
pub(super) struct World {
    pub(super) cloudwatch: CloudWatch,
    pub(super) now: SystemTime,
}

impl World {
    pub(super) fn new() -> Self {
        Self { cloudwatch: CloudWatch::new("eu-west-1", "123456789012"), now: at(0) }
    }

    #[expect(clippy::needless_pass_by_value, reason = "it is written on the spot")]
    pub(super) fn ask(&mut self, operation: &str, input: Value) -> Value {
        self.try_to(operation, &input).unwrap_or_else(|refusal| panic!("{operation}: {refusal:?}"))
    }

    /// The code and the message.
    #[expect(clippy::needless_pass_by_value, reason = "it is written on the spot")]
    pub(super) fn refused(&mut self, operation: &str, input: Value) -> (&'static str, String) {
        self.try_to(operation, &input).expect_err("this is refused")
    }

    fn try_to(&mut self, operation: &str, input: &Value) -> Result<Value, (&'static str, String)> {
        let input = ciborium::Value::serialized(input).unwrap();
        let mut asked =
            Asked { cloudwatch: &mut self.cloudwatch, now: self.now, clock: ClientClock::default() };
        match perform(operation, &input, &mut asked) {
            Ok(output) => Ok(crate::cloudwatch::wire::as_json(&output)),
            Err(refusal) => Err((refusal.code(), refusal.message().unwrap_or_default().to_owned())),
        }
    }
}
