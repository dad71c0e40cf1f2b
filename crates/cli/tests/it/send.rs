//! `redrive send`: sends messages from a file, from stdin or from the command line.

use std::collections::BTreeSet;

use aws_sdk_sqs::types::MessageSystemAttributeName;

use crate::dlq_retry::letters::take;
use crate::support::{Aws, unread};
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
