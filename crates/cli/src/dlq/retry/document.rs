//! Writes a letter as a JSON document for an editor, and reads it back. Pure.

use std::collections::BTreeMap;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use redrive_sqs::{Attributes, MAX_BYTES, cut_to, validate};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use super::super::pretty::{compact, is_compact, pretty};
use crate::escape::cut;
use crate::letters::{Letter, Redrive};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document<'text> {
    #[serde(borrow)]
    body: Option<&'text RawValue>,
    /// The body to send, from a page that shows it unchanged.
    text: Option<String>,
    #[serde(default)]
    attributes: BTreeMap<String, Value>,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "{\"type\", \"value\"} or {\"type\", \"base64\"}")]
struct Attribute {
    r#type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    base64: Option<String>,
}

/// Writes the body and the attributes without redrive's own. JSON objects and arrays are indented, any other body is a string.
pub(super) fn write(redrive: &Redrive) -> String {
    let body = match is_json(&redrive.message.body) {
        true => redrive.message.body.clone(),
        false => serde_json::json!(redrive.message.body).to_string(),
    };
    let attributes: BTreeMap<_, _> =
        redrive.own().map(|(name, value)| (name, Attribute::new(value))).collect();
    let attributes = serde_json::to_string(&attributes).unwrap_or_else(|_| "{}".to_owned());
    let document = format!("{{\"body\":{body},\"attributes\":{attributes}}}");
    pretty(&document).unwrap_or(document)
        + "
"
}

/// Returns comment lines with the letter's id and reason, which [`read`] skips.
pub(super) fn head(letter: &Letter) -> String {
    let why = cut(&format!("{}: {}", letter.reason(), letter.error()), 200);
    format!(
        "// letter {}: {}\n// Lines that begin with // before the document are ignored.\n",
        cut(&letter.id, 100),
        why.trim_end_matches([':', ' '])
    )
}

/// Replaces the head by empty lines, so that errors have the line numbers of the editor.
fn without_head(text: &str) -> String {
    let head: Vec<&str> = text.split_inclusive('\n').take_while(|line| line.starts_with("//")).collect();
    let rest = &text[head.iter().map(|line| line.len()).sum()..];
    "\n".repeat(head.len()) + rest
}

/// Reads the edited letter. Returns none if nothing was changed.
///
/// # Errors
/// The letter cannot be sent, and why.
pub(super) fn read(text: &str, before: &Redrive, largest: usize) -> Result<Option<Redrive>, String> {
    let text = without_head(text);
    let document = parse(&text)?;
    let body = match (document.body, document.text) {
        (Some(raw), None) => body(raw.get(), &before.message.body)?,
        (None, Some(text)) if is_json(&before.message.body) && !is_json(&text) => {
            return Err("the body was a JSON object or array and is none now".to_owned());
        }
        (None, Some(text)) => text,
        (None, None) => return Err("missing field `body`".to_owned()),
        (Some(_), Some(_)) => return Err("there is body and text, allowed: one of them".to_owned()),
    };
    let attributes = attributes(document.attributes)?;
    if body == before.message.body && before.own().eq(attributes.iter()) {
        return Ok(None);
    }
    match validate(&body, &attributes, largest) {
        Some(fault) => Err(fault),
        None => Ok(Some(before.edited(body, attributes, largest))),
    }
}

/// Checks a document from the page before the letter is received again.
///
/// # Errors
/// The document or an attribute is malformed.
pub(crate) fn check(text: &str) -> Result<(), String> {
    let document = parse(text)?;
    let body = document.text.as_deref().or(document.body.map(RawValue::get)).unwrap_or_default();
    match validate(body, &attributes(document.attributes)?, MAX_BYTES) {
        Some(fault) => Err(fault),
        None => Ok(()),
    }
}

fn parse(text: &str) -> Result<Document<'_>, String> {
    serde_json::from_str(text).map_err(|error| cut_to(&error.to_string(), 256).into_owned())
}

fn attributes(given: BTreeMap<String, Value>) -> Result<Attributes, String> {
    let mut attributes = Attributes::new();
    for (name, attribute) in given {
        if name.starts_with("redrive.origin") || name.starts_with("redrive.dead-letter") {
            return Err(format!("the attribute {} is reserved for redrive", cut_to(&name, 64)));
        }
        // The error of a single value has no line and column, which would be wrong in the whole document.
        let attribute = serde_json::from_value(attribute).map_err(|error| error.to_string());
        let value = attribute
            .and_then(Attribute::read)
            .map_err(|error| format!("the attribute {}: {}", cut_to(&name, 64), cut_to(&error, 256)))?;
        attributes.insert(name, value);
    }
    Ok(attributes)
}

/// Refuses a body that was a JSON object or array and is none now.
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
        Err(_) => Err(format!("the body is {}, allowed: an object, an array or a string", cut_to(raw, 64))),
    }
}

fn is_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '[']) && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

impl Attribute {
    fn new(attribute: &redrive_sqs::Attribute) -> Self {
        let base64 = attribute.as_str().is_none().then(|| BASE64_STANDARD.encode(attribute.as_bytes()));
        let value = attribute.as_str().map(str::to_owned);
        Self { r#type: attribute.data_type().to_owned(), value, base64 }
    }

    fn read(self) -> Result<redrive_sqs::Attribute, String> {
        match (self.value, self.base64) {
            (Some(text), None) => Ok(redrive_sqs::Attribute::text(self.r#type, text)),
            (None, Some(base64)) => {
                let bytes = BASE64_STANDARD.decode(base64).map_err(|error| format!("base64: {error}"))?;
                Ok(redrive_sqs::Attribute::binary(self.r#type, bytes))
            }
            _ => Err("needs either value or base64".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests;
