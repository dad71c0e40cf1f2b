//! `redrive send`: messages from a file, from stdin or from the command line.

use std::collections::BTreeSet;

use aws_sdk_sqs::types::{Message, MessageSystemAttributeName};

use crate::proxy::{Fate, Proxy};
use crate::support::{Aws, Ran, command_at, unread};
use crate::terminal::Terminal;

/// Everything that is visible in a queue.
fn received(aws: &Aws, queue: &str) -> Vec<Message> {
    let mut messages = Vec::new();
    loop {
        let request = aws.sqs.receive_message().queue_url(aws.queue_url(queue)).max_number_of_messages(10);
        let request = request.message_attribute_names("All");
        let got = request.message_system_attribute_names(MessageSystemAttributeName::All).send();
        match aws.wait(got).expect("it answers").messages {
            Some(got) if !got.is_empty() => messages.extend(got),
            _ => return messages,
        }
    }
}

fn bodies(aws: &Aws, queue: &str) -> Vec<String> {
    received(aws, queue).into_iter().filter_map(|message| message.body).collect()
}

fn visible(aws: &Aws, queue: &str) -> String {
    aws.attribute(queue, "ApproximateNumberOfMessages")
}

#[test]
fn lines_of_stdin_arrive_with_all_that_they_say() {
    let aws = Aws::with_orders(false);
    let lines = "{\"body\": {\"b\": 1, \"a\": 2}, \"attributes\": {\"source\": \"file\"}}\n\n{\"body\": \"text\", \"group_id\": \"g\"}\n";
    let ran = aws.redrive_with(
        &["send", "--queue", "orders", "-", "--attribute", "source=flag", "--group-id", "f"],
        lines,
    );
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "2 messages sent to orders\n"), "{ran:?}");
    let messages = received(&aws, "orders");
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
    let dry = aws.redrive_with(&["send", "--queue", "orders", "-", "--dry-run"], &lines);
    assert_eq!((dry.code, dry.stdout.as_str()), (0, "23 messages would be sent to orders in 3 requests\n"));
    assert_eq!(visible(&aws, "orders"), "0");
    let ran = aws.redrive_with(&["send", "--queue", "orders", "-"], &lines);
    assert_eq!((ran.code, visible(&aws, "orders").as_str()), (0, "23"), "{ran:?}");
    let ran = aws.redrive(&["send", "--queue", "orders", "--body", "later", "--delay", "60"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "1 message sent to orders\n"), "{ran:?}");
    assert_eq!(aws.attribute("orders", "ApproximateNumberOfMessagesDelayed"), "1");
}

#[test]
fn a_fifo_queue_gets_groups_and_deduplication_ids() {
    let aws = Aws::with_orders(true);
    let lines = "{\"body\": \"same\", \"group_id\": \"a\"}\n".repeat(2);
    for expected in ["2", "4"] {
        let ran = aws.redrive_with(&["send", "--queue", "orders.fifo", "-"], &lines);
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
        assert_eq!(aws.redrive(&body).code, 0);
    }
    assert_eq!(visible(&aws, "orders.fifo"), "5", "the same id is the same message");
    let event = concat!(env!("CARGO_MANIFEST_DIR"), "/../events/fifo.json");
    assert_eq!(aws.redrive(&["send", "--queue", "orders.fifo", event]).code, 0);
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
    let ran = aws.redrive_with(&["send", "--queue", "orders", "-"], &event.to_string());
    assert_eq!(ran.code, 0, "{ran:?}");
    let messages = received(&aws, "orders");
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
        ("{\"body\": 1, \"delay\": 901}\n", "redrive: stdin: line 1: the delay is 901 s, allowed: 0 to 900"),
        (
            "{\"body\": 1, \"queue\": \"other\"}\n",
            "redrive: stdin: line 1: it is for the queue other, not for orders",
        ),
    ] {
        let ran = aws.redrive_with(&["send", "--queue", "orders", "-"], lines);
        assert_eq!((ran.code, ran.stderr.lines().count()), (2, 1), "{ran:?}");
        assert!(ran.stderr.starts_with(expected), "{ran:?}");
    }
    assert_eq!(visible(&aws, "orders"), "0");
    for wrong in [&["send", "--queue", "orders"][..], &["send", "--queue", "orders", "-", "--body", "x"]] {
        assert_eq!(aws.redrive(wrong).code, 2);
    }
}

#[test]
fn a_message_that_sqs_refuses_is_named_and_the_others_arrive() {
    let aws = Aws::with_orders(false);
    let lines = "{\"body\": \"one\"}\n{\"body\": \"\\u0001\"}\n{\"body\": \"three\"}\n";
    let ran = aws.redrive_with(&["send", "--queue", "orders", "-"], lines);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, "2 messages sent to orders\n"), "{ran:?}");
    assert!(ran.stderr.starts_with("redrive: stdin: line 2: "), "{ran:?}");
    assert!(ran.stderr.ends_with("redrive: 1 of 3 messages were not sent\n"), "{ran:?}");
    assert_eq!(bodies(&aws, "orders"), ["one", "three"]);
}

#[test]
fn what_concerns_all_ends_the_sending_in_one_line() {
    let aws = Aws::with_orders(false);
    let url = Proxy::refusing(&aws.url, [("SendMessageBatch", "AccessDeniedException", "not you")]).url;
    let lines = "{\"body\": 1}\n".repeat(25);
    let ran = Ran::of(command_at(&url, &["send", "--queue", "orders", "-"]).write_stdin(lines));
    let expected = "redrive: could not send to the queue orders: not allowed: your credentials need sqs:SendMessage \
                    (not you) (25 of 25 messages were not sent)\n";
    assert_eq!((ran.code, ran.stderr.as_str()), (1, expected));
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
    let ran = Ran::of(command_at(&proxy.url, &["send", "--queue", "orders", "-"]).write_stdin(lines));
    assert_eq!((ran.code, ran.stdout.as_str()), (1, "2 messages sent to orders\n"), "{ran:?}");
    assert!(ran.stderr.ends_with("(3 of 5 messages were not sent)\n"), "{ran:?}");
    assert_eq!(visible(&aws, "orders"), "2");
}

#[test]
fn a_moment_of_throttling_is_waited_out() {
    let aws = Aws::with_orders(false);
    let url = Proxy::start(&aws.url, |call, before| match call.action.as_str() {
        "SendMessageBatch" if before < 2 => Fate::Says("RequestThrottled", "slow down"),
        _ => Fate::Answered,
    })
    .url;
    let ran = Ran::of(
        command_at(&url, &["send", "--queue", "orders", "-", "--json"]).write_stdin("{\"body\": 1}\n"),
    );
    assert_eq!(ran.code, 0, "{ran:?}");
    let line: serde_json::Value = serde_json::from_str(&ran.stdout).expect("each line is JSON");
    assert_eq!(line["place"], "stdin: line 1");
    let [message] = &received(&aws, "orders")[..] else { panic!("one message") };
    assert_eq!(line["message_id"].as_str(), message.message_id());
}

#[test]
fn a_terminal_shows_how_far_it_is() {
    let aws = Aws::with_orders(false);
    let file = tempfile::NamedTempFile::new().expect("there is room for a file");
    std::fs::write(file.path(), "{\"body\": 1}\n".repeat(8)).expect("it is ours");
    let path = file.path().to_str().expect("it is text");
    let mut terminal = Terminal::redrive(&aws, &["send", "--queue", "orders", path, "--rate", "4"]);
    terminal.expect_written("sent 4 of 8");
    assert_eq!(terminal.end(), 0, "{}", terminal.screen());
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
    let ran = unread(&aws.url, &["send", "--queue", "orders", "--json", file]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(visible(&aws, "orders"), "25");
}

#[test]
fn a_request_whose_answer_is_lost_is_not_repeated() {
    let aws = Aws::with_orders(false);
    let proxy = Proxy::start(&aws.url, |call, before| match call.action.as_str() {
        "SendMessageBatch" if before == 0 => Fate::AnswerLost,
        _ => Fate::Answered,
    });
    let mut command = command_at(&proxy.url, &["send", "--queue", "orders", "--body", "once"]);
    let ran = Ran::new(&command.output().expect("it runs"));
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("--body: it may have been sent all the same"), "{}", ran.stderr);
    assert_eq!(visible(&aws, "orders"), "1");
}

#[test]
fn a_message_that_is_throttled_by_itself_is_sent_again() {
    let aws = Aws::with_orders(false);
    let proxy = Proxy::start(&aws.url, |call, before| match call.action.as_str() {
        "SendMessageBatch" if before == 0 => Fate::EntriesFail(vec![0], "RequestThrottled"),
        _ => Fate::Answered,
    });
    let mut command = command_at(&proxy.url, &["send", "--queue", "orders", "--body", "once"]);
    let ran = Ran::new(&command.output().expect("it runs"));
    assert_eq!((ran.code, visible(&aws, "orders").as_str()), (0, "1"), "{}", ran.stderr);
}
