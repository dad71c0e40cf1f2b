//! The records of Lambda's event. Pure.

use std::collections::HashMap;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;

/// The records of an event, byte for byte as Lambda sent them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Records(HashMap<Key, Bytes>);

/// Identity of a record. The message id alone is not unique, because standard queues can deliver a message twice.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) message_id: String,
    pub(crate) receipt_handle: String,
}

#[derive(Deserialize)]
struct Event<'event> {
    #[serde(borrow, rename = "Records")]
    records: Vec<&'event RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Head {
    message_id: Option<String>,
    receipt_handle: Option<String>,
    event_source: Option<String>,
}

impl Records {
    /// Reads the records of an event, or returns `None` if it is not from SQS.
    pub(crate) fn of(payload: &Bytes) -> Option<Self> {
        let event: Event<'_> = serde_json::from_slice(payload).ok()?;
        let mut records = HashMap::with_capacity(event.records.len());
        let mut is_of_sqs = false;
        for record in event.records {
            let head: Head = serde_json::from_str(record.get()).ok()?;
            is_of_sqs |= head.event_source.as_deref() == Some("aws:sqs");
            let key = Key {
                message_id: head.message_id.unwrap_or_default(),
                receipt_handle: head.receipt_handle.unwrap_or_default(),
            };
            records.insert(key, payload.slice_ref(record.get().as_bytes()));
        }
        is_of_sqs.then_some(Self(records))
    }

    /// Returns an event with these records.
    pub(crate) fn event<'a>(&self, keys: impl IntoIterator<Item = &'a Key>) -> Bytes {
        let records: Vec<_> = keys.into_iter().filter_map(|key| self.0.get(key)).collect();
        let length = records.iter().map(|record| record.len() + 1).sum::<usize>();
        let mut event = Vec::with_capacity(length + 16);
        event.extend_from_slice(br#"{"Records":["#);
        for (at, record) in records.into_iter().enumerate() {
            if at > 0 {
                event.push(b',');
            }
            event.extend_from_slice(record);
        }
        event.extend_from_slice(b"]}");
        event.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_stay_as_they_came() {
        let first =
            r#"{ "messageId" : "m1","eventSource":"aws:sqs", "body":"\u00e9 \ud83d\ude00", "x": 1.50 }"#;
        let second = r#"{"messageId":"m2","eventSource":"aws:sqs","body":"é"}"#;
        let payload = Bytes::from(format!("{{\"Records\": [ {first} ,{second} ], \"more\": 1}}"));
        let records = Records::of(&payload).unwrap();
        let [m1, m2] = ["m1", "m2"].map(|id| Key { message_id: id.to_owned(), ..Key::default() });
        assert_eq!(records.event([&m1]), format!("{{\"Records\":[{first}]}}"));
        assert_eq!(records.event([&m2, &m1]), format!("{{\"Records\":[{second},{first}]}}"));
    }

    #[test]
    fn other_events_are_not_of_sqs() {
        for payload in [
            "",
            "null",
            "7",
            "{}",
            r#"{"Records": []}"#,
            r#"{"Records": "none"}"#,
            r#"{"Records": [{"eventSource": "aws:s3"}]}"#,
            r#"{"Records": [{"EventSource": "aws:sns"}]}"#,
            r#"[{"messageId": "m1", "eventSource": "aws:sqs"}]"#,
        ] {
            assert_eq!(Records::of(&Bytes::from(payload)), None, "{payload}");
        }
    }
}
