//! Fields in the notation of any protocol. In a form everything is text.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ciborium::tag::Required;
use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::{Serialize, Serializer};

/// A number, including `NaN` and the infinities.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Number(pub(crate) f64);

/// `true` or `false`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Flag(pub(crate) bool);

/// A time in an input: seconds since 1970, or ISO 8601 in a form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Time(pub(crate) SystemTime);

/// A time in an answer: seconds since 1970, or ISO 8601 in XML.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp(pub(crate) SystemTime);

/// A list of items. A missing list is empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct List<T>(pub(crate) Vec<T>);

impl Number {
    /// Returns the number if it is whole and at least `least`.
    pub(crate) fn whole(self, least: u32) -> Option<u32> {
        let is_whole = self.0.fract() == 0.0 && (f64::from(least)..=f64::from(u32::MAX)).contains(&self.0);
        is_whole.then_some(self.0 as u32)
    }
}

impl<T> Default for List<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

#[derive(serde::Deserialize)]
#[serde(untagged)]
enum Leaf {
    Flag(bool),
    Number(f64),
    Text(String),
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Leaf::deserialize(deserializer)? {
            Leaf::Number(number) => Ok(Self(number)),
            Leaf::Text(text) => text.trim().parse().map(Self).map_err(|_| not_a("number", text)),
            Leaf::Flag(flag) => Err(not_a("number", flag)),
        }
    }
}

impl<'de> Deserialize<'de> for Flag {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Leaf::deserialize(deserializer)? {
            Leaf::Flag(flag) => Ok(Self(flag)),
            Leaf::Text(text) => text.parse().map(Self).map_err(|_| not_a("boolean", text)),
            Leaf::Number(number) => Err(not_a("boolean", number)),
        }
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Leaf::deserialize(deserializer)? {
            Leaf::Number(number) => seconds(number).map(Self).ok_or_else(|| not_a("timestamp", number)),
            // Some clients write UTC's offset in digits.
            Leaf::Text(text) => humantime::parse_rfc3339_weak(text.trim_end_matches("+00:00"))
                .map(Self)
                .map_err(|_| not_a("timestamp", text)),
            Leaf::Flag(flag) => Err(not_a("timestamp", flag)),
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(Option::deserialize(deserializer)?.unwrap_or_default()))
    }
}

impl Serialize for Stamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let since = self.0.duration_since(UNIX_EPOCH).unwrap_or_default();
        let seconds = since.as_millis() as f64 / 1_000.0;
        if serializer.is_human_readable() {
            return seconds.serialize(serializer);
        }
        Required::<f64, 1>(seconds).serialize(serializer)
    }
}

/// Converts seconds since 1970 to a time, rounded to milliseconds.
pub(super) fn seconds(number: f64) -> Option<SystemTime> {
    let milliseconds = (number * 1_000.0).round();
    (0.0..1e16).contains(&milliseconds).then(|| UNIX_EPOCH + Duration::from_millis(milliseconds as u64))
}

fn not_a<E: Error>(what: &str, value: impl std::fmt::Display) -> E {
    E::custom(format!("{value} is not a {what}"))
}

#[cfg(test)]
mod tests {
    use ciborium::{Value, cbor};
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
        let empty = read(cbor!({ "number" => "NaN", "list" => null })).unwrap();
        assert!(empty.number.0.is_nan() && empty.list.0.is_empty() && empty.flag.is_none());
    }

    #[test]
    fn a_wrong_type_is_refused_with_the_value() {
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
