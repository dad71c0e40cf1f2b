use aws_sdk_sqs::types::Message;
use redrive::Origin;
use redrive_sqs::MAX_BYTES;

use super::super::super::letter::Letter;
use super::*;

const TO: Destination = Destination { is_fifo: true, largest: MAX_BYTES };

fn outgoing(body: &str) -> Outgoing {
    let text = |value: &str| {
        MessageAttributeValue::builder().data_type("String").string_value(value).build().unwrap()
    };
    let binary = MessageAttributeValue::builder().data_type("Binary").binary_value(Blob::new([0, 255]));
    let system = aws_sdk_sqs::types::MessageSystemAttributeName::MessageGroupId;
    let message = Message::builder()
        .message_id("l1")
        .receipt_handle("h")
        .body(body)
        .attributes(system, "g")
        .message_attributes("a", text("x"))
        .message_attributes("b", binary.build().unwrap());
    Outgoing::new(&Letter::new(message.build()), TO).unwrap()
}

#[test]
fn what_is_not_touched_is_unchanged_however_it_was_laid_out() {
    for body in [
        r#"{"a":1.0,"b":[12345678901234567890123]}"#,
        "{ \"a\" : 1 }\n",
        "  [1,\n2]",
        "plain text",
        "\"a string\"",
        "42",
        "{\"a\":1,}",
        "tab\tand \"quotes\"",
    ] {
        let before = outgoing(body);
        let document = write(&before);
        assert_eq!(read(&document, &before, TO), Ok(None), "{document}");
    }
}

#[test]
fn an_edited_body_keeps_its_form_and_gets_another_deduplication_id() {
    let before = outgoing(r#"{"id":7,"price":1.10}"#);
    let document = write(&before);
    assert!(document.contains("\n    \"price\": 1.10\n"), "{document}");
    let after = read(&document.replace('7', "8"), &before, TO).unwrap().unwrap();
    assert_eq!(after.body, r#"{"id":8,"price":1.10}"#);
    assert_eq!(after.attributes, before.attributes);
    assert!(after.has_origin);
    let id = |outgoing: &Outgoing| outgoing.entry(0).unwrap().message_deduplication_id.unwrap();
    assert!(id(&after).starts_with(&format!("{}-", id(&before))), "{}", id(&after));
    let again = read(&document.replace('7', "8"), &before, TO).unwrap().unwrap();
    assert_eq!(id(&after), id(&again));
}

#[test]
fn attributes_can_be_edited_and_redrives_own_cannot() {
    let before = outgoing("b");
    let document = write(&before);
    assert!(!document.contains(Origin::ATTRIBUTE), "{document}");
    let after = read(&document.replace("\"x\"", "\"y\""), &before, TO).unwrap().unwrap();
    assert_eq!(after.attributes["a"].string_value(), Some("y"));
    assert_eq!(after.attributes["b"].binary_value(), Some(&Blob::new([0, 255])));
    assert!(after.attributes.contains_key(Origin::ATTRIBUTE));
    let error = read(&document.replace("\"a\"", "\"redrive.origin\""), &before, TO).unwrap_err();
    assert_eq!(error, "the attribute redrive.origin is redrive's own");
}

#[test]
fn what_cannot_be_sent_is_refused() {
    let before = outgoing(r#"{"id":7}"#);
    for (document, expected) in [
        ("{\"body\": {\"id\": 8}", "EOF"),
        ("{\"body\": \"text\", \"attributes\": {}}", "is a string now"),
        ("{\"body\": 8, \"attributes\": {}}", "the body is 8, allowed"),
        ("{\"attributes\": {}}", "missing field `body`"),
        ("{\"body\": {}, \"group\": \"b\"}", "unknown field `group`"),
        ("{\"body\": {}, \"attributes\": {\"a\": {\"type\": \"String\"}}}", "either value or base64"),
        ("{\"body\": {}, \"attributes\": {\"AWS.a\": {\"type\": \"String\", \"value\": \"x\"}}}", "AWS.a"),
        ("{\"body\": {}, \"attributes\": {\"a\": {\"type\": \"Binary\", \"base64\": \"!\"}}}", "base64"),
    ] {
        let error = read(document, &before, TO).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
    let text = outgoing("text");
    assert!(read("{\"body\": \"\\u0001\"}", &text, TO).unwrap_err().contains("\\u{1}"));
    assert!(read("{\"body\": \"\"}", &text, TO).unwrap_err().contains("empty"));
    let small = Destination { is_fifo: false, largest: 10 };
    assert!(read("{\"body\": \"12345678901\"}", &text, small).unwrap_err().contains("allowed: 10"));
}

#[test]
fn a_broken_body_can_be_mended_as_text_or_as_json() {
    let before = outgoing("{\"a\":1,}");
    for document in ["{\"body\": \"{\\\"a\\\":1}\"}", "{\"body\": {\"a\": 1}}"] {
        assert_eq!(read(document, &before, TO).unwrap().unwrap().body, "{\"a\":1}");
    }
}
