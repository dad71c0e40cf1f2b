//! A schedule that keeps the function warm, and Lambda's data on the invocation of a message.
//!
//! ```sh
//! redrive local --example pinged --send examples/pinged.jsonl --speed max --until-idle --show-output
//! ```
//!
//! Both messages are done. The log names the trace and the log stream of their invocation, and the time that it had left. A rule
//! of EventBridge that invokes the function every five minutes gets the answer `"warm"`. It is not a message, and does not count
//! as a failure.

use redrive::{BoxError, Consumer, Failure, Message, OtherEvent, Text};
use serde_json::{Value, json};

async fn greet(name: Message<Text>) -> Result<(), Failure> {
    if name.body.0.is_empty() {
        return Err("nobody to greet".into());
    }
    let invocation = &name.invocation;
    tracing::info!(
        name = name.body.0,
        request_id = invocation.request_id(),
        trace_header = invocation.trace_header(),
        function = invocation.function_arn().or(invocation.function()),
        version = invocation.function_version(),
        memory_mb = invocation.memory_mb(),
        log_group = invocation.log_group(),
        log_stream = invocation.log_stream(),
        seconds_left = name.remaining().as_secs(),
        "hello"
    );
    Ok(())
}

async fn ping(event: OtherEvent) -> Result<Value, BoxError> {
    match event.value()["detail-type"].as_str() {
        Some("Scheduled Event") => Ok(json!("warm")),
        _ => Err("neither SQS nor the schedule sent this".into()),
    }
}

#[tokio::main]
async fn main() -> Result<(), redrive::Error> {
    Consumer::new(greet).on_other_event(ping).run().await
}
