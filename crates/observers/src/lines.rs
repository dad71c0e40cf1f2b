//! Writes events as lines of JSON, in the format of `tracing_subscriber`. That crate formats the fields of every span again for
//! each line. This module formats them once, when the span begins.
#![expect(clippy::disallowed_methods, reason = "impure: it reads the clock")]

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::time::SystemTime;

use redrive_sqs::is_invisible;
use serde::Serialize;
use serde_json::value::RawValue;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

/// Bytes for the fields of most spans, such as a message's id, group and trace header.
const ROOM: usize = 256;

thread_local! {
    /// The buffer of this thread's last line, for the next one.
    static LINE: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// A layer that passes each line, including the line break, to a function.
#[derive(Debug)]
pub struct Lines<W>(pub W);

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
        fields.put_text("timestamp", now);
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

/// Appends each field as `"name":value,`.
struct Fields<'a>(&'a mut Vec<u8>);

impl Fields<'_> {
    /// Appends a JSON string. If formatting fails, the string ends there.
    fn put_text(&mut self, name: &str, text: impl fmt::Display) {
        self.name(name);
        self.0.push(b'"');
        let _ = write!(Escaped(self.0), "{text}");
        self.0.extend_from_slice(b"\",");
    }

    fn put(&mut self, name: &str, value: &(impl Serialize + ?Sized)) {
        self.name(name);
        serde_json::to_writer(&mut *self.0, value).expect("a vector takes whatever is written");
        self.0.push(b',');
    }

    fn name(&mut self, name: &str) {
        self.0.push(b'"');
        let _ = Escaped(self.0).write_str(name.strip_prefix("r#").unwrap_or(name));
        self.0.extend_from_slice(b"\":");
    }
}

/// Escapes text for a JSON string, and characters that act on a terminal or a reader, because senders choose parts of it.
struct Escaped<'a>(&'a mut Vec<u8>);

impl Write for Escaped<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let is_special = |byte: u8| !(b' '..0x7f).contains(&byte) || byte == b'"' || byte == b'\\';
        // Without an early exit, so that the compiler vectorizes it.
        if !text.bytes().fold(false, |found, byte| found | is_special(byte)) {
            self.0.extend_from_slice(text.as_bytes());
            return Ok(());
        }
        let mut rest = text;
        while let Some((before, c)) = rest.char_indices().find(|&(_, c)| c >= '\x7f' && is_invisible(c)) {
            self.put_json(&rest[..before])?;
            for unit in c.encode_utf16(&mut [0; 2]) {
                self.0.extend_from_slice(format!("\\u{unit:04x}").as_bytes());
            }
            rest = &rest[before + c.len_utf8()..];
        }
        self.put_json(rest)
    }
}

impl Escaped<'_> {
    fn put_json(&mut self, text: &str) -> fmt::Result {
        let begun = self.0.len();
        serde_json::to_writer(&mut *self.0, text).map_err(|_| fmt::Error)?;
        // Without its quotes.
        self.0.pop();
        self.0.remove(begun);
        Ok(())
    }
}

impl Visit for Fields<'_> {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field.name(), &value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field.name(), &value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field.name(), &value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field.name(), &value);
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.put_text(field.name(), value);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.put_text(field.name(), format_args!("{value:?}"));
    }
}

#[cfg(test)]
mod tests;
