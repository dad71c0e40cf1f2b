//! The reader agrees with `serde_json`, and reads the events that Lambda usually sends.

use super::*;

/// Returns true if the event is usual. Panics if `serde_json` reads it differently.
fn is_usual(text: &str) -> bool {
    let Some(ours) = read(text) else { return false };
    let theirs: Event<'_> = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert_eq!(ours, theirs, "{text}");
    true
}

/// Records as in the documentation, with attributes of both kinds, of a standard queue and of a FIFO queue.
/// <https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html>
const EVENT: &str = r#"{"Records": [
    {"messageId":"059f36b4-87a3-44ab-83d2-661975830a7d","receiptHandle":"AQEBwJnKyrHigUMZj6rYigCgxlaS3SLy0a/+==",
    "body":"{\"a\":\"b\\c\\n\", \"ü\": [\"\/\b\f\n\r\t\", \"a text that is longer than eight bytes\"]}",
    "attributes":{"ApproximateReceiveCount":"1","SentTimestamp":"1763700000000","SenderId":"A:p",
    "ApproximateFirstReceiveTimestamp":"1763700000123","AWSTraceHeader":"Root=1-5759e988-bd862e3fe1be46a994272793"},
    "messageAttributes":{"kind":{"stringValue":"a\"b","stringListValues":[],"binaryListValues":[],"dataType":"String"},
    "picture":{"binaryValue":"AP8H","stringListValues":[],"binaryListValues":[],"dataType":"Binary"}},
    "md5OfBody":"e4e68fb7bd0e697a0ae8f1bb342846b3","eventSource":"aws:sqs",
    "eventSourceARN":"arn:aws:sqs:eu-central-1:123456789012:orders","awsRegion":"eu-central-1"},
    {"messageId":"2","receiptHandle":"h","body":"ä plain","attributes":{"ApproximateReceiveCount":"12","SequenceNumber":"18849496460467696128",
    "MessageGroupId":"g","MessageDeduplicationId":"d"},"messageAttributes":{},"md5OfMessageAttributes":"e4","eventSource":"aws:sqs"},
    {"messageId":"3","body":""}]}"#;

/// An event that is left to `serde_json`.
const UNUSUAL: &str = r#"{"x": {"y": ["z", {}, [], 1, 2.5e3, true, null]}, "Records": [
    {"messageId":"1","receiptHandle":null,"body":"\u00e4","attributes":{"ApproximateReceiveCount":1}}]} "#;

#[test]
fn usual_events_are_read_without_serde_json() {
    assert!(is_usual(EVENT));
    let spaced: serde_json::Value = serde_json::from_str(EVENT).unwrap();
    assert!(is_usual(&spaced.to_string()));
    assert!(is_usual(&serde_json::to_string_pretty(&spaced).unwrap()));
    assert!(is_usual(r#"{"Records":[]}"#));
    for file in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../events")).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_some_and(|kind| kind == "json") {
            assert!(is_usual(&std::fs::read_to_string(&path).unwrap()), "{}", path.display());
        }
    }
}

#[test]
fn unusual_events_are_left_to_serde_json() {
    assert!(!is_usual(UNUSUAL));
    assert!(serde_json::from_str::<Event<'_>>(UNUSUAL).is_ok());
    let record = |record: &str| format!(r#"{{"Records":[{record}]}}"#);
    for unusual in [
        r#"{"messageId":"1","messageId":"2"}"#,
        r#"{"messageId":"\u0031"}"#,
        r#"{"message\u0049d":"1"}"#,
        r#"{"body":"\ud83d\ude00"}"#,
        r#"{"body":7}"#,
        r#"{"attributes":null}"#,
        r#"["1"]"#,
        "{\"body\":\"\t\"}",
        "{\"body\":\"\\\"\t\"}",
        r#"{"x":nonsense}"#,
    ] {
        assert!(!is_usual(&record(unusual)), "{unusual}");
    }
    for unusual in
        ["", "{}", "null", "[]", r#"{"Records":[]}x"#, r#"{"Records":[],"Records":[]}"#, "{\"Records"]
    {
        assert!(!is_usual(unusual), "{unusual}");
    }
}

#[test]
fn deep_nesting_does_not_overflow_the_stack() {
    let nested = |depth| format!(r#"{{"x":{}{},"Records":[]}}"#, "[".repeat(depth), "]".repeat(depth));
    assert!(is_usual(&nested(16)));
    assert!(!is_usual(&nested(17)) && !is_usual(&nested(1_000_000)));
}

#[test]
fn a_text_may_end_and_be_escaped_anywhere() {
    for length in 0..600 {
        let plain = "a".repeat(length);
        for body in
            [plain.clone(), format!("{plain}\\n"), format!("\\\"{plain}"), format!("é{plain}\\\\ü\\t{plain}")]
        {
            let event = format!(r#"{{"Records":[{{"messageId":"{length}","body":"{body}"}}]}}"#);
            assert!(is_usual(&event), "{event}");
        }
    }
}

#[test]
fn damaged_events_are_read_as_by_serde_json() {
    let mut random = fastrand::Rng::with_seed(7);
    let mut usual = 0;
    for round in 0..60_000 {
        let mut bytes = if round % 8 == 0 { UNUSUAL } else { EVENT }.as_bytes().to_vec();
        for _ in 0..random.usize(0..3) {
            let at = random.usize(0..bytes.len());
            let byte = *random.choice(b"\"\\{}[],:nu0 \x01a/\xc3").unwrap();
            match random.u8(0..4) {
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                2 => bytes.truncate(at.max(1)),
                _ => drop(bytes.remove(at)),
            }
        }
        if let Ok(text) = std::str::from_utf8(&bytes) {
            usual += usize::from(is_usual(text));
        }
    }
    assert!(usual > 10_000, "{usual}");
}
