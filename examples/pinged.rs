//! What Lambda says of the invocation that brought a message.
//!
//! ```sh
//! redrive local --example pinged --send examples/pinged.jsonl --speed max --until-idle --show-output
//! ```
//!
//! Both messages are done; the log names the trace and the log stream of their invocation, and how much time it had left.

use redrive::{Failure, Message, Text};

async fn greet(name: Message<Text>) -> Result<(), Failure> {
    let invocation = &name.invocation;
    tracing::info!(
        name = name.body.0,
        request_id = invocation.request_id(),
        trace_id = invocation.trace_id(),
        function = invocation.function_arn().unwrap_or(invocation.function()),
        version = invocation.function_version(),
        memory_mb = invocation.memory_mb(),
        log_group = invocation.log_group(),
        log_stream = invocation.log_stream(),
        seconds_left = invocation.remaining().as_secs(),
        "hello"
    );
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), redrive::Error> {
    redrive::run(greet).await
}
