//! `redrive dlq export` and `import`: imported letters equal the exported ones, to the byte.

use std::collections::BTreeMap;
use std::os::unix::fs::{PermissionsExt, symlink};

use aws_sdk_sqs::primitives::Blob;
use aws_sdk_sqs::types::{
    Message, MessageAttributeValue, MessageSystemAttributeName, MessageSystemAttributeNameForSends,
    MessageSystemAttributeValue,
};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;

use crate::dlq_retry::letters::drain;
use crate::letters::{DEAD, note, text};
use crate::support::Aws;

const TRACE: &str = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1";

fn binary(bytes: &[u8]) -> MessageAttributeValue {
    let value = MessageAttributeValue::builder().data_type("Binary.png").binary_value(Blob::new(bytes));
    value.build().expect("it is whole")
}

/// Bodies of all that SQS accepts.
fn odd_bodies() -> Vec<String> {
    let mut runner = TestRunner::deterministic();
    let accepted = "[\\t\\n\\r -\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]{1,60}";
    let strategy = proptest::string::string_regex(accepted).expect("the pattern is right");
    let mut bodies: Vec<String> =
        (0..60).map(|_| strategy.new_tree(&mut runner).expect("there is a value").current()).collect();
    let fixed =
        ["\u{fffd}", "\r\n", " ", "\u{2028}\u{85}", "{\"a\": 1.10}", "\"", "\\u0041", "\u{10ffff}\u{feff}"];
    bodies.extend(fixed.map(str::to_owned));
    bodies
}

type Known = (String, BTreeMap<String, MessageAttributeValue>, Option<String>, Option<String>);

/// What `import` writes beside a letter that had no note.
fn is_restored((name, value): &(String, MessageAttributeValue)) -> bool {
    name == "redrive.dead-letter" && value.string_value().is_some_and(|note| note.contains("redrive-policy"))
}

/// What a round trip keeps.
fn known(messages: Vec<Message>) -> Vec<Known> {
    let mut known: Vec<Known> = messages
        .into_iter()
        .map(|message| {
            let system = message.attributes.unwrap_or_default();
            (
                message.body.unwrap_or_default(),
                message
                    .message_attributes
                    .unwrap_or_default()
                    .into_iter()
                    .filter(|one| !is_restored(one))
                    .collect(),
                system.get(&MessageSystemAttributeName::MessageGroupId).cloned(),
                system.get(&MessageSystemAttributeName::AwsTraceHeader).cloned(),
            )
        })
        .collect();
    known.sort_by(|one, other| one.0.cmp(&other.0));
    known
}

#[test]
fn letters_come_back_from_a_file_as_they_were() {
    let aws = Aws::with_orders(false);
    let number = MessageAttributeValue::builder()
        .data_type("Number.cents")
        .string_value("4.50")
        .build()
        .expect("it is whole");
    for (index, body) in odd_bodies().iter().enumerate() {
        let send = aws.sqs.send_message().queue_url(aws.queue_url(DEAD)).message_body(body);
        let trace = MessageSystemAttributeValue::builder().data_type("String").string_value(TRACE).build();
        let send = match index % 3 {
            0 => send,
            1 => send
                .message_attributes("raw", binary(&[0, 159, 255, index as u8]))
                .message_attributes("cents", number.clone())
                .message_system_attributes(
                    MessageSystemAttributeNameForSends::AwsTraceHeader,
                    trace.expect("it is whole"),
                ),
            _ => send
                .message_attributes("redrive.dead-letter", note("m1", "rejected", "no \u{1f4a5} \"quotes\""))
                .message_attributes("tëxt", text("\t é"))
                .message_group_id(format!("tenant-{index}")),
        };
        aws.wait(send.send()).expect("it is sent");
    }
    let folder = tempfile::tempdir().expect("there is room");
    let file = folder.path().join("letters.jsonl");
    let file = file.to_str().expect("it is text");

    aws.redrive(&format!("dlq export --queue orders {file}"))
        .told(0, "exported 68 of 68 letters in orders-dead\n");
    assert_eq!(aws.counts(DEAD), (68, 0), "they stay where they are");
    assert_eq!(std::fs::read_dir(folder.path()).expect("it is there").count(), 1, "no part is left");
    aws.redrive(&format!("dlq export --queue orders {file}"))
        .ended(2)
        .stderr_ends("letters.jsonl exists: choose another name, or remove it\n");

    let before = known(drain(&aws, DEAD));
    aws.redrive(&format!("dlq import --queue orders {file} --dry-run"))
        .told(0, "68 letters would be sent to orders-dead\n");
    assert_eq!(aws.counts(DEAD), (0, 0));
    aws.redrive(&format!("dlq import --queue orders {file}")).told(0, "68 letters sent to orders-dead\n");
    assert_eq!(known(drain(&aws, DEAD)), before);
}

#[test]
fn nobody_else_may_read_an_export() {
    let aws = Aws::with_orders(false);
    aws.letter("secret");
    let folder = tempfile::tempdir().expect("there is room");
    for verb in ["export", "delete --all --yes --export"] {
        let file = folder.path().join(&verb[..6]);
        aws.redrive(&format!("dlq {verb} {} --queue orders", file.display())).ended(0);
        let mode = std::fs::metadata(&file).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

#[test]
fn an_export_follows_no_link_and_replaces_nothing() {
    let aws = Aws::with_orders(false);
    aws.letter("secret");
    let folder = tempfile::tempdir().expect("there is room");
    let [other, link, dangling] = ["other", "link", "dangling"].map(|name| folder.path().join(name));
    std::fs::write(&other, "kept").expect("it can be written");
    symlink(&other, &link).expect("it can be made");
    symlink(folder.path().join("nowhere"), &dangling).expect("it can be made");
    for file in [&other, &link, &dangling] {
        let file = file.to_str().expect("it is text");
        let ran = aws.redrive(&["dlq", "export", "--queue", "orders", file]);
        assert_ne!(ran.code, 0, "{ran:?}");
        ran.stderr_ends(format!("{file} exists: choose another name, or remove it\n"));
    }
    assert_eq!(std::fs::read_to_string(&other).expect("it is there"), "kept");
    assert_eq!(std::fs::read_dir(folder.path()).expect("it is there").count(), 3, "no part is left");
}

#[test]
fn list_json_prints_the_lines_of_export() {
    let aws = Aws::with_orders(false);
    aws.letter_with(
        "one",
        [("redrive.dead-letter", note("m1", "rejected", "no")), ("raw", binary(&[1, 2, 255]))],
    );
    let list = aws.redrive("dlq list --queue orders --json");
    let export = aws.redrive("dlq export --queue orders - --where 'reason = rejected'");
    assert_eq!(list.stdout, export.stdout);
    let line = list.json();
    assert_eq!(line["attributes"]["raw"], serde_json::json!({ "type": "Binary.png", "base64": "AQL/" }));
    assert_eq!(
        (&line["message_id"], &line["reason"], &line["attempts"]),
        (&"m1".into(), &"rejected".into(), &1.into())
    );
}
