//! A tower layer that makes each batch an OpenTelemetry span, linked to the traces of those who sent its messages.
//!
//! ```sh
//! redrive local --example traced --send examples/traced.json --speed max --until-idle --show-output
//! ```
//!
//! Two messages are done and one on attempt 2. A batch has one parent at most and its messages come from many traces, which
//! is why they are links: the span of the first batch has two, the third message was sent without a trace.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use aws_lambda_events::sqs::{SqsBatchResponse, SqsEvent, SqsMessage};
use lambda_runtime::tower::{Layer, Service};
use lambda_runtime::{Error, LambdaEvent};
use opentelemetry::trace::{FutureExt, Link, SpanKind, TraceContextExt, Tracer, TracerProvider};
use opentelemetry::{Context as TraceContext, KeyValue};
use opentelemetry_aws::trace::xray_propagator::span_context_from_str;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider};
use opentelemetry_stdout::SpanExporter;
use redrive::{Consumer, Failure, Message};

#[derive(Clone)]
struct Trace(SdkTracer);

impl<S> Layer<S> for Trace {
    type Service = Traced<S>;

    fn layer(&self, inner: S) -> Traced<S> {
        Traced { tracer: self.0.clone(), inner }
    }
}

#[derive(Clone)]
struct Traced<S> {
    tracer: SdkTracer,
    inner: S,
}

impl<S> Service<LambdaEvent<SqsEvent>> for Traced<S>
where
    S: Service<LambdaEvent<SqsEvent>, Response = SqsBatchResponse, Future: Send + 'static>,
{
    type Response = SqsBatchResponse;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<SqsBatchResponse, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, event: LambdaEvent<SqsEvent>) -> Self::Future {
        let records = &event.payload.records;
        // By the names of https://opentelemetry.io/docs/specs/semconv/messaging/sqs/
        let span = self
            .tracer
            .span_builder("process orders")
            .with_kind(SpanKind::Consumer)
            .with_attributes([
                KeyValue::new("messaging.system", "aws_sqs"),
                KeyValue::new("messaging.operation.type", "process"),
                KeyValue::new("messaging.batch.message_count", count(records.len())),
            ])
            .with_links(records.iter().filter_map(sender).collect())
            .start(&self.tracer);
        let batch = TraceContext::current_with_span(span);
        let handled = self.inner.call(event).with_context(batch.clone());
        Box::pin(async move {
            let response = handled.await;
            if let Ok(response) = &response {
                let failed = count(response.batch_item_failures.len());
                batch.span().set_attribute(KeyValue::new("redrive.failed", failed));
            }
            // Exported here and now: Lambda freezes the process once it has the response.
            batch.span().end();
            response
        })
    }
}

fn sender(message: &SqsMessage) -> Option<Link> {
    let header = message.attributes.get("AWSTraceHeader")?;
    span_context_from_str(header).map(Link::with_context)
}

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A message is the number of attempts that fail.
async fn fail(attempts: Message<u32>) -> Result<(), Failure> {
    if attempts.attempt <= attempts.body { Err("not yet".into()) } else { Ok(()) }
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let provider = SdkTracerProvider::builder().with_simple_exporter(SpanExporter::default()).build();
    let consumer = Consumer::new(fail).connect().await?;
    lambda_runtime::run(Trace(provider.tracer("orders")).layer(consumer)).await
}
