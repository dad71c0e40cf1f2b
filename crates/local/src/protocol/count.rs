//! Limits the number of values in an input. A map of one byte takes a hundred bytes in memory, so values are counted before
//! an input is read.

use std::fmt;

use serde::de::{Deserialize, Deserializer, EnumAccess, Error, MapAccess, SeqAccess, VariantAccess, Visitor};

/// Most values of an input, keys included. The largest request is PutMetricData with 1,000 metrics, each with 150 values, 150
/// counts and 30 dimensions: half a million. Requests of the other services are far smaller.
/// <https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_MetricDatum.html>
pub(super) const MOST_VALUES: usize = 1 << 19;

/// # Errors
/// Returns an error if there are too many values.
pub(super) fn check(values: usize) -> Result<(), String> {
    if values > MOST_VALUES {
        return Err(too_many());
    }
    Ok(())
}

fn too_many() -> String {
    format!("the input holds more than {MOST_VALUES} values")
}

/// Checks an input with a reader that keeps nothing, if its bytes could be too many values.
///
/// # Errors
/// Returns an error if the input has too many values or cannot be read.
pub(super) fn check_within<'a, E: fmt::Display>(
    bytes: &'a [u8],
    read: impl FnOnce(&'a [u8]) -> Result<Count, E>,
) -> Result<(), String> {
    if bytes.len() <= MOST_VALUES {
        return Ok(());
    }
    match read(bytes) {
        Ok(Count(values)) => check(values),
        Err(error) => {
            let (reason, too_many) = (error.to_string(), too_many());
            // Some readers append the position.
            Err(if reason.contains(&too_many) { too_many } else { reason })
        }
    }
}

/// The number of values in an input, keys included.
pub(super) struct Count(usize);

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Counting)
    }
}

struct Counting;

/// Counts a value that contains no others.
macro_rules! one {
    ($($visit:ident($kind:ty)),+) => {
        $(fn $visit<E>(self, _: $kind) -> Result<Count, E> { Ok(Count(1)) })+
    };
}

impl<'de> Visitor<'de> for Counting {
    type Value = Count;

    one!(
        visit_bool(bool),
        visit_u64(u64),
        visit_i64(i64),
        visit_u128(u128),
        visit_i128(i128),
        visit_f64(f64)
    );
    one!(visit_str(&str), visit_bytes(&[u8]));

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Count, E> {
        Ok(Count(1))
    }

    fn visit_none<E>(self) -> Result<Count, E> {
        Ok(Count(1))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Count, A::Error> {
        let mut all = 1;
        while let Some(Count(item)) = items.next_element()? {
            all += item;
            check(all).map_err(A::Error::custom)?;
        }
        Ok(Count(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Count, A::Error> {
        let mut all = 1;
        while let Some((Count(key), Count(value))) = entries.next_entry()? {
            all += key + value;
            check(all).map_err(A::Error::custom)?;
        }
        Ok(Count(all))
    }

    /// A tagged value of CBOR.
    fn visit_enum<A: EnumAccess<'de>>(self, tagged: A) -> Result<Count, A::Error> {
        let (_, inner): (Count, _) = tagged.variant()?;
        inner.newtype_variant().map(|Count(values)| Count(values + 1))
    }
}

#[cfg(test)]
mod tests {
    use ciborium::Value;

    use super::*;

    fn of_cbor(value: &Value) -> usize {
        let mut bytes = Vec::new();
        ciborium::into_writer(value, &mut bytes).unwrap();
        ciborium::from_reader::<Count, _>(&bytes[..]).unwrap().0
    }

    #[test]
    fn every_value_and_every_key_counts_and_so_does_a_tag() {
        let count = |json: &str| serde_json::from_str::<Count>(json).unwrap().0;
        for (json, expected) in [
            ("null", 1),
            ("[]", 1),
            (r#"[1, -1, 1.5, "a", true, null, {}]"#, 8),
            (r#"{"a": {"b": [[]]}, "c": 18446744073709551615}"#, 8),
        ] {
            assert_eq!(count(json), expected, "{json}");
            let value: serde_json::Value = serde_json::from_str(json).unwrap();
            assert_eq!(of_cbor(&Value::serialized(&value).unwrap()), expected, "{json}");
        }
        let tagged = Value::Tag(1, Box::new(Value::Array(vec![Value::Bytes(vec![1; 10_000])])));
        assert_eq!(of_cbor(&tagged), 3);
    }

    #[test]
    fn as_many_as_allowed_are_allowed() {
        let list = |items: usize| format!("[{}1]", "1,".repeat(items - 1));
        let checked = |text: &str| check_within(text.as_bytes(), serde_json::from_slice);
        assert_eq!(checked(&list(MOST_VALUES - 1)), Ok(()));
        let refused = Err("the input holds more than 524288 values".to_owned());
        assert_eq!(checked(&list(MOST_VALUES)), refused);
        assert_eq!(checked(&format!("[[[{}]]]", list(MOST_VALUES))), refused);
        let cut = checked(&list(MOST_VALUES)[1..]).unwrap_err();
        assert!(cut.starts_with("trailing characters"), "{cut}");
    }
}
