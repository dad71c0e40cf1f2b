//! A consumer whose spans and metrics stay in memory, on the queues of redrive-local.

use std::collections::BTreeMap;
use std::time::Duration;

use opentelemetry::KeyValue;
use opentelemetry::trace::SpanId;
use opentelemetry_sdk::metrics::data::ResourceMetrics;
use opentelemetry_sdk::metrics::{InMemoryMetricExporter, PeriodicReader, SdkMeterProvider};
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider, SpanData};
use redrive::{Consumer, FromMessage, Handler};
use redrive_local::kit::{Queue, TestAws};
use redrive_opentelemetry::Telemetry;

pub(crate) struct Watched {
    pub(crate) aws: TestAws,
    pub(crate) spans: SdkTracerProvider,
    exporter: InMemorySpanExporter,
    metrics: (SdkMeterProvider, InMemoryMetricExporter),
}

impl Watched {
    pub(crate) fn new() -> Self {
        let exporter = InMemorySpanExporter::default();
        let spans = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
        let in_memory = InMemoryMetricExporter::default();
        let reader = PeriodicReader::builder(in_memory.clone()).build();
        let metrics = (SdkMeterProvider::builder().with_reader(reader).build(), in_memory);
        Self { aws: TestAws::new(), spans, exporter, metrics }
    }

    pub(crate) fn telemetry(&self) -> Telemetry {
        Telemetry::new().tracer_provider(&self.spans).meter_provider(&self.metrics.0)
    }

    /// A queue whose messages are delivered three times.
    pub(crate) fn queue(&self, name: &str) -> Queue {
        let dead = match name.strip_suffix(".fifo") {
            Some(name) => format!("{name}-dead.fifo"),
            None => format!("{name}-dead"),
        };
        self.aws.queue(name).dead_letter_queue(&dead, 3).create()
    }

    pub(crate) fn consumer<H, M>(&self, queue: &Queue, handler: H) -> Consumer<H, M>
    where
        H: Handler<M>,
        M: FromMessage,
    {
        Consumer::new(handler)
            .sqs(self.aws.sqs())
            .dead_letter_queue_url(queue.dead_letter_queue().url())
            .max_receive_count(3)
            .time_limit(Duration::from_secs(5))
            .hook(self.telemetry())
    }

    /// Returns the spans that have ended.
    pub(crate) fn finished(&self) -> Vec<SpanData> {
        self.exporter.get_finished_spans().unwrap()
    }

    pub(crate) fn named(&self, name: &str) -> Vec<SpanData> {
        self.finished().into_iter().filter(|span| span.name == name).collect()
    }

    pub(crate) fn child_of(&self, parent: SpanId) -> Vec<SpanData> {
        self.finished().into_iter().filter(|span| span.parent_span_id == parent).collect()
    }

    pub(crate) fn measured(&self) -> ResourceMetrics {
        self.metrics.0.force_flush().unwrap();
        self.metrics.1.get_finished_metrics().unwrap().pop().unwrap()
    }
}

/// Returns attributes by name, as text.
pub(crate) fn attributes<'a>(attributes: impl IntoIterator<Item = &'a KeyValue>) -> BTreeMap<String, String> {
    attributes.into_iter().map(|it| (it.key.to_string(), it.value.to_string())).collect()
}

pub(crate) fn attribute(span: &SpanData, name: &str) -> Option<String> {
    attributes(&span.attributes).remove(name)
}
