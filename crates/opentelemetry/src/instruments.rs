//! The metrics of messages, handlers and calls to SQS.

use std::time::Duration;

use opentelemetry::KeyValue;
use opentelemetry::metrics::{Counter, Histogram, Meter};

use crate::conventions::{
    BOUNDARIES, CONSUMED_MESSAGES, DESTINATION, ERROR_TYPE, OPERATION_DURATION, OPERATION_NAME,
    OPERATION_TYPE, PROCESS, PROCESS_DURATION, SETTLE, SQS, SYSTEM,
};

#[derive(Debug)]
pub(crate) struct Instruments {
    process_duration: Histogram<f64>,
    operation_duration: Histogram<f64>,
    consumed_messages: Counter<u64>,
}

impl Instruments {
    pub(crate) fn new(meter: &Meter) -> Self {
        let duration = |name, description| {
            let histogram = meter.f64_histogram(name).with_unit("s").with_description(description);
            histogram.with_boundaries(BOUNDARIES.to_vec()).build()
        };
        let consumed = meter.u64_counter(CONSUMED_MESSAGES).with_unit("{message}");
        Self {
            process_duration: duration(PROCESS_DURATION, "Duration of processing operation."),
            operation_duration: duration(
                OPERATION_DURATION,
                "Duration of messaging operation initiated by a producer or consumer client.",
            ),
            consumed_messages: consumed
                .with_description("Number of messages that were delivered to the application.")
                .build(),
        }
    }

    pub(crate) fn processed(&self, queue: &str, took: Duration, error_type: Option<&str>) {
        self.process_duration.record(took.as_secs_f64(), &attributes(PROCESS, queue, error_type));
    }

    pub(crate) fn consumed(&self, queue: &str, error_type: Option<&str>) {
        self.consumed_messages.add(1, &attributes(PROCESS, queue, error_type));
    }

    pub(crate) fn settled(&self, queue: &str, took: Duration, error_type: Option<&str>) {
        let mut attributes = attributes(SETTLE, queue, error_type);
        attributes.push(KeyValue::new(OPERATION_TYPE, SETTLE));
        self.operation_duration.record(took.as_secs_f64(), &attributes);
    }
}

fn attributes(operation: &'static str, queue: &str, error_type: Option<&str>) -> Vec<KeyValue> {
    let error = error_type.map(|error_type| KeyValue::new(ERROR_TYPE, error_type.to_owned()));
    let always = [
        KeyValue::new(SYSTEM, SQS),
        KeyValue::new(OPERATION_NAME, operation),
        KeyValue::new(DESTINATION, queue.to_owned()),
    ];
    always.into_iter().chain(error).collect()
}
