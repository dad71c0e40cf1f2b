//! Spans of handler calls, from their start until the outcome of their messages is known.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use opentelemetry::global::BoxedTracer;
use opentelemetry::trace::{SpanKind, Status, TraceContextExt, Tracer};
use opentelemetry::{Context, KeyValue};
use redrive::hook::Delivery;
use redrive::{Failure, MessageOutcome, MessageReport};
use tokio::time::Instant;

use crate::conventions::{
    ATTEMPT, DESTINATION, ERROR_TYPE, FAILED, INVOCATION_ID, MESSAGE_COUNT, MESSAGE_ID, OPERATION_NAME,
    OPERATION_TYPE, OUTCOME, PROCESS, SQS, SYSTEM,
};
use crate::links::links;

/// Message id and receive count, because two batches may have the same message.
type Key = (String, u32);

/// The spans that have not ended yet, by their messages.
#[derive(Debug, Default)]
pub(crate) struct OpenSpans(Mutex<HashMap<Key, Vec<Arc<HandlerSpan>>>>);

impl OpenSpans {
    /// Starts the span of one call of a handler.
    pub(crate) fn start(&self, tracer: &BoxedTracer, delivery: &Delivery<'_>) -> Call {
        let handler_span = Arc::new(HandlerSpan::start(tracer, delivery));
        let mut open = self.open();
        for record in delivery.records() {
            let key = (record.id().to_owned(), record.attempt());
            open.entry(key).or_default().push(Arc::clone(&handler_span));
        }
        Call(handler_span)
    }

    /// Removes and returns the calls that had this message and have returned.
    pub(crate) fn take(&self, message: &MessageReport) -> Vec<Arc<HandlerSpan>> {
        let key = (message.id.clone(), message.attempt);
        let mut open = self.open();
        let Some(handler_spans) = open.remove(&key) else { return Vec::new() };
        let (running, ended): (Vec<_>, Vec<_>) =
            handler_spans.into_iter().partition(|handler_span| handler_span.state().ended.is_none());
        if !running.is_empty() {
            open.insert(key, running);
        }
        ended
    }

    /// Drops the spans of batches that were given up without a report, at this age.
    pub(crate) fn forget(&self, age: Duration) {
        let is_kept = |handler_span: &Arc<HandlerSpan>| {
            handler_span.state().ended.as_ref().is_none_or(|ended| ended.at.elapsed() < age)
        };
        self.open().retain(|_, handler_spans| {
            handler_spans.retain(is_kept);
            !handler_spans.is_empty()
        });
    }

    fn open(&self) -> MutexGuard<'_, HashMap<Key, Vec<Arc<HandlerSpan>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A handler call that runs. It ends when this is dropped.
pub(crate) struct Call(Arc<HandlerSpan>);

impl Call {
    pub(crate) fn context(&self) -> Context {
        self.0.context.clone()
    }

    pub(crate) fn returned(self, result: &Result<(), Failure>) {
        let error = result.as_ref().err().map(ToString::to_string);
        self.0.end(error);
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.0.end(None);
    }
}

/// One call of a handler, with one message or several.
#[derive(Debug)]
pub(crate) struct HandlerSpan {
    pub(crate) context: Context,
    began: (SystemTime, Instant),
    messages: usize,
    state: Mutex<SpanState>,
}

#[derive(Debug, Default)]
struct SpanState {
    ended: Option<CallEnd>,
    settled: usize,
    failed: usize,
    /// The reason and error of the first message that failed.
    fault: Option<(String, String)>,
}

#[derive(Debug)]
struct CallEnd {
    at: Instant,
    /// The error that a handler of several messages returned.
    error: Option<String>,
}

impl HandlerSpan {
    fn start(tracer: &BoxedTracer, delivery: &Delivery<'_>) -> Self {
        let (queue, records) = (delivery.queue(), delivery.records());
        let began = (SystemTime::now(), Instant::now());
        let common = [
            KeyValue::new(SYSTEM, SQS),
            KeyValue::new(DESTINATION, queue.to_owned()),
            KeyValue::new(OPERATION_NAME, PROCESS),
            KeyValue::new(OPERATION_TYPE, PROCESS),
        ];
        let request_id = delivery.invocation().request_id();
        let invocation = request_id.map(|id| KeyValue::new(INVOCATION_ID, id.to_owned()));
        let own = match records {
            [record] => vec![
                KeyValue::new(MESSAGE_ID, record.id().to_owned()),
                KeyValue::new(ATTEMPT, i64::from(record.attempt())),
            ],
            records => vec![KeyValue::new(MESSAGE_COUNT, count(records.len()))],
        };
        let span = tracer
            .span_builder(format!("{PROCESS} {queue}"))
            .with_kind(SpanKind::Consumer)
            .with_start_time(began.0)
            .with_attributes(common.into_iter().chain(invocation).chain(own))
            .with_links(links(records))
            .start(tracer);
        let context = Context::current_with_span(span);
        Self { context, began, messages: records.len(), state: Mutex::default() }
    }

    /// Records, once, when the handler returned or was dropped.
    fn end(&self, error: Option<String>) {
        self.state().ended.get_or_insert_with(|| CallEnd { at: Instant::now(), error });
    }

    /// Records the outcome of a message. The last one ends the span, and returns its duration and the type of its error.
    pub(crate) fn settled(&self, message: &MessageReport) -> Option<(Duration, Option<String>)> {
        let mut state = self.state();
        state.settled += 1;
        if let Some(reason) = failure(message) {
            state.failed += 1;
            state.fault.get_or_insert_with(|| (reason.to_owned(), message.error.clone()));
        }
        let ended = state.ended.as_ref().filter(|_| state.settled == self.messages)?;
        let took = ended.at.duration_since(self.began.1);
        let span = self.context.span();
        if self.messages == 1 {
            span.set_attribute(KeyValue::new(OUTCOME, message.outcome.as_str()));
        } else {
            span.set_attribute(KeyValue::new(FAILED, count(state.failed)));
        }
        let whole =
            ended.error.clone().filter(|_| self.messages > 1).map(|error| ("error".to_owned(), error));
        let fault = state.fault.clone().or(whole);
        if let Some((reason, error)) = &fault {
            span.set_attribute(KeyValue::new(ERROR_TYPE, reason.clone()));
            span.set_status(Status::error(error.clone()));
        }
        span.end_with_timestamp(self.began.0 + took);
        Some((took, fault.map(|(reason, _)| reason)))
    }

    fn state(&self) -> MutexGuard<'_, SpanState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the type of a message's error. A message that a handler defers or discards on purpose has none.
pub(crate) fn failure(message: &MessageReport) -> Option<&str> {
    match message.outcome {
        MessageOutcome::Retried | MessageOutcome::DeadLettered => {
            Some(message.reason.as_deref().unwrap_or("error"))
        }
        _ => None,
    }
}

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
