//! The trace header of SQS, from the current span of OpenTelemetry.

use opentelemetry::Context;
use opentelemetry::trace::{SpanContext, TraceContextExt};

/// Returns the header of the current span, unless there is none.
pub(crate) fn header() -> Option<String> {
    let context = Context::current();
    let span = context.span();
    Some(span.span_context()).filter(|span| span.is_valid()).map(written)
}

/// <https://docs.aws.amazon.com/xray/latest/devguide/xray-concepts.html#xray-concepts-tracingheader>
fn written(span: &SpanContext) -> String {
    let trace = span.trace_id().to_string();
    let (time, unique) = trace.split_at(8);
    format!("Root=1-{time}-{unique};Parent={};Sampled={}", span.span_id(), u8::from(span.is_sampled()))
}

#[cfg(test)]
mod tests {
    use opentelemetry::trace::{SpanId, TraceFlags, TraceId, TraceState};

    use super::*;

    #[test]
    fn the_current_span_becomes_a_header_of_x_ray() {
        assert_eq!(header(), None);
        let ids =
            (TraceId::from_hex("67891233abcdef012345678912345678"), SpanId::from_hex("463ac35c9f6413ad"));
        let span = SpanContext::new(
            ids.0.unwrap(),
            ids.1.unwrap(),
            TraceFlags::SAMPLED,
            false,
            TraceState::default(),
        );
        let _guard = Context::new().with_remote_span_context(span).attach();
        let expected = "Root=1-67891233-abcdef012345678912345678;Parent=463ac35c9f6413ad;Sampled=1";
        assert_eq!(header().as_deref(), Some(expected));
    }
}
