//! Reads inputs of each protocol.

use bytes::Bytes;
use ciborium::Value;
use serde::de::DeserializeOwned;

use super::count;
use super::form::Tree;

#[derive(Debug)]
pub(super) enum Input {
    Json(Bytes),
    Cbor(Value),
    Form(Tree),
}

impl Input {
    /// # Errors
    /// Returns an error if the input has too many values. Invalid JSON is found later, when it is read.
    pub(super) fn json(body: Bytes) -> Result<Self, String> {
        count::check_within(&body, serde_json::from_slice)?;
        Ok(Self::Json(body))
    }

    /// Reads CBOR. Timestamps become plain numbers.
    ///
    /// # Errors
    /// Returns an error if the input has too many values or is not CBOR.
    pub(super) fn cbor(body: &[u8]) -> Result<Self, String> {
        count::check_within(body, ciborium::from_reader)?;
        if body.is_empty() {
            return Ok(Self::Cbor(Value::Map(Vec::new())));
        }
        let value = ciborium::from_reader(body).map_err(|error| error.to_string())?;
        Ok(Self::Cbor(without_tags(value)))
    }

    pub(super) fn read<T: DeserializeOwned>(&self) -> Result<T, String> {
        match self {
            Self::Json(body) if body.is_empty() => serde_json::from_slice(b"{}").map_err(|e| e.to_string()),
            Self::Json(body) => of_json(body).map_err(|error| error.to_string()),
            Self::Cbor(value) => value.deserialized().map_err(|error| error.to_string()),
            Self::Form(tree) => T::deserialize(tree).map_err(|error| error.to_string()),
        }
    }
}

/// Reads JSON, in which a member that is null counts as left out.
/// <https://github.com/smithy-lang/smithy/blob/28b3be5b935f36c4caa376e237e6afbe22be6e2b/smithy-aws-protocol-tests/model/awsJson1_1/null.smithy>
fn of_json<T: DeserializeOwned>(body: &[u8]) -> serde_json::Result<T> {
    serde_json::from_slice(body).or_else(|error| {
        let mut value = serde_json::from_slice(body)?;
        leave_nulls_out(&mut value);
        // The first error says where it is.
        T::deserialize(value).map_err(|_| error)
    })
}

fn leave_nulls_out(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::Object(members) => {
            members.retain(|_, member| !member.is_null());
            members.values_mut().for_each(leave_nulls_out);
        }
        serde_json::Value::Array(items) => items.iter_mut().for_each(leave_nulls_out),
        _ => {}
    }
}

fn without_tags(value: Value) -> Value {
    match value {
        Value::Tag(_, inner) => without_tags(*inner),
        Value::Array(items) => Value::Array(items.into_iter().map(without_tags).collect()),
        Value::Map(entries) => {
            Value::Map(entries.into_iter().map(|(key, value)| (key, without_tags(value))).collect())
        }
        plain => plain,
    }
}
