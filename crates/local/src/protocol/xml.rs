//! Writes answers of the query protocol in XML, from the values that CBOR would have.

use std::fmt::Write;
use std::time::SystemTime;

use bytes::Bytes;
use ciborium::Value;
use humantime::format_rfc3339_millis;

use super::field::seconds;
use super::{AwsError, Query};

/// Writes the `…Result` element, which only operations with an output have.
pub(super) fn result(query: &Query, operation: &str, output: &Value) -> Bytes {
    let mut xml = String::new();
    element(&mut xml, &format!("{operation}Result"), |xml| content(xml, query, operation, "", output));
    xml.into()
}

pub(super) fn success(query: &Query, operation: &str, result: &Bytes, request_id: &str) -> Bytes {
    document(query, &format!("{operation}Response"), |xml| {
        xml.push_str(&String::from_utf8_lossy(result));
        element(xml, "ResponseMetadata", |xml| leaf(xml, "RequestId", request_id));
    })
}

/// Writes an error. Services with flat lists use the older form, which has an empty detail.
pub(super) fn failure(query: &Query, error: &AwsError, request_id: &str) -> Bytes {
    document(query, "ErrorResponse", |xml| {
        element(xml, "Error", |xml| {
            leaf(xml, "Type", error.fault());
            leaf(xml, "Code", error.code());
            if !error.message().is_empty() {
                leaf(xml, "Message", error.message_in_query());
            }
            if query.flat {
                leaf(xml, "Detail", "");
            }
        });
        leaf(xml, "RequestId", request_id);
    })
}

fn document(query: &Query, name: &str, inner: impl FnOnce(&mut String)) -> Bytes {
    let mut xml = format!("<{name} xmlns=\"{}\">", query.namespace);
    inner(&mut xml);
    let _ = write!(xml, "</{name}>");
    xml.into()
}

/// Writes the content of the element `name`.
fn content(xml: &mut String, query: &Query, operation: &str, name: &str, value: &Value) {
    match value {
        Value::Map(members) => {
            for (key, value) in members {
                let key = key.as_text().unwrap_or_default();
                match query.maps.iter().find(|(map, ..)| *map == name) {
                    Some((_, entry, name)) => element(xml, entry, |xml| {
                        leaf(xml, name, key);
                        let name = if query.flat { "Value" } else { "value" };
                        member(xml, query, operation, name, value);
                    }),
                    None => member(xml, query, operation, key, value),
                }
            }
        }
        Value::Array(items) => {
            let list = query.lists.iter().find(|(list, _)| *list == name);
            let of_list = list.map_or("member", |(_, element)| element).replace("{}", operation);
            items.iter().for_each(|item| member(xml, query, operation, &of_list, item));
        }
        Value::Tag(_, inner) => {
            let at = inner.as_float().and_then(seconds);
            text(xml, &at.map(stamp).unwrap_or_default());
        }
        Value::Bool(flag) => text(xml, &flag.to_string()),
        Value::Integer(number) => text(xml, &i128::from(*number).to_string()),
        Value::Float(number) => text(xml, &format!("{number:?}")),
        Value::Text(value) => text(xml, value),
        _ => (),
    }
}

/// Writes a time, with milliseconds only if there are any.
fn stamp(at: SystemTime) -> String {
    format_rfc3339_millis(at).to_string().replace(".000Z", "Z")
}

fn member(xml: &mut String, query: &Query, operation: &str, name: &str, value: &Value) {
    let is_map = query.maps.iter().any(|(map, ..)| *map == name);
    let is_flat = query.flat && (value.is_array() || (value.is_map() && is_map));
    match value {
        Value::Null => (),
        _ if is_flat => content(xml, query, operation, name, value),
        _ => element(xml, name, |xml| content(xml, query, operation, name, value)),
    }
}

/// Writes an element. An empty one is `<name/>`, as in AWS.
fn element(xml: &mut String, name: &str, inner: impl FnOnce(&mut String)) {
    let _ = write!(xml, "<{name}>");
    let begin = xml.len();
    inner(xml);
    if xml.len() == begin {
        xml.truncate(begin - 1);
        xml.push_str("/>");
    } else {
        let _ = write!(xml, "</{name}>");
    }
}

fn leaf(xml: &mut String, name: &str, value: &str) {
    element(xml, name, |xml| text(xml, value));
}

/// Writes a text. Carriage returns are escaped, because a parser would turn them into line feeds. Characters that neither XML
/// nor SQS allows, for example in a parameter that an error quotes, are replaced.
fn text(xml: &mut String, text: &str) {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('\r', "&#13;");
    xml.extend(text.chars().map(|char| if redrive_sqs::is_sqs_char(char) { char } else { '\u{fffd}' }));
}
