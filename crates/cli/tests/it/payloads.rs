//! Bodies in S3: `redrive dlq show --payload`, `dlq retry` and `redrive send --payload-bucket`.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;
use std::time::Duration;

use aws_sdk_sqs::types::MessageAttributeValue;
use redrive_sqs::PayloadPointer;
use serde_json::{Value, json};

use crate::dlq_retry::letters::{bodies, take};
use crate::letters::{DEAD, note, text};
use crate::proxy::{Fate, Proxy};
use crate::support::{Aws, Ran, command};

const POINTER: &str =
    r#"["software.amazon.payloadoffloading.PayloadS3Pointer",{"s3BucketName":"payloads","s3Key":"k1"}]"#;

fn size() -> MessageAttributeValue {
    MessageAttributeValue::builder().data_type("Number").string_value("300000").build().expect("a number")
}

/// Answers reads of S3 with this body, and stores whatever there is to store.
fn with_s3(aws: &Aws, payload: Value) -> Proxy {
    Proxy::start(&aws.url, move |call, _| match call.action.split(' ').next() {
        Some("GET") => Fate::Answers(payload.clone()),
        Some("PUT") => Fate::Answers(json!({})),
        _ => Fate::Answered,
    })
}

fn calls_of_s3(proxy: &Proxy, method: &str) -> Vec<(String, Value)> {
    let calls = proxy.calls().into_iter().filter(|call| call.action.starts_with(method));
    calls.map(|call| (call.action, call.input)).collect()
}

#[test]
fn a_letter_whose_body_is_in_s3_says_where_and_is_read_only_if_asked() {
    let aws = Aws::with_orders(false);
    let id = aws.letter_with(
        POINTER,
        [("redrive.dead-letter", note("m1", "rejected", "no")), ("ExtendedPayloadSize", size())],
    );
    let proxy = with_s3(&aws, json!({"order": "A-1"}));
    let shown = proxy.redrive(&format!("dlq show --queue orders --no-logs {id}"));
    shown
        .told(0, "")
        .stdout_has("\n  body in S3        s3://payloads/k1, 300000 bytes\n")
        .stdout_has(POINTER.split_once(',').expect("two").0.trim_start_matches('['));
    assert_eq!(calls_of_s3(&proxy, "GET"), [], "the sender chose the bucket");

    let shown = proxy.redrive(&format!("dlq show --queue orders --no-logs --payload {id}"));
    shown.told(0, "").stdout_ends("\nPayload (15 bytes, JSON)\n│ {\n│   \"order\": \"A-1\"\n│ }\n");
    assert!(calls_of_s3(&proxy, "GET")[0].0.starts_with("GET /payloads/k1"));
    let json = proxy.redrive(&format!("dlq show --queue orders --no-logs --json --payload {id}")).json();
    let expected =
        json!({"bucket": "payloads", "key": "k1", "bytes": 300_000, "body": "{\"order\":\"A-1\"}"});
    assert_eq!((&json["payload"], &json["body"]), (&expected, &POINTER.into()));
    assert_eq!(aws.counts(DEAD), (1, 0));
}

#[test]
fn a_payload_that_cannot_be_read_is_told_below_the_letter() {
    let aws = Aws::with_orders(false);
    let id = aws.letter_with(POINTER, [("SQSLargePayloadSize", size())]);
    // Nothing here serves S3.
    let shown = aws.redrive(&format!("dlq show --queue orders --no-logs --payload {id}"));
    shown.refused(1, "redrive: could not read s3://payloads/k1: ").stdout_has("body in S3");
    let id = aws.letter_with(POINTER, []);
    let shown = aws.redrive(&format!("dlq show --queue orders --no-logs --payload {id}"));
    assert_eq!(
        (shown.code, shown.stdout.contains("body in S3")),
        (0, false),
        "without the attribute it is a body"
    );
}

/// An S3 whose answer to anything begins at once, and goes on with a byte now and then.
fn slow_s3() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut stream = stream;
            thread::spawn(move || {
                let _ = stream.read(&mut [0; 8_192]);
                let mut next = &b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n"[..];
                while stream.write_all(next).is_ok() {
                    thread::sleep(Duration::from_millis(200));
                    next = b"xxxx";
                }
            });
        }
    });
    url
}

#[test]
fn a_payload_that_comes_a_byte_at_a_time_is_given_up_at_the_timeout() {
    let aws = Aws::with_orders(false);
    let id = aws.letter_with(POINTER, [("ExtendedPayloadSize", size())]);
    let mut show =
        command(&format!("dlq show --queue orders --no-logs --payload --timeout 2 --region eu-west-1 {id}"));
    show.env("AWS_ENDPOINT_URL", &aws.url).env("AWS_ENDPOINT_URL_S3", slow_s3());
    show.env("AWS_ACCESS_KEY_ID", "id").env("AWS_SECRET_ACCESS_KEY", "secret");
    let why = "redrive: could not read s3://payloads/k1 to its end within 2 s: --timeout waits longer";
    Ran::of(&mut show).refused(1, why).stdout_has("body in S3");
}

#[test]
fn a_pointer_that_is_too_long_for_s3_is_refused_below_the_letter() {
    let aws = Aws::with_orders(false);
    let (long, cut) = ("k".repeat(65_600), "k".repeat(64));
    let arn = format!("arn:{}", "k".repeat(500));
    for (bucket, key, why) in [
        (
            "payloads",
            &*long,
            format!("the key of s3://payloads/{cut}… has 65600 bytes, allowed: at most 1024"),
        ),
        (&long, "k1", format!("s3://{cut}…/k1 names a bucket that cannot exist")),
        (&arn, "k1", format!("s3://arn:{}…/k1 names a bucket that cannot exist", "k".repeat(60))),
        ("a/../b", "k1", "s3://a/../b/k1 names a bucket that cannot exist".to_owned()),
    ] {
        let body = PayloadPointer { bucket: bucket.to_owned(), key: key.to_owned() }.body();
        let id = aws.letter_with(&body, [("ExtendedPayloadSize", size())]);
        let shown = aws.redrive(&format!("dlq show --queue orders --no-logs --payload {id}"));
        shown.refused(1, &format!("redrive: {why}")).stdout_has("body in S3");
    }
}

#[test]
fn a_letter_goes_back_with_pointer_and_attribute() {
    let aws = Aws::with_orders(false);
    let names: Vec<String> = (0..8).map(|number| format!("a{number}")).collect();
    let own: [_; 8] = std::array::from_fn(|at| (names[at].as_str(), text("x")));
    let [a, b, c, d, e, f, g, h] = own;
    // Ten with the note, so that there is room for the origin once that is gone.
    let rest = [("ExtendedPayloadSize", size()), ("redrive.dead-letter", note("m1", "rejected", "no"))];
    let [size, note] = rest;
    aws.letter_with(POINTER, [a, b, c, d, e, f, g, h, size, note]);
    aws.redrive("dlq retry --queue orders --yes").ended(0);
    let messages = take(&aws, "orders");
    assert_eq!(messages[0].body(), Some(POINTER));
    let attributes = messages[0].message_attributes.as_ref().expect("there are ten");
    assert_eq!(attributes.len(), 10);
    assert_eq!(attributes["ExtendedPayloadSize"].string_value(), Some("300000"));
    assert_eq!(attributes["ExtendedPayloadSize"].data_type(), "Number");
    assert!(attributes.contains_key("redrive.origin"));
}

#[test]
fn large_bodies_are_stored_and_pointers_to_them_are_sent() {
    let aws = Aws::with_orders(false);
    let proxy = with_s3(&aws, Value::Null);
    let large = json!({"lines": ["x".repeat(300_000)]});
    let lines = format!("{}\n{}\n", json!({"body": "small"}), json!({"body": large}));
    let send = "send --queue orders - --payload-bucket payloads/big";
    let told = "2 messages would be sent to orders in 1 request, 1 with its body in s3://payloads\n";
    proxy.redrive_with(&format!("{send} --dry-run"), &lines).printed(0, told);
    assert_eq!(calls_of_s3(&proxy, "PUT"), []);

    let told = "2 messages sent to orders, 1 with its body in s3://payloads\n";
    proxy.redrive_with(send, &lines).printed(0, told);
    let [(stored, body)] = &calls_of_s3(&proxy, "PUT")[..] else { panic!("one is stored") };
    assert_eq!(*body, large);
    let mut messages = take(&aws, "orders");
    messages.sort_by_key(|message| message.body().map(str::len));
    assert_eq!(messages[0].body(), Some("small"));
    let attributes = messages[1].message_attributes.as_ref().expect("the size");
    let bytes = large.to_string().len().to_string();
    assert_eq!(attributes["ExtendedPayloadSize"].string_value(), Some(bytes.as_str()));
    let (_, pointer): (String, PayloadPointer) =
        serde_json::from_str(messages[1].body().expect("one")).expect("two");
    assert!(
        pointer.key.starts_with("big/redrive-") && stored.contains(&pointer.key),
        "{pointer:?}: {stored}"
    );

    // 5 bytes, in the threshold and beyond it.
    proxy
        .redrive(&[
            "send",
            "--queue",
            "orders",
            "--body",
            "12345",
            "--payload-bucket",
            "payloads",
            "--payload-threshold",
            "5",
        ])
        .printed(0, "1 message sent to orders\n");
    proxy
        .redrive(&[
            "send",
            "--queue",
            "orders",
            "--body",
            "12345",
            "--payload-bucket",
            "payloads",
            "--payload-threshold",
            "4",
        ])
        .stdout_has("with its body in s3://payloads");
}

#[test]
fn no_message_is_sent_if_a_body_cannot_be_stored() {
    let aws = Aws::with_orders(false);
    let proxy = Proxy::start(&aws.url, |call, _| match call.action.starts_with("PUT") {
        true => Fate::Refused(403, "AccessDenied"),
        false => Fate::Answered,
    });
    let lines = "{\"body\": 1}\n{\"body\": \"12345\"}\n";
    let send = "send --queue orders - --payload-bucket payloads --payload-threshold 4";
    proxy
        .redrive_with(send, lines)
        .refused(1, "; no message was sent")
        .stderr_starts("redrive: stdin: line 2: could not store s3://payloads/redrive-");
    let ten: Vec<String> = (0..10).map(|number| format!("\"a{number}\": \"x\"")).collect();
    let full = format!("{{\"body\": \"12345\", \"attributes\": {{{}}}}}", ten.join(","));
    aws.redrive_with(send, &full)
        .told(2, "redrive: stdin: line 1: the message has 11 attributes, allowed: 10\n");
    for (flags, why) in [
        ("--payload-threshold 4", "--payload-bucket"),
        ("--payload-bucket My_Bucket", "allowed: the name of a bucket"),
        ("--payload-bucket payloads --payload-threshold 1048577", "allowed: 0 to 1048576"),
        (
            &format!("--payload-bucket payloads/{}", "p".repeat(70_000)),
            "has 70000 bytes, allowed: at most 924",
        ),
    ] {
        let ran = aws.redrive(&format!("send --queue orders --body x {flags}"));
        assert!(ran.code == 2 && ran.stderr.contains(why), "{ran:?}");
    }
    assert!(bodies(&aws, "orders").is_empty());
}
