//! Readers that fill the same structures by serde.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;


#[derive(Deserialize)]
struct Event<'event> {
    #[serde(borrow, rename = "Records")]
    records: Vec<Entry<'event>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "they are read for the time it takes")]
struct Entry<'event> {
    #[serde(borrow)]
    message_id: Option<Text<'event>>,
    #[serde(borrow)]
    receipt_handle: Option<Text<'event>>,
    #[serde(borrow)]
    body: Option<Text<'event>>,
    #[serde(borrow, rename = "eventSourceARN")]
    source: Option<Text<'event>>,
    #[serde(borrow)]
    attributes: Option<System<'event>>,
    // serde_json's RawValue is known to serde_json alone; leaving them out is cheaper still.
    message_attributes: Option<IgnoredAny>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "PascalCase", default)]
struct System<'event> {
    #[serde(borrow)]
    approximate_receive_count: Option<Text<'event>>,
    #[serde(borrow)]
    sent_timestamp: Option<Text<'event>>,
    #[serde(borrow)]
    approximate_first_receive_timestamp: Option<Text<'event>>,
    #[serde(borrow)]
    message_group_id: Option<Text<'event>>,
    #[serde(borrow)]
    message_deduplication_id: Option<Text<'event>>,
    #[serde(borrow, rename = "AWSTraceHeader")]
    trace_header: Option<Text<'event>>,
}

#[derive(Deserialize)]
#[serde(transparent)]
struct Text<'event>(#[serde(borrow)] Cow<'event, str>);

impl Event<'_> {
    fn bytes(&self) -> usize {
        self.records.iter().flat_map(|entry| &entry.body).map(|body| body.0.len()).sum()
    }
}

/// As redrive did before it had a reader of its own, and does with unusual events.
pub(crate) fn serde_json(text: &str, _: &mut Vec<u8>) -> usize {
    let event: redrive_event::Event<'_> = serde_json::from_str(text).expect("an event");
    event.records.iter().flat_map(|entry| &entry.body).map(|body| body.0.len()).sum()
}

pub(crate) fn sonic(text: &str, _: &mut Vec<u8>) -> usize {
    sonic_rs::from_str::<Event<'_>>(text).expect("an event").bytes()
}

/// It writes over what it reads, so it gets a copy: what it cannot read has to be read by another.
pub(crate) fn simd(text: &str, copy: &mut Vec<u8>) -> usize {
    copy.clear();
    copy.extend_from_slice(text.as_bytes());
    simd_json::serde::from_slice::<Event<'_>>(copy).expect("an event").bytes()
}
