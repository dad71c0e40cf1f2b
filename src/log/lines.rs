//! Events as lines of JSON, in the format of `tracing_subscriber`, which formats the fields of every span again for each
//! line. Here they are formatted once, when the span begins.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::time::SystemTime;

use serde_json::value::RawValue;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use super::fields::Fields;

/// Enough for the fields of most spans, such as a message's id, group and trace header.
const ROOM: usize = 256;

thread_local! {
    /// The buffer of this thread's last line, for the next one.
    static LINE: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Passes on each line, including the line break.
pub(super) struct Lines<W>(pub(super) W);

/// The formatted fields of a span, each followed by a comma.
struct Written(Vec<u8>);

impl<S, W> Layer<S> for Lines<W>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
    W: Fn(&[u8]) + 'static,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let mut fields = Vec::with_capacity(ROOM);
        attributes.record(&mut Fields(&mut fields));
        span.extensions_mut().replace(Written(fields));
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        // A value may log while it is formatted, which reads the span's extensions.
        let mut late = Vec::new();
        values.record(&mut Fields(&mut late));
        if let Some(Written(fields)) = span.extensions_mut().get_mut() {
            fields.extend_from_slice(&late);
            *fields = without_repetition(fields).unwrap_or(late);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        // A value that logs while it is formatted finds no buffer here and allocates its own.
        let mut line = LINE.try_with(Cell::take).unwrap_or_default();
        line.clear();
        line.push(b'{');
        let mut fields = Fields(&mut line);
        let now = humantime::format_rfc3339_micros(SystemTime::now());
        fields.put_formatted("timestamp", format_args!("{now}"));
        fields.put_text("level", event.metadata().level().as_str());
        event.record(&mut fields);
        fields.put_text("target", event.metadata().target());
        if let Some(scope) = context.event_scope(event) {
            line.extend_from_slice(b"\"spans\":[");
            for span in scope.from_root() {
                line.push(b'{');
                if let Some(Written(fields)) = span.extensions().get() {
                    line.extend_from_slice(fields);
                }
                Fields(&mut line).put_text("name", span.name());
                end(&mut line, b"},");
            }
            end(&mut line, b"],");
        }
        end(&mut line, b"}\n");
        (self.0)(&line);
        let _ = LINE.try_with(|kept| kept.set(line));
    }
}

/// Replaces the last comma.
fn end(line: &mut Vec<u8>, with: &[u8]) {
    line.pop();
    line.extend_from_slice(with);
}

/// Keeps the last value of a field that was recorded twice.
fn without_repetition(fields: &[u8]) -> serde_json::Result<Vec<u8>> {
    let mut object = vec![b'{'];
    object.extend_from_slice(fields);
    end(&mut object, b"}");
    let fields: BTreeMap<String, &RawValue> = serde_json::from_slice(&object)?;
    let mut once = Vec::with_capacity(object.len());
    for (name, value) in fields {
        Fields(&mut once).put(&name, value);
    }
    Ok(once)
}

#[cfg(test)]
mod tests;
