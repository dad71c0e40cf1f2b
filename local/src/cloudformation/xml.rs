//! Answers of the query protocol: XML, made of what JSON would say.

use std::io;

use bytes::Bytes;
use quick_xml::Writer;
use quick_xml::escape::minimal_escape;
use quick_xml::events::{BytesText, Event};
use serde_json::{Value, json};

use super::refusal::Refusal;
use crate::queue::is_character;

const NAMESPACE: (&str, &str) = ("xmlns", "http://cloudformation.amazonaws.com/doc/2010-05-15/");

type Out = Writer<Vec<u8>>;

pub(super) fn success(operation: &str, output: &Value, request_id: &str) -> Bytes {
    document(&format!("{operation}Response"), |out| {
        element(out, &format!("{operation}Result"), output)?;
        element(out, "ResponseMetadata", &json!({ "RequestId": request_id }))
    })
}

pub(super) fn failure(refusal: &Refusal, request_id: &str) -> Bytes {
    document("ErrorResponse", |out| {
        out.create_element("Error").write_inner_content(|out| {
            for (name, text) in
                [("Type", "Sender"), ("Code", refusal.code), ("Message", refusal.message.as_str())]
            {
                element(out, name, &json!(text))?;
            }
            Ok(())
        })?;
        element(out, "RequestId", &json!(request_id))
    })
}

fn document(name: &str, content: impl FnOnce(&mut Out) -> io::Result<()>) -> Bytes {
    let mut out = Writer::new(Vec::new());
    let written = out.create_element(name).with_attribute(NAMESPACE).write_inner_content(content);
    written.map(drop).expect("memory can be written to");
    out.into_inner().into()
}

fn element(out: &mut Out, name: &str, value: &Value) -> io::Result<()> {
    let written = out.create_element(name).write_inner_content(|out| match value {
        Value::Object(members) => members.iter().try_for_each(|(name, value)| element(out, name, value)),
        Value::Array(items) => items.iter().try_for_each(|item| element(out, "member", item)),
        Value::String(value) => text(out, value),
        Value::Null => Ok(()),
        Value::Bool(_) | Value::Number(_) => text(out, &value.to_string()),
    });
    written.map(drop)
}

/// A parser would turn a carriage return into a line feed. What XML cannot say at all is replaced.
fn text(out: &mut Out, text: &str) -> io::Result<()> {
    let text = minimal_escape(text).replace('>', "&gt;").replace('\r', "&#13;");
    let text = text.replace(|char| !is_character(char), "\u{fffd}");
    out.write_event(Event::Text(BytesText::from_escaped(text)))
}
