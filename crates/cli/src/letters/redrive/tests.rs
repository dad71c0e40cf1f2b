use std::collections::HashMap;

use aws_sdk_sqs::types::Message;
use redrive_sqs::MAX_BYTES;

use super::*;

const STANDARD: &QueueRules = &QueueRules::for_tests(false, MAX_BYTES);
const FIFO: &QueueRules = &QueueRules::for_tests(true, MAX_BYTES);

const NOTE: &str = r#"{"reason":"rejected","error":"card refused","failed_at":"2026-11-21T07:50:00Z","attempts":1,
    "message_id":"m1","source":"arn:aws:sqs:eu-west-1:123456789012:orders"}"#;

fn text(value: &str) -> Attribute {
    Attribute::text("String", value)
}

fn letter(body: &str, attributes: Vec<(&str, Attribute)>) -> Letter {
    let attributes: Attributes =
        attributes.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    let system = HashMap::from([
        (MessageSystemAttributeName::MessageGroupId, "g".to_owned()),
        (MessageSystemAttributeName::MessageDeduplicationId, "m1".to_owned()),
        (MessageSystemAttributeName::AwsTraceHeader, "Root=1-5e1b4151-5ac6c58dc39a6b6d4e0f1c2d".to_owned()),
    ]);
    let message =
        Message::builder().message_id("l1").receipt_handle("h").body(body).set_attributes(Some(system));
    let (note, origin) = (DeadLetter::find(&attributes, None), Origin::find(&attributes));
    Letter { note, origin, attributes, ..Letter::new(message.build()) }
}

fn origin(redrive: &Redrive) -> Option<(String, u32)> {
    Origin::find(&redrive.message.attributes).map(|origin| (origin.message_id, origin.redrives))
}

#[test]
fn the_note_makes_room_for_the_origin_and_all_else_stays() {
    let blob = Attribute::binary("Binary.png", [0, 255]);
    let letter =
        letter("body", vec![(DeadLetter::ATTRIBUTE, text(NOTE)), ("a", text("x")), ("b", blob.clone())]);
    let redrive = Redrive::new(&letter, STANDARD).unwrap();
    let names: Vec<_> = redrive.message.attributes.keys().map(String::as_str).collect();
    assert_eq!(names, ["a", "b", Origin::ATTRIBUTE]);
    assert_eq!(redrive.message.attributes["b"], blob);
    assert_eq!(origin(&redrive), Some(("m1".to_owned(), 1)));
    assert_eq!((redrive.message.body.as_str(), redrive.message.group_id.as_deref()), ("body", Some("g")));
    assert_eq!(redrive.message.deduplication_id, None);
    assert_eq!(redrive.message.trace_header.as_deref(), Some("Root=1-5e1b4151-5ac6c58dc39a6b6d4e0f1c2d"));
}

#[test]
fn a_second_redrive_counts_on_from_the_first_life() {
    let earlier = text(r#"{"message_id":"m0","redrives":1}"#);
    let letter = letter("b", vec![(DeadLetter::ATTRIBUTE, text(NOTE)), (Origin::ATTRIBUTE, earlier)]);
    assert_eq!(origin(&Redrive::new(&letter, STANDARD).unwrap()), Some(("m0".to_owned(), 2)));
}

#[test]
fn the_origin_is_left_out_only_if_no_attribute_is_free() {
    let names: Vec<_> = (0..10).map(|n| format!("a{n}")).collect();
    let ten: Vec<_> = names.iter().map(|name| (name.as_str(), text("x"))).collect();
    let redrive = Redrive::new(&letter("b", ten.clone()), STANDARD).unwrap();
    assert_eq!((redrive.has_origin, redrive.message.attributes.len()), (false, 10));
    let mut nine = ten;
    nine[9] = (DeadLetter::ATTRIBUTE, text(NOTE));
    let redrive = Redrive::new(&letter("b", nine), STANDARD).unwrap();
    assert_eq!((redrive.has_origin, redrive.message.attributes.len()), (true, 10));
}

#[test]
fn without_room_below_what_the_destination_takes_the_origin_is_left_out() {
    let needed = Redrive::new(&letter("b", vec![]), STANDARD).unwrap().message.size() - 1;
    for (bytes, expected) in [(MAX_BYTES - needed, true), (MAX_BYTES - needed + 1, false), (MAX_BYTES, false)]
    {
        let redrive = Redrive::new(&letter(&"b".repeat(bytes), vec![]), STANDARD).unwrap();
        assert_eq!((redrive.has_origin, redrive.message.attributes.len()), (expected, usize::from(expected)));
    }
}

#[test]
fn a_fifo_queue_gets_a_deduplication_id_of_this_redrive_alone() {
    let first = letter("b", vec![]);
    let id = |redrive: &Redrive| redrive.message.deduplication_id.clone().unwrap();
    let redrive = Redrive::new(&first, FIFO).unwrap();
    assert_eq!(id(&redrive), "l1-1");
    assert_eq!(id(&redrive), id(&Redrive::new(&first, FIFO).unwrap()));
    let again = letter("b", vec![(Origin::ATTRIBUTE, text(r#"{"message_id":"m0","redrives":1}"#))]);
    assert_eq!(id(&Redrive::new(&again, FIFO).unwrap()), "l1-2");
    let edited = |body: &str| redrive.edited(body.to_owned(), redrive.message.attributes.clone(), MAX_BYTES);
    assert!(id(&edited("c")).starts_with("l1-1-") && id(&edited("c")) != id(&edited("d")));
}

#[test]
fn a_letter_without_a_group_cannot_go_to_a_fifo_queue() {
    let mut letter = letter("b", vec![]);
    letter.system.remove(&MessageSystemAttributeName::MessageGroupId);
    assert!(Redrive::new(&letter, FIFO).is_err());
    assert!(Redrive::new(&letter, STANDARD).is_ok());
}
