//! Spans and metrics over OTLP, exported to a collector before each answer.
//!
//! The collector is at `OTEL_EXPORTER_OTLP_ENDPOINT`, by default at <http://localhost:4318>, where the layer of AWS Distro for
//! OpenTelemetry listens. A message is the number of attempts that fail.

use std::error::Error;

use opentelemetry::Context;
use opentelemetry::global;
use opentelemetry::trace::{FutureExt, TraceContextExt, Tracer};
use opentelemetry_otlp::{MetricExporter, SpanExporter};
use opentelemetry_sdk::metrics::{SdkMeterProvider, Temporality};
use opentelemetry_sdk::trace::SdkTracerProvider;
use redrive::{Consumer, Failure, Message};
use redrive_opentelemetry::Telemetry;

async fn charge(attempts: Message<u32>) -> Result<(), Failure> {
    // Below the span of the message, which is current here.
    let span = Context::current_with_span(global::tracer("orders").start("charge"));
    ask_the_bank(&attempts).with_context(span).await
}

async fn ask_the_bank(attempts: &Message<u32>) -> Result<(), Failure> {
    if attempts.attempt <= attempts.body { Err("the bank is down".into()) } else { Ok(()) }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let exporter = SpanExporter::builder().with_http().build()?;
    let spans = SdkTracerProvider::builder().with_batch_exporter(exporter).build();
    global::set_tracer_provider(spans.clone());

    // Lambda starts and ends processes often, so sums since the start of each would mean little.
    let exporter = MetricExporter::builder().with_http().with_temporality(Temporality::Delta).build()?;
    let metrics = SdkMeterProvider::builder().with_periodic_exporter(exporter).build();
    global::set_meter_provider(metrics.clone());

    let telemetry = Telemetry::new().flush(move || spans.force_flush()).flush(move || metrics.force_flush());
    Consumer::new(charge).hook(telemetry).run().await?;
    Ok(())
}
