//! Lists in pages.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::refusal::Refusal;

/// The part of a list that a request asks for under a name, with the marker of the next part.
pub(super) fn page(
    name: &str,
    items: &[Value],
    most: usize,
    query: &BTreeMap<String, String>,
) -> Result<Value, Refusal> {
    let size = match query.get("MaxItems") {
        None => most,
        Some(text) => match text.parse::<usize>() {
            Ok(size @ 1..=10_000) => size.min(most),
            Ok(0) => {
                return Err(Refusal::constraint(0, "maxItems", "have value greater than or equal to 1"));
            }
            Ok(_) | Err(_) => {
                return Err(Refusal::constraint(text, "maxItems", "have value less than or equal to 10000"));
            }
        },
    };
    let begin = match query.get("Marker") {
        None => 0,
        Some(marker) => match marker.parse::<usize>() {
            Ok(begin) if begin < items.len() => begin,
            Ok(_) | Err(_) => return Err(Refusal::invalid(format!("Invalid Marker: {marker}"))),
        },
    };
    let end = (begin + size).min(items.len());
    let mut output = json!({ name: items[begin..end] });
    if end < items.len() {
        output["NextMarker"] = json!(end.to_string());
    }
    Ok(output)
}
