//! Spans and metrics of a consumer.

use std::fmt;
use std::time::{Duration, Instant};

use opentelemetry::global::{self, BoxedTracer};
use opentelemetry::metrics::MeterProvider;
use opentelemetry::trace::{FutureExt, Span, SpanKind, Status, Tracer, TracerProvider};
use opentelemetry::{Context, KeyValue};
use redrive::hook::{Delivery, Hook, Next};
use redrive::{Failure, MessageReport};

use crate::conventions::{
    ATTEMPT, DESTINATION, ERROR_TYPE, MESSAGE_ID, OPERATION_NAME, OPERATION_TYPE, OTHER, OUTCOME, SETTLE,
    SQS, SYSTEM, scope,
};
use crate::flushing::Flushing;
use crate::handler_spans::{OpenSpans, failure};
use crate::instruments::Instruments;

/// Lambda's longest time limit: no batch takes longer.
/// <https://docs.aws.amazon.com/lambda/latest/dg/configuration-timeout.html>
const LONGEST: Duration = Duration::from_secs(900);

/// A [`Hook`] that makes a span of each handler call, and counts and times messages, following OpenTelemetry's conventions
/// for messaging.
///
/// The page [OpenTelemetry](https://docs.rs/crate/redrive/0.1.0/source/docs/opentelemetry.md) lists the spans and metrics.
///
/// ```
/// use opentelemetry_sdk::trace::SdkTracerProvider;
/// use redrive::{Consumer, Failure};
/// use redrive_opentelemetry::Telemetry;
///
/// # async fn place(order: String) -> Result<(), Failure> { Ok(()) }
/// let spans = SdkTracerProvider::builder().build(); // with an exporter
/// let telemetry = Telemetry::new().tracer_provider(&spans).flush(move || spans.force_flush());
/// let consumer = Consumer::new(place).hook(telemetry);
/// ```
///
/// Without a provider, it uses the global providers that are set when it is created.
pub struct Telemetry {
    tracer: BoxedTracer,
    instruments: Instruments,
    open_spans: OpenSpans,
    flushing: Flushing,
}

impl Telemetry {
    /// Creates a hook that uses the global providers of spans and metrics.
    #[must_use]
    pub fn new() -> Self {
        Self {
            tracer: global::tracer_with_scope(scope()),
            instruments: Instruments::new(&global::meter_with_scope(scope())),
            open_spans: OpenSpans::default(),
            flushing: Flushing::new(Duration::from_secs(2)),
        }
    }

    /// Sets the provider of the spans. Default: the global provider.
    #[must_use]
    pub fn tracer_provider<P>(mut self, provider: &P) -> Self
    where
        P: TracerProvider,
        P::Tracer: Tracer + Send + Sync + 'static,
        <P::Tracer as Tracer>::Span: Send + Sync + 'static,
    {
        self.tracer = BoxedTracer::new(Box::new(provider.tracer_with_scope(scope())));
        self
    }

    /// Sets the provider of the metrics. Default: the global provider.
    #[must_use]
    pub fn meter_provider(mut self, provider: &impl MeterProvider) -> Self {
        self.instruments = Instruments::new(&provider.meter_with_scope(scope()));
        self
    }

    /// Exports the collected data before each answer, because Lambda freezes the process after it. Default: no export.
    ///
    /// `export` may block, as `force_flush` of a provider does. It runs on one of tokio's threads for blocking code, one
    /// export after another. An error is logged as a warning.
    #[must_use]
    pub fn flush<E: fmt::Display>(
        mut self,
        export: impl Fn() -> Result<(), E> + Send + Sync + 'static,
    ) -> Self {
        self.flushing.add(export);
        self
    }

    /// Sets how long an answer waits for the exports, but never beyond the deadline of its batch. Default: 2 s, which is also the most that
    /// redrive gives hooks.
    ///
    /// After that, the exports continue while the process is not frozen. Those of the next batch wait for them.
    #[must_use]
    pub fn flush_timeout(mut self, limit: Duration) -> Self {
        self.flushing.limit = limit;
        self
    }

    /// Adds a span of the call that delayed or dead-lettered a message, below the message's own.
    fn settle(&self, message: &MessageReport, parent: &Context) {
        let Some(call) = message.settling else { return };
        let error_type = (!message.confirmed).then_some(OTHER);
        let attributes = [
            KeyValue::new(SYSTEM, SQS),
            KeyValue::new(DESTINATION, message.queue.clone()),
            KeyValue::new(OPERATION_NAME, SETTLE),
            KeyValue::new(OPERATION_TYPE, SETTLE),
            KeyValue::new(MESSAGE_ID, message.id.clone()),
            KeyValue::new(ATTEMPT, i64::from(message.attempt)),
            KeyValue::new(OUTCOME, message.outcome.as_str()),
        ];
        let mut span = self
            .tracer
            .span_builder(format!("{SETTLE} {}", message.queue))
            .with_kind(SpanKind::Client)
            .with_start_time(call.began)
            .with_attributes(attributes)
            .start_with_context(&self.tracer, parent);
        if let Some(error_type) = error_type {
            span.set_attribute(KeyValue::new(ERROR_TYPE, error_type));
            span.set_status(Status::error("SQS did not confirm it"));
        }
        span.end_with_timestamp(call.began + call.took);
        self.instruments.settled(&message.queue, call.took, error_type);
    }
}

impl Default for Telemetry {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Telemetry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Telemetry").field("flushing", &self.flushing).finish_non_exhaustive()
    }
}

impl Hook for Telemetry {
    async fn around<'a>(&'a self, delivery: &'a Delivery<'a>, next: Next<'a>) -> Result<(), Failure> {
        let call = self.open_spans.start(&self.tracer, delivery);
        let result = next.with_context(call.context()).await;
        call.returned(&result);
        result
    }

    fn settled(&self, message: &MessageReport) {
        let calls = self.open_spans.take(message);
        let parent = calls.last().map_or_else(Context::current, |call| call.context.clone());
        if !calls.is_empty() {
            self.instruments.consumed(&message.queue, failure(message));
        }
        for call in calls {
            if let Some((took, error_type)) = call.settled(message) {
                self.instruments.processed(&message.queue, took, error_type.as_deref());
            }
        }
        self.settle(message, &parent);
    }

    async fn flush(&self, until: Instant) {
        self.open_spans.forget(LONGEST);
        self.flushing.flush(until).await;
    }
}
