//! JSON that keeps numbers as they are written, because 300 and 300.0 are different values to a filter.

use std::collections::BTreeMap;

use serde::de::{Deserialize, Deserializer, Error};
use serde_json::value::RawValue;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Json {
    Null,
    Bool(bool),
    Number(String),
    Text(String),
    List(Vec<Self>),
    Map(BTreeMap<String, Self>),
}

impl Json {
    /// # Errors
    /// Returns an error if the text is not JSON, or nested deeper than 127 levels.
    pub(super) fn parse(text: &str) -> serde_json::Result<Self> {
        // This check limits the nesting and names the right column of a mistake, which reading level by level would not.
        serde_json::from_str::<serde_json::Value>(text)?;
        serde_json::from_str(text)
    }

    pub(super) fn get(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Map(fields) => fields.get(name),
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::Text(_) | Self::List(_) => None,
        }
    }

    /// Returns the value of a number, if a filter can compare it.
    pub(super) fn number(&self) -> Option<f64> {
        match self {
            Self::Number(text) => text.parse().ok(),
            Self::Null | Self::Bool(_) | Self::Text(_) | Self::List(_) | Self::Map(_) => None,
        }
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <&RawValue>::deserialize(deserializer)?.get();
        let value = match text.as_bytes().first() {
            Some(b'{') => serde_json::from_str(text).map(Self::Map),
            Some(b'[') => serde_json::from_str(text).map(Self::List),
            Some(b'"') => serde_json::from_str(text).map(Self::Text),
            Some(b't' | b'f') => serde_json::from_str(text).map(Self::Bool),
            Some(b'n') => Ok(Self::Null),
            _ => Ok(Self::Number(text.to_owned())),
        };
        value.map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sort_of_value_is_read_and_numbers_keep_their_form() {
        let json = Json::parse(r#" {"a": [null, true, 300, 3.0e2, "\u00e4", {}], "b": -0 } "#).unwrap();
        let list = [
            Json::Null,
            Json::Bool(true),
            Json::Number("300".into()),
            Json::Number("3.0e2".into()),
            Json::Text("ä".into()),
            Json::Map(BTreeMap::new()),
        ];
        assert_eq!(json.get("a"), Some(&Json::List(list.into())));
        assert_eq!(json.get("b"), Some(&Json::Number("-0".into())));
    }

    #[test]
    fn invalid_or_endlessly_nested_json_is_refused() {
        for text in ["", "tea", "{", "[1,]", "1 2", &"[".repeat(500_000)] {
            assert!(Json::parse(text).is_err());
        }
    }
}
