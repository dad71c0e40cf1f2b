//! Any input: never a panic, never an empty item identifier, and the same result by both ways in.

use std::borrow::Cow;

use aws_lambda_events::sqs::SqsEvent;
use proptest::prelude::*;
use redrive_event::Borrowed;
use redrive_sqs::{Attribute, Attributes};
use serde_json::{Value, json};

use super::*;
use crate::message::record::BatchContext;
use crate::properties::read_to_the_end;
use redrive_engine::{Backoff, MessageOverrides};

fn context() -> BatchContext {
    BatchContext { max_receive_count: Some(10), ..BatchContext::for_tests() }
}

/// A record with every field that Lambda sends.
fn sample() -> Value {
    json!({
        "messageId": "059f36b4-87a3-44ab-83d2-661975830a7d",
        "receiptHandle": "AQEBwJnKyrHigUMZj6rYigCgxlaS3SLy0a",
        "body": "{\"order\": \"A-1\\n\"}",
        "attributes": {
            "ApproximateReceiveCount": "3", "SentTimestamp": "1545082649183", "SenderId": "AIDAIENQZJOLO23YVJ4VO",
            "ApproximateFirstReceiveTimestamp": "1545082649185", "MessageGroupId": "g", "SequenceNumber": "18849496460467696128",
            "MessageDeduplicationId": "d", "AWSTraceHeader": "Root=1-5759e988-bd862e3fe1be46a994272793",
        },
        "messageAttributes": {
            "redrive.max-attempts": { "stringValue": "3", "stringListValues": [], "binaryListValues": [], "dataType": "Number" },
            "picture": { "binaryValue": "AP8H", "stringListValues": [], "binaryListValues": [], "dataType": "Binary" },
        },
        "md5OfBody": "e4e68fb7bd0e697a0ae8f1bb342846b3",
        "eventSource": "aws:sqs",
        "eventSourceARN": "arn:aws:sqs:eu-central-1:123456789012:orders.fifo",
        "awsRegion": "eu-central-1",
    })
}

fn attempt(count: Value) -> u32 {
    let mut event = json!({ "Records": [sample()] });
    event["Records"][0]["attributes"]["ApproximateReceiveCount"] = count;
    let event = event.to_string();
    Records::read(event.into(), &context()).unwrap().list()[0].attempt()
}

#[test]
fn a_receive_count_that_is_missing_or_no_number_counts_as_1() {
    assert_eq!(["3", "0", "", "abc", "-1", "2.5"].map(|count| attempt(count.into())), [3, 1, 1, 1, 1, 1]);
    assert_eq!(attempt(Value::Null), 1);
    assert_eq!(attempt("4294967296".into()), u32::MAX);
    assert_eq!(attempt("18446744073709551616".into()), 1);
}

#[test]
fn a_number_is_read_like_its_text() {
    assert_eq!(
        [json!(3), json!(0), json!(-1), json!(2.5), json!(u64::MAX)].map(attempt),
        [3, 1, 1, 1, u32::MAX]
    );
    let mut record = sample();
    record["attributes"]["SentTimestamp"] = json!(1_545_082_649_183_u64);
    let of = |record| {
        let records = Records::read(json!({ "Records": [record] }).to_string().into(), &context()).unwrap();
        records.list()[0].sent_at()
    };
    assert!(of(sample()).is_some());
    assert_eq!(of(record), of(sample()));
}

#[test]
fn both_ways_in_read_the_same_records() {
    let json = json!({ "Records": [sample()] }).to_string();
    let typed: SqsEvent = serde_json::from_str(&json).unwrap();
    let raw = Records::read(json.into(), &context()).unwrap();
    let [raw, read] = [raw, Records::of(typed, &context()).unwrap()].map(|records| {
        let record = &records.list()[0];
        (
            [record.id(), record.body(), record.source(), record.receipt_handle()].map(str::to_owned),
            [record.group(), record.trace_header(), record.deduplication_id()]
                .map(|text| text.map(str::to_owned)),
            (record.attempt(), record.sent_at(), record.first_received_at(), record.attributes()),
        )
    });
    assert_eq!(raw, read);
    assert_eq!(raw.2.3["picture"].as_bytes(), [0, 255, 7]);
}

#[test]
fn texts_without_escapes_are_borrowed() {
    let json = json!({ "Records": [sample()] }).to_string();
    let event: Event<'_> = serde_json::from_str(&json).unwrap();
    let record = &event.records[0];
    let is_borrowed = |text: &Option<Borrowed<'_>>| matches!(text, Some(Borrowed(Cow::Borrowed(_))));
    assert!(
        is_borrowed(&record.message_id) && is_borrowed(&record.receipt_handle) && is_borrowed(&record.source)
    );
    assert!(!is_borrowed(&record.body), "a body with escapes has to be written anew");
}

/// Any JSON, with names that mean something here among its keys.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        "[0-9]{0,25}".prop_map(Value::from),
    ];
    let name = prop::sample::select(vec![
        "messageId",
        "body",
        "attributes",
        "messageAttributes",
        "stringValue",
        "binaryValue",
        "dataType",
        "SentTimestamp",
        "ApproximateReceiveCount",
        "redrive.backoff",
        "redrive.max-attempts",
        "eventSourceARN",
        "x",
    ]);
    leaf.prop_recursive(4, 32, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((name.clone(), inner), 0..6).prop_map(|fields| fields
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect()),
        ]
    })
}

proptest! {
    #[test]
    fn any_bytes_are_an_event_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(records) = Records::read(bytes.into(), &context()) {
            read_to_the_end(records.list());
        }
    }

    #[test]
    fn a_real_event_with_bytes_changed_is_an_event_or_an_error(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
    ) {
        let mut bytes = json!({ "Records": [sample(), sample()] }).to_string().into_bytes();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let typed = serde_json::from_slice::<SqsEvent>(&bytes).ok();
        for records in [Records::read(bytes.into(), &context()).ok(), typed.and_then(|it| Records::of(it, &context()).ok())] {
            records.iter().for_each(|records| read_to_the_end(records.list()));
        }
    }

    #[test]
    fn a_real_event_with_any_json_in_a_field_is_an_event_or_an_error(
        at in 0_usize..9, inner in any::<bool>(), value in any_json(),
    ) {
        let fields = ["messageId", "receiptHandle", "body", "attributes", "messageAttributes", "eventSourceARN"];
        let mut record = sample();
        match (fields.get(at), inner) {
            (Some(field), _) => record[field] = value,
            (None, true) => record["attributes"]["SentTimestamp"] = value,
            (None, false) => record["messageAttributes"]["redrive.backoff"] = value,
        }
        let bytes = json!({ "Records": [record] }).to_string();
        if let Ok(records) = Records::read(bytes.into(), &context()) {
            read_to_the_end(records.list());
        }
    }

    #[test]
    fn any_attribute_is_an_override_or_a_warning(attempts in any::<String>(), backoff in any_json()) {
        let text = |value: String| Attribute::text("String", value);
        let attributes = Attributes::from([
            ("redrive.max-attempts".to_owned(), text(attempts)),
            ("redrive.backoff".to_owned(), text(backoff.to_string())),
        ]);
        let (overrides, warnings) = MessageOverrides::read(&attributes, &Backoff::default(), Some(10));
        let followed = usize::from(overrides.max_attempts.is_some()) + usize::from(overrides.backoff.is_some());
        prop_assert!(followed + warnings.len() >= 2, "{:?} {:?}", overrides, warnings);
    }
}
