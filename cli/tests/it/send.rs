//! `redrive send`: messages from a file, from stdin or from the command line.

use std::collections::BTreeSet;

use aws_sdk_sqs::types::MessageSystemAttributeName;

use crate::dlq_retry::letters::{bodies, take};
use crate::proxy::{Fate, Proxy};
use crate::support::{Aws, at_first, unread};
use crate::terminal::Terminal;

fn visible(aws: &Aws, queue: &str) -> String {
    aws.attribute(queue, "ApproximateNumberOfMessages")
}

#[test]
fn lines_of_stdin_arrive_with_all_that_they_say() {
    let aws = Aws::with_orders(false);
    let lines = "{\"body\": {\"b\": 1, \"a\": 2}, \"attributes\": {\"source\": \"file\"}}\n\n{\"body\": \"text\", \"group_id\": \"g\"}\n";
    aws.redrive_with("send --queue orders - --attribute source=flag --group-id f", lines)
        .printed(0, "2 messages sent to orders\n");
    let messages = take(&aws, "orders");
    let told: BTreeSet<_> = messages
        .iter()
        .map(|message| {
            let attributes = message.message_attributes.as_ref().expect("it has one");
            let group = &message.attributes.as_ref().expect("it has some")
                [&MessageSystemAttributeName::MessageGroupId];
            (
                message.body().unwrap_or_default(),
                attributes["source"].string_value().unwrap_or_default(),
                group.as_str(),
            )
        })
        .collect();
    assert_eq!(told, BTreeSet::from([(r#"{"b":1,"a":2}"#, "file", "f"), ("text", "flag", "g")]));
}

#[test]
fn more_than_ten_go_in_several_requests_and_a_delay_hides_them() {
    let aws = Aws::with_orders(false);
    let lines: String = (0..23).map(|number| format!("{{\"body\": {number}}}\n")).collect();
    aws.redrive_with("send --queue orders - --dry-run", &lines)
        .printed(0, "23 messages would be sent to orders in 3 requests\n");
    assert_eq!(visible(&aws, "orders"), "0");
    let ran = aws.redrive_with("send --queue orders -", &lines);
    assert_eq!((ran.code, visible(&aws, "orders").as_str()), (0, "23"), "{ran:?}");
    aws.redrive("send --queue orders --body later --delay 60").printed(0, "1 message sent to orders\n");
    assert_eq!(aws.attribute("orders", "ApproximateNumberOfMessagesDelayed"), "1");
}

#[test]
fn a_fifo_queue_gets_groups_and_deduplication_ids() {
    let aws = Aws::with_orders(true);
    let lines = "{\"body\": \"same\", \"group_id\": \"a\"}\n".repeat(2);
    for expected in ["2", "4"] {
        let ran = aws.redrive_with("send --queue orders.fifo -", &lines);
        assert_eq!((ran.code, visible(&aws, "orders.fifo").as_str()), (0, expected), "{ran:?}");
    }
    for _ in 0..2 {
        let body = [
            "send",
            "--queue",
            "orders.fifo",
            "--body",
            "once",
            "--group-id",
            "b",
            "--deduplication-id",
            "d",
        ];
        aws.redrive(&body).ended(0);
    }
    assert_eq!(visible(&aws, "orders.fifo"), "5", "the same id is the same message");
    let event = concat!(env!("CARGO_MANIFEST_DIR"), "/../events/fifo.json");
    aws.redrive(&format!("send --queue orders.fifo {event}")).ended(0);
    assert!(bodies(&aws, "orders.fifo").iter().any(|body| body.contains("order_id")));
}

#[test]
fn a_binary_attribute_of_an_event_arrives_byte_for_byte() {
    let aws = Aws::with_orders(false);
    // The bytes 0 to 255, as base64 has them.
    let bytes: Vec<u8> = (0..=255).collect();
    let base64 = base64::Engine::encode(&base64::prelude::BASE64_STANDARD, &bytes);
    let event = serde_json::json!({ "Records": [{
        "messageId": "m-1",
        "body": "x",
        "messageAttributes": {
            "seal": { "dataType": "Binary.png", "binaryValue": base64 },
            "cents": { "dataType": "Number", "stringValue": "450" },
        },
    }] });
    aws.redrive_with("send --queue orders -", &event.to_string()).ended(0);
    let messages = take(&aws, "orders");
    let attributes = messages[0].message_attributes.as_ref().expect("it has two");
    assert_eq!(attributes["seal"].binary_value().expect("it is binary").as_ref(), bytes);
    assert_eq!((attributes["seal"].data_type(), attributes["cents"].data_type()), ("Binary.png", "Number"));
}

#[test]
fn a_wrong_message_is_named_and_nothing_is_sent() {
    let aws = Aws::with_orders(false);
    for (lines, expected) in [
        ("{\"body\": 1}\n{\"bdy\": 2}\n", "redrive: stdin: line 2: column 6: unknown field `bdy`"),
        ("{\"body\": 1}\n\n{\"body\": \"\"}\n", "redrive: stdin: line 3: the body is empty"),
        (
            "{\"body\": 1, \"delay\": 901}\n",
            "redrive: stdin: line 1: delay is 901, allowed: 0 to 900 seconds",
        ),
        (
            "{\"body\": 1, \"queue\": \"other\"}\n",
            "redrive: stdin: line 1: it is for the queue other, not for orders",
        ),
    ] {
        aws.redrive_with("send --queue orders -", lines).refused(2, "").stderr_starts(expected);
    }
    assert_eq!(visible(&aws, "orders"), "0");
    aws.redrive("send --queue orders")
        .told(2, "redrive: nothing to send: pass FILE, - for stdin, or --body TEXT\n");
    for wrong in ["send --queue orders - --body x", "send --queue orders --body x --rate 1e-20"] {
        aws.redrive(wrong).ended(2);
    }
}

/// An entry of a file of an event, with an attribute of any type.
fn record(data_type: &str, value: &str) -> String {
    let attribute = serde_json::json!({ "n": { "dataType": data_type, "stringValue": value } });
    serde_json::json!({ "Records": [{ "body": "good" }, { "body": "x", "messageAttributes": attribute }] })
        .to_string()
}

#[test]
fn all_that_sqs_refuses_is_found_before_anything_is_sent() {
    let fifo = r#""group_id": "g""#;
    let many: Vec<String> = (0..11).map(|number| format!("\"a{number}\": \"1\"")).collect();
    let bad = |fields: &str| format!("{{\"body\": \"good\", {fifo}}}\n{{{fields}}}\n");
    for (queue, lines) in [
        ("orders", bad(r#""body": "\u0001""#)),
        ("orders", bad(r#""body": """#)),
        ("orders", bad(&format!(r#""body": "{}""#, "x".repeat((1 << 20) + 1)))),
        ("orders", bad(r#""body": "x", "attributes": {"AWS.a": "1"}"#)),
        ("orders", bad(r#""body": "x", "attributes": {"a..b": "1"}"#)),
        ("orders", bad(r#""body": "x", "attributes": {"a": ""}"#)),
        ("orders", bad(r#""body": "x", "attributes": {"a": "\u0000"}"#)),
        ("orders", bad(&format!(r#""body": "x", "attributes": {{{}}}"#, many.join(",")))),
        ("orders", bad(r#""body": "x", "delay": 901"#)),
        ("orders", bad(r#""body": "x", "group_id": "a b""#)),
        ("orders", bad(r#""body": "x", "deduplication_id": "d""#)),
        ("orders", record("Number", "many")),
        ("orders", record("Text", "x")),
        ("orders", record(&format!("String.{}", "x".repeat(250)), "x")),
        ("orders.fifo", bad(r#""body": "x""#)),
        ("orders.fifo", bad(r#""body": "x", "group_id": """#)),
        ("orders.fifo", bad(r#""body": "x", "group_id": "g", "deduplication_id": "d d""#)),
        ("orders.fifo", bad(r#""body": "x", "group_id": "g", "delay": 5"#)),
    ] {
        let aws = Aws::with_orders(queue.ends_with(".fifo"));
        for dry in ["--dry-run", "--json"] {
            let ran = aws.redrive_with(&format!("send --queue {queue} - {dry}"), &lines);
            let shown = &lines[..lines.len().min(200)];
            assert_eq!((ran.code, ran.stderr.lines().count()), (2, 1), "{shown} {dry}: {}", ran.stderr);
            assert!(ran.stderr.starts_with("redrive: stdin: "), "{shown}: {}", ran.stderr);
        }
        assert_eq!(visible(&aws, queue), "0", "{queue}");
    }
}

#[test]
fn a_message_that_sqs_refuses_is_named_and_the_others_arrive() {
    let aws = Aws::with_orders(false);
    let fate = Fate::EntriesFail(vec![1], "InvalidMessageContents");
    let proxy = Proxy::start(&aws.url, at_first(1, "SendMessageBatch", fate));
    let lines = "{\"body\": \"one\"}\n{\"body\": \"two\"}\n{\"body\": \"three\"}\n";
    proxy
        .redrive_with("send --queue orders -", lines)
        .printed(1, "2 messages sent to orders\n")
        .stderr_starts("redrive: stdin: line 2: ")
        .stderr_ends("redrive: 1 of 3 messages was not sent\n");
    assert_eq!(bodies(&aws, "orders"), ["one", "three"]);
}

#[test]
fn what_went_before_others_that_did_not_is_named() {
    let aws = Aws::with_orders(true);
    let proxy = Proxy::start(&aws.url, |call, before| match (call.action.as_str(), before) {
        ("SendMessageBatch", 1..) => Fate::Says("AccessDeniedException", "not you"),
        _ => Fate::Answered,
    });
    let lines = ["a", "a", "b"].map(|group| format!("{{\"body\": 1, \"group_id\": \"{group}\"}}\n")).concat();
    let ran = proxy.redrive_with("send --queue orders.fifo -", &lines);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(
        ran.stderr.contains(
            "; stdin: line 3 behind stdin: line 2 had already been sent (1 of 3 messages was not sent)"
        ),
        "{ran:?}"
    );
}

#[test]
fn what_concerns_all_ends_the_sending_in_one_line() {
    let aws = Aws::with_orders(false);
    let proxy = Proxy::refusing(&aws.url, [("SendMessageBatch", "AccessDeniedException", "not you")]);
    let lines = "{\"body\": 1}\n".repeat(25);
    let ran = proxy.redrive_with("send --queue orders -", &lines);
    let expected = "redrive: could not send to orders: not allowed: your credentials need sqs:SendMessage \
                    (not you) (25 of 25 messages were not sent)\n";
    ran.told(1, expected);
}

#[test]
fn what_arrived_before_the_end_is_counted() {
    let aws = Aws::with_orders(false);
    // The first call is refused for one of its messages, so each goes alone, and the third of them is the last.
    let proxy = Proxy::start(&aws.url, |call, before| match (call.action.as_str(), before) {
        ("SendMessageBatch", 0) => Fate::Says("InvalidMessageContents", "which is not said"),
        ("SendMessageBatch", 3..) => Fate::Says("AccessDeniedException", "not you"),
        _ => Fate::Answered,
    });
    let lines = "{\"body\": 1}\n".repeat(5);
    proxy
        .redrive_with("send --queue orders -", &lines)
        .printed(1, "2 messages sent to orders\n")
        .stderr_ends("(3 of 5 messages were not sent)\n");
    assert_eq!(visible(&aws, "orders"), "2");
}

#[test]
fn a_moment_of_throttling_is_waited_out() {
    let aws = Aws::with_orders(false);
    let fate = at_first(2, "SendMessageBatch", Fate::Says("RequestThrottled", "slow down"));
    let proxy = Proxy::start(&aws.url, fate);
    let line = proxy.redrive_with("send --queue orders - --json", "{\"body\": 1}\n").ended(0).json();
    assert_eq!(line["place"], "stdin: line 1");
    let [message] = &take(&aws, "orders")[..] else { panic!("one message") };
    assert_eq!(line["message_id"].as_str(), message.message_id());
}

#[test]
fn a_terminal_shows_how_far_it_is() {
    let aws = Aws::with_orders(false);
    let file = tempfile::NamedTempFile::new().expect("there is room for a file");
    std::fs::write(file.path(), "{\"body\": 1}\n".repeat(8)).expect("it is ours");
    let path = file.path().to_str().expect("it is text");
    let mut terminal = Terminal::redrive(&aws, &format!("send --queue orders {path} --rate 4"));
    terminal.expect_written("sent 4 of 8");
    terminal.ends(0);
    let screen = terminal.screen();
    assert!(screen.contains("8 messages sent to orders") && !screen.contains("of 8"), "{screen}");
}

#[test]
fn all_is_sent_though_nobody_reads_on() {
    let aws = Aws::with_orders(false);
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("messages.jsonl");
    std::fs::write(&file, "{\"body\": \"x\"}\n".repeat(25)).expect("it is written");
    let file = file.to_str().expect("it is text");
    unread(&aws.url, &format!("send --queue orders --json {file}")).ended(0);
    assert_eq!(visible(&aws, "orders"), "25");
}

#[test]
fn a_request_whose_answer_is_lost_is_not_repeated() {
    let aws = Aws::with_orders(false);
    let proxy = Proxy::start(&aws.url, at_first(1, "SendMessageBatch", Fate::AnswerLost));
    proxy
        .redrive("send --queue orders --body once")
        .ended(1)
        .stderr_has("--body: it may have been sent anyway")
        .stderr_ends(" (1 of 1 messages is not confirmed)\n");
    assert_eq!(visible(&aws, "orders"), "1");
}

#[test]
fn a_message_that_is_throttled_by_itself_is_sent_again() {
    let aws = Aws::with_orders(false);
    let proxy = Proxy::start(
        &aws.url,
        at_first(1, "SendMessageBatch", Fate::EntriesFail(vec![0], "RequestThrottled")),
    );
    let ran = proxy.redrive("send --queue orders --body once");
    assert_eq!((ran.code, visible(&aws, "orders").as_str()), (0, "1"), "{}", ran.stderr);
}
