//! Values as AWS JSON 1.0.

use bytes::Bytes;
use ciborium::Value;
use serde_json::{Map, Number, Value as Json};

use super::Refusal;

pub(super) fn read(body: &[u8]) -> Result<Value, Refusal> {
    serde_json::from_slice(body).map_err(Refusal::unreadable)
}

pub(super) fn write(value: &Value) -> Bytes {
    to_json(value).to_string().into()
}

/// Timestamps are seconds since 1970.
pub(in crate::cloudwatch) fn to_json(value: &Value) -> Json {
    match value {
        Value::Tag(_, inner) => to_json(inner),
        Value::Bool(flag) => Json::Bool(*flag),
        Value::Integer(number) => Json::from(i64::try_from(*number).unwrap_or_default()),
        Value::Float(number) => Number::from_f64(*number).map_or(Json::Null, Json::Number),
        Value::Text(text) => Json::String(text.clone()),
        Value::Array(items) => items.iter().map(to_json).collect(),
        Value::Map(entries) => {
            let named =
                entries.iter().filter_map(|(key, value)| Some((key.as_text()?.to_owned(), to_json(value))));
            Json::Object(named.collect::<Map<_, _>>())
        }
        _ => Json::Null,
    }
}
