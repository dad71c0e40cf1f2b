//! Fields as any of the three protocols writes them. In a form everything is text, and an empty list is an empty one.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ciborium::Value;
use ciborium::tag::Required;
use serde::de::{Deserialize, DeserializeOwned, Deserializer, Error};
use serde::ser::{Serialize, Serializer};

/// A number, `NaN` and the infinities included.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::cloudwatch) struct Number(pub(in crate::cloudwatch) f64);

/// `true` or `false`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cloudwatch) struct Flag(pub(in crate::cloudwatch) bool);

/// A moment that was given: seconds since 1970, or in a form ISO 8601.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cloudwatch) struct Time(pub(in crate::cloudwatch) SystemTime);

/// A moment to answer with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cloudwatch) struct Stamp(pub(in crate::cloudwatch) SystemTime);

/// Any number of items.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cloudwatch) struct List<T>(pub(in crate::cloudwatch) Vec<T>);

impl Number {
    /// As a whole number from `least` on.
    pub(in crate::cloudwatch) fn whole(self, least: u32) -> Option<u32> {
        let is_whole = self.0.fract() == 0.0 && (f64::from(least)..=f64::from(u32::MAX)).contains(&self.0);
        is_whole.then_some(self.0 as u32)
    }
}

impl<T> Default for List<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Float(number) => Ok(Self(number)),
            Value::Integer(number) => Ok(Self(i128::from(number) as f64)),
            Value::Text(text) => text.trim().parse().map(Self).map_err(|_| not_a("number", &text)),
            other => Err(not_a("number", &format!("{other:?}"))),
        }
    }
}

impl<'de> Deserialize<'de> for Flag {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Bool(flag) => Ok(Self(flag)),
            Value::Text(text) => text.parse().map(Self).map_err(|_| not_a("boolean", &text)),
            other => Err(not_a("boolean", &format!("{other:?}"))),
        }
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        if let Value::Text(text) = &value {
            // Some write the offset of UTC in digits.
            let text = text.trim_end_matches("+00:00");
            return humantime::parse_rfc3339_weak(text).map(Self).map_err(|_| not_a("timestamp", text));
        }
        let number: Number = value.deserialized().map_err(D::Error::custom)?;
        seconds(number.0).map(Self).ok_or_else(|| not_a("timestamp", &number.0.to_string()))
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Null => Ok(Self::default()),
            Value::Text(text) if text.is_empty() => Ok(Self::default()),
            value => value.deserialized().map(Self).map_err(D::Error::custom),
        }
    }
}

impl Serialize for Stamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let since = self.0.duration_since(UNIX_EPOCH).unwrap_or_default();
        Required::<f64, 1>(since.as_millis() as f64 / 1_000.0).serialize(serializer)
    }
}

/// The moment so many seconds after the beginning of 1970, to the millisecond.
pub(super) fn seconds(number: f64) -> Option<SystemTime> {
    let milliseconds = (number * 1_000.0).round();
    (0.0..1e16).contains(&milliseconds).then(|| UNIX_EPOCH + Duration::from_millis(milliseconds as u64))
}

fn not_a<E: Error>(what: &str, value: &str) -> E {
    E::custom(format!("{value} is not a {what}"))
}

#[cfg(test)]
mod tests {
    use ciborium::cbor;
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Fields {
        number: Number,
        flag: Option<Flag>,
        time: Option<Time>,
        #[serde(default)]
        list: List<Number>,
    }

    fn read(value: Result<Value, ciborium::value::Error>) -> Result<Fields, String> {
        value.unwrap().deserialized().map_err(|error| error.to_string())
    }

    #[test]
    fn a_field_is_the_same_in_every_protocol() {
        let at = UNIX_EPOCH + Duration::from_millis(1_795_247_400_250);
        let expected = Fields {
            number: Number(3.0),
            flag: Some(Flag(true)),
            time: Some(Time(at)),
            list: List(vec![Number(1.5)]),
        };
        for value in [
            cbor!({ "number" => 3, "flag" => true, "time" => 1_795_247_400.25, "list" => [1.5] }),
            cbor!({ "number" => 3.0, "flag" => "true", "time" => "2026-11-21T07:50:00.250Z", "list" => ["1.5"] }),
            cbor!({ "number" => "3", "flag" => true, "time" => "2026-11-21T07:50:00.25+00:00", "list" => [1.5] }),
        ] {
            assert_eq!(read(value).as_ref(), Ok(&expected));
        }
        let empty = read(cbor!({ "number" => "NaN", "list" => "" })).unwrap();
        assert!(empty.number.0.is_nan() && empty.list.0.is_empty() && empty.flag.is_none());
    }

    #[test]
    fn what_is_of_another_type_is_refused_with_its_value() {
        for (value, refusal) in [
            (cbor!({ "number" => "three" }), "three is not a number"),
            (cbor!({ "number" => 1, "flag" => "yes" }), "yes is not a boolean"),
            (cbor!({ "number" => 1, "time" => "noon" }), "noon is not a timestamp"),
            (cbor!({ "number" => 1, "time" => -5 }), "-5 is not a timestamp"),
        ] {
            let error = read(value).unwrap_err();
            assert!(error.contains(refusal), "{error}");
        }
    }
}
