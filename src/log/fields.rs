//! Writes the fields of events and spans as JSON.

use std::fmt::{self, Write};

use redrive_sqs::acts;
use serde::Serialize;
use tracing::field::{Field, Visit};

/// Appends each field as `"name":value,`.
pub(super) struct Fields<'a>(pub(super) &'a mut Vec<u8>);

impl Fields<'_> {
    pub(super) fn put_text(&mut self, name: &str, text: &str) {
        self.name(name);
        self.0.push(b'"');
        let _ = Escaped(self.0).write_str(text);
        self.0.extend_from_slice(b"\",");
    }

    /// As a JSON string. If formatting fails, the string ends there.
    pub(super) fn put_formatted(&mut self, name: &str, value: fmt::Arguments<'_>) {
        self.name(name);
        self.0.push(b'"');
        let _ = Escaped(self.0).write_fmt(value);
        self.0.extend_from_slice(b"\",");
    }

    pub(super) fn put(&mut self, name: &str, value: &(impl Serialize + ?Sized)) {
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

/// Escapes what is inside a JSON string, and what acts on a terminal or a reader: senders choose parts of it.
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
        while let Some((before, c)) = rest.char_indices().find(|&(_, c)| c >= '\x7f' && acts(c)) {
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
        self.put_formatted(field.name(), format_args!("{value:?}"));
    }
}
