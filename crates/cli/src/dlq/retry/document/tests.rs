use aws_sdk_sqs::types::{Message, MessageSystemAttributeName};
use redrive_sqs::{Attribute, Origin};

use super::super::super::letter::Letter;
use super::*;
use crate::sqs::QueueRules;

const TO: usize = MAX_BYTES;

fn redrive(body: &str) -> Redrive {
    let message = Message::builder()
        .message_id("l1")
        .receipt_handle("h")
        .body(body)
        .attributes(MessageSystemAttributeName::MessageGroupId, "g");
    let attributes = [("a", Attribute::text("String", "x")), ("b", Attribute::binary("Binary", [0, 255]))];
    let attributes = attributes.map(|(name, attribute)| (name.to_owned(), attribute)).into();
    let letter = Letter { attributes, ..Letter::new(message.build()) };
    Redrive::new(&letter, &QueueRules::for_tests(true, TO)).unwrap()
}

#[test]
fn an_untouched_document_is_unchanged_however_it_is_indented() {
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
        let before = redrive(body);
        let document = write(&before);
        assert_eq!(read(&document, &before, TO), Ok(None), "{document}");
    }
}

#[test]
fn an_edited_body_keeps_its_form_and_gets_another_deduplication_id() {
    let before = redrive(r#"{"id":7,"price":1.10}"#);
    let document = write(&before);
    assert!(document.contains("\n    \"price\": 1.10\n"), "{document}");
    let after = read(&document.replace('7', "8"), &before, TO).unwrap().unwrap();
    assert_eq!(after.message.body, r#"{"id":8,"price":1.10}"#);
    assert_eq!(after.message.attributes, before.message.attributes);
    assert!(after.has_origin);
    let id = |redrive: &Redrive| redrive.message.deduplication_id.clone().unwrap();
    assert!(id(&after).starts_with(&format!("{}-", id(&before))), "{}", id(&after));
    let again = read(&document.replace('7', "8"), &before, TO).unwrap().unwrap();
    assert_eq!(id(&after), id(&again));
}

#[test]
fn attributes_can_be_edited_and_redrives_own_cannot() {
    let before = redrive("b");
    let document = write(&before);
    assert!(!document.contains(Origin::ATTRIBUTE), "{document}");
    let after = read(&document.replace("\"x\"", "\"y\""), &before, TO).unwrap().unwrap();
    assert_eq!(after.message.attributes["a"].as_str(), Some("y"));
    assert_eq!(after.message.attributes["b"].as_bytes(), [0, 255]);
    assert!(after.message.attributes.contains_key(Origin::ATTRIBUTE));
    let error = read(&document.replace("\"a\"", "\"redrive.origin\""), &before, TO).unwrap_err();
    assert_eq!(error, "the attribute redrive.origin is reserved for redrive");
}

#[test]
fn a_document_that_cannot_be_sent_is_refused() {
    let before = redrive(r#"{"id":7}"#);
    for (document, expected) in [
        ("{\"body\": {\"id\": 8}", "EOF"),
        ("{\"body\": \"text\", \"attributes\": {}}", "is a string now"),
        ("{\"body\": 8, \"attributes\": {}}", "the body is 8, allowed"),
        ("{\"attributes\": {}}", "missing field `body`"),
        ("{\"text\": \"{\"}", "is none now"),
        ("{\"text\": \"{}\", \"body\": {}}", "one of them"),
        (
            "{\"body\": {}, \"attributes\": {\"a\": \"x\"}}",
            "the attribute a: invalid type: string \"x\", expected {\"type\", \"value\"} or {\"type\", \"base64\"}",
        ),
        ("{\"body\": {}, \"group\": \"b\"}", "unknown field `group`"),
        ("{\"body\": {}, \"attributes\": {\"a\": {\"type\": \"String\"}}}", "either value or base64"),
        ("{\"body\": {}, \"attributes\": {\"AWS.a\": {\"type\": \"String\", \"value\": \"x\"}}}", "AWS.a"),
        ("{\"body\": {}, \"attributes\": {\"a\": {\"type\": \"Binary\", \"base64\": \"!\"}}}", "base64"),
    ] {
        let error = read(document, &before, TO).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
    let text = redrive("text");
    assert!(read("{\"body\": \"\\u0001\"}", &text, TO).unwrap_err().contains("\\u{1}"));
    assert!(read("{\"body\": \"\"}", &text, TO).unwrap_err().contains("empty"));
    assert!(read("{\"body\": \"12345678901\"}", &text, 10).unwrap_err().contains("allowed: 10"));
}

#[test]
fn a_text_is_sent_as_it_was_typed() {
    let before = redrive("{ \"a\": 1,\n  \"b\" : 1E5 }");
    let edited =
        |text: &str| read(&serde_json::json!({ "text": text, "attributes": {} }).to_string(), &before, TO);
    let typed = "{ \"a\": 2,\n  \"b\" : 1E5 }";
    assert_eq!(edited(typed).unwrap().unwrap().message.body, typed);
    assert_eq!(check(r#"{"text":"x","attributes":{"a":{"type":"String","value":"y"}}}"#), Ok(()));
    for (document, expected) in [
        (r#"{"text":"x","attributes":{"a":{"type":"Word","value":"y"}}}"#, "Word"),
        (r#"{"text":"","attributes":{}}"#, "empty"),
        (r#"{"text":"x","attributes":{"redrive.origin":{}}}"#, "reserved for redrive"),
    ] {
        let error = check(document).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn a_broken_body_can_be_mended_as_text_or_as_json() {
    let before = redrive("{\"a\":1,}");
    for document in ["{\"body\": \"{\\\"a\\\":1}\"}", "{\"body\": {\"a\": 1}}"] {
        assert_eq!(read(document, &before, TO).unwrap().unwrap().message.body, "{\"a\":1}");
    }
}
