//! A letter as a JSON document for an editor, and what came back from there. Pure.

use std::collections::BTreeMap;

use aws_sdk_sqs::primitives::Blob;
use aws_sdk_sqs::types::MessageAttributeValue;
use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::super::limits::fault;
use super::super::pretty::pretty;
use super::layout::{compact, is_compact};
use super::outgoing::{Destination, Outgoing};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document<'text> {
    #[serde(borrow)]
    body: &'text RawValue,
    #[serde(default)]
    attributes: BTreeMap<String, Attribute>,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Attribute {
    r#type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    base64: Option<String>,
}

/// The body and the attributes, but for redrive's own. A JSON object or array is laid out, anything else is a string.
pub(super) fn write(outgoing: &Outgoing) -> String {
    let body = match is_json(&outgoing.body) {
        true => outgoing.body.clone(),
        false => serde_json::json!(outgoing.body).to_string(),
    };
    let attributes: BTreeMap<_, _> =
        outgoing.own().map(|(name, value)| (name, Attribute::new(value))).collect();
    let attributes = serde_json::to_string(&attributes).unwrap_or_else(|_| "{}".to_owned());
    let document = format!("{{\"body\":{body},\"attributes\":{attributes}}}");
    pretty(&document).unwrap_or(document)
        + "
"
}

/// The letter as it was edited, none if nothing was changed.
///
/// # Errors
/// What keeps it from being sent.
pub(super) fn read(text: &str, before: &Outgoing, to: Destination) -> Result<Option<Outgoing>, String> {
    let document: Document<'_> = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let body = body(document.body.get(), &before.body)?;
    let mut attributes = BTreeMap::new();
    for (name, attribute) in document.attributes {
        if name.starts_with("redrive.origin") || name.starts_with("redrive.dead-letter") {
            return Err(format!("the attribute {name} is redrive's own"));
        }
        let value = attribute.read().map_err(|error| format!("the attribute {name}: {error}"))?;
        attributes.insert(name, value);
    }
    if body == before.body && before.own().eq(attributes.iter()) {
        return Ok(None);
    }
    match fault(&body, &attributes, to.largest) {
        Some(fault) => Err(fault),
        None => Ok(Some(before.edited(body, attributes, to.largest))),
    }
}

/// What was a JSON object or array must be one still.
fn body(raw: &str, before: &str) -> Result<String, String> {
    if is_json(raw) {
        return Ok(match is_json(before) {
            true if compact(raw) == compact(before) => before.to_owned(),
            true if !is_compact(before) => pretty(raw).unwrap_or_else(|| raw.to_owned()),
            _ => compact(raw),
        });
    }
    match serde_json::from_str::<String>(raw) {
        Ok(text) if !is_json(before) => Ok(text),
        Ok(_) => Err("the body was a JSON object or array and is a string now".to_owned()),
        Err(_) => Err(format!("the body is {raw}, allowed: an object, an array or a string")),
    }
}

fn is_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '[']) && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

impl Attribute {
    fn new(value: &MessageAttributeValue) -> Self {
        Self {
            r#type: value.data_type().to_owned(),
            value: value.string_value().map(str::to_owned),
            base64: value.binary_value().map(|value| BASE64_STANDARD.encode(value)),
        }
    }

    fn read(self) -> Result<MessageAttributeValue, String> {
        let value = MessageAttributeValue::builder().data_type(self.r#type);
        let value = match (self.value, self.base64) {
            (Some(text), None) => value.string_value(text),
            (None, Some(base64)) => {
                let bytes = BASE64_STANDARD.decode(base64).map_err(|error| format!("base64: {error}"))?;
                value.binary_value(Blob::new(bytes))
            }
            _ => return Err("needs either value or base64".to_owned()),
        };
        value.build().map_err(|error| error.to_string())
    }
}

#[cfg(test)]
#[path = "document/tests.rs"]
mod tests;
