//! A span of OpenTelemetry for each message, linked to the trace of its sender.
//!
//! ```sh
//! redrive local --example traced --send examples/traced.json --speed max --until-idle --show-output
//! ```
//!
//! All three messages are done, the second on attempt 2: its first span is an error, and the call that delays it is a span
//! below. The third message was sent without a trace. `crates/opentelemetry/examples/otlp.rs` exports to a collector.

use opentelemetry_sdk::trace::SdkTracerProvider;
use opentelemetry_stdout::SpanExporter;
use redrive::{Consumer, Failure, Message};
use redrive_opentelemetry::Telemetry;

/// A message is the number of attempts that fail.
async fn fail(attempts: Message<u32>) -> Result<(), Failure> {
    if attempts.attempt <= attempts.body { Err("not yet".into()) } else { Ok(()) }
}

#[tokio::main]
async fn main() -> Result<(), redrive::Error> {
    let spans = SdkTracerProvider::builder().with_simple_exporter(SpanExporter::default()).build();
    Consumer::new(fail).hook(Telemetry::new().tracer_provider(&spans)).run().await
}
