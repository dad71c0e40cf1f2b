//! `redrive send`: sends messages from a file, from stdin or from the command line.

use std::collections::BTreeSet;
use std::io::Read;

use aws_sdk_sqs::types::MessageSystemAttributeName;

use crate::dlq_retry::letters::take;
use crate::proxy::{Fate, Proxy};
use crate::support::running::{signal, until};
use crate::support::{Aws, Ran, at_first, on, spawn, unread};
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

fn lines(count: usize) -> String {
    (1..=count).map(|number| format!("{{\"body\": \"m{number}\"}}\n")).collect()
}

#[test]
fn messages_are_sent_again_if_the_answer_is_lost_and_counted() {
    for (fifo, said) in [
        (false, "3 messages sent to orders, 3 perhaps more than once, because answers were lost\n"),
        (true, "3 messages sent to orders.fifo\n"),
    ] {
        let aws = Aws::with_orders(fifo);
        let proxy = Proxy::start(&aws.url, at_first(1, "SendMessageBatch", Fate::AnswerLost));
        let queue = if fifo { "orders.fifo" } else { "orders" };
        let line =
            format!("send --queue {queue} --attribute a=b - {}", if fifo { "--group-id g" } else { "" });
        proxy.redrive_with(line.trim(), &lines(3)).printed(0, said);
        // A FIFO queue sends the first message of the group again, and drops the copy.
        assert_eq!(visible(&aws, queue), if fifo { "3" } else { "6" });
    }
    let aws = Aws::with_orders(false);
    let proxy = Proxy::start(&aws.url, at_first(1, "SendMessageBatch", Fate::AnswerLost));
    let ran = proxy.redrive_with("send --queue orders --json -", &lines(1));
    ran.ended(0).stdout_has("\"may_be_twice\":true");
}

#[test]
fn a_refusal_of_the_caller_ends_the_sending() {
    let aws = Aws::with_orders(false);
    let proxy = Proxy::start(&aws.url, |call, before| match call.action.as_str() {
        "SendMessageBatch" if before > 0 => Fate::Says("AccessDenied", "a fault of the test"),
        _ => Fate::Answered,
    });
    let ran = proxy.redrive_with("send --queue orders -", &lines(1_000));
    ran.printed(1, "10 messages sent to orders\n").stderr_ends(
        "redrive: could not send to orders: not allowed: your credentials need sqs:SendMessage (a fault of the test) \
         (990 of 1000 messages were not sent)\n",
    );
    ran.stderr_has("redrive: stdin: line 11 to stdin: line 1000: not sent\n");
    assert!(proxy.sizes("SendMessageBatch").len() < 20, "{:?}", proxy.sizes("SendMessageBatch"));
}

#[test]
fn nothing_of_a_group_follows_a_message_that_was_refused() {
    let aws = Aws::with_orders(true);
    let fate = at_first(1, "SendMessageBatch", Fate::EntriesFail(vec![0], "InvalidMessageContents"));
    let proxy = Proxy::start(&aws.url, fate);
    let lines = ["a", "b", "a"].map(|group| format!("{{\"body\": \"x\", \"group_id\": \"{group}\"}}\n"));
    let ran = proxy.redrive_with("send --queue orders.fifo -", &lines.concat());
    ran.printed(1, "1 message sent to orders.fifo\n");
    let said: Vec<_> = ran.stderr.lines().collect();
    assert_eq!(
        said,
        [
            "redrive: stdin: line 1: the body or an attribute holds a character that SQS does not accept (a fault)",
            "redrive: stdin: line 3: not sent, because an earlier message of the group a is not known to be",
            "redrive: 2 of 3 messages were not sent",
        ]
    );
}

#[test]
fn ctrl_c_ends_a_slow_run_and_counts_what_was_not_sent() {
    let aws = Aws::with_orders(false);
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("file"), lines(1_000)).expect("it is written");
    let child = spawn(&aws.url, "send --queue orders file --rate 20", folder.path());
    until("the first are sent", || visible(&aws, "orders") != "0");
    signal("-INT", &child);
    let ran = Ran::end(child);
    let sent: usize = visible(&aws, "orders").parse().expect("a number");
    assert_eq!(sent % 10, 0, "full calls");
    ran.printed(130, format!("{sent} messages sent to orders\n")).stderr_ends(format!(
        "redrive: file: line {} to file: line 1000: not sent\nredrive: interrupted ({} of 1000 messages were not sent)\n",
        sent + 1,
        1_000 - sent,
    ));
}

#[test]
fn ctrl_c_names_what_sqs_has_not_confirmed() {
    let aws = Aws::with_orders(false);
    let proxy = Proxy::start(&aws.url, on("SendMessageBatch", Fate::AnswerLost));
    let child = spawn(&proxy.url, "send --queue orders --body x", std::path::Path::new("."));
    until("it was sent", || visible(&aws, "orders") != "0");
    signal("-INT", &child);
    Ran::end(child)
        .ended(130)
        .stderr_has("; it may have been sent anyway\n")
        .stderr_ends("redrive: interrupted (1 of 1 messages is not confirmed)\n");
}

/// SQS never accepts one message. The others are reported as sent.
#[test]
fn ctrl_c_waits_for_nothing_and_tells_of_each_message_what_is_known() {
    let aws = Aws::with_orders(false);
    let proxy = Proxy::start(&aws.url, |call, _| {
        let fails = call.input["Entries"]
            .as_array()
            .into_iter()
            .flatten()
            .position(|entry| entry["MessageBody"] == "m5");
        match fails {
            Some(place) => Fate::EntriesFail(vec![place], "InternalError"),
            None => Fate::Answered,
        }
    });
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("file"), lines(300)).expect("it is written");
    let child = spawn(&proxy.url, "send --queue orders file", folder.path());
    until("all others are sent", || visible(&aws, "orders") == "299");
    signal("-INT", &child);
    Ran::end(child)
        .printed(130, "299 messages sent to orders\n")
        .stderr_has("redrive: file: line 5: AWS reported an internal error (a fault): try again\n")
        .stderr_ends("redrive: interrupted (1 of 300 messages was not sent)\n");
}

#[test]
fn a_closed_stdout_hides_no_failure() {
    let aws = Aws::with_orders(false);
    let proxy = Proxy::refusing(&aws.url, [("SendMessageBatch", "AccessDenied", "no")]);
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("file"), lines(30)).expect("it is written");
    let file = folder.path().join("file");
    for flags in ["", " --json"] {
        let ran = unread(&proxy.url, &format!("send --queue orders {}{flags}", file.display()));
        ran.ended(1).stderr_has("30 of 30 messages were not sent");
    }
}

#[test]
fn after_a_signal_the_command_waits_for_no_reader() {
    let aws = Aws::with_orders(false);
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("file"), lines(3_000)).expect("it is written");
    let mut child = spawn(&aws.url, "send --queue orders --json file", folder.path());
    until("all are sent", || visible(&aws, "orders") == "3000");
    signal("-INT", &child);
    assert_eq!(child.wait().expect("the child is ours").code(), Some(1));
    let mut said = String::new();
    child.stderr.take().expect("it is piped").read_to_string(&mut said).expect("it is text");
    assert!(said.contains("results were not printed, because nobody reads them\n"), "{said}");
}

/// Waits for a minute.
#[test]
fn twenty_messages_that_sqs_never_accepts_do_not_stop_others() {
    let aws = Aws::with_orders(false);
    let proxy = Proxy::start(&aws.url, |call, _| {
        let entries = call.input["Entries"].as_array().into_iter().flatten();
        let is_bad = |body: &str| body[1..].parse().is_ok_and(|number: u32| number <= 20);
        let bad = entries
            .enumerate()
            .filter(|(_, entry)| is_bad(entry["MessageBody"].as_str().expect("it is text")));
        let bad: Vec<_> = bad.map(|(place, _)| place).collect();
        if bad.is_empty() { Fate::Answered } else { Fate::EntriesFail(bad, "InternalError") }
    });
    let ran = proxy.redrive_with("send --queue orders -", &lines(1_200));
    ran.printed(1, "1,180 messages sent to orders\n").stderr_has("redrive: stdin: line 20: AWS reported");
}

/// Waits for a minute.
#[test]
fn sending_ends_if_sqs_fails_for_a_minute() {
    let aws = Aws::with_orders(false);
    let proxy = Proxy::start(&aws.url, on("SendMessageBatch", Fate::Refused(500, "InternalError")));
    let ran = proxy.redrive_with("send --queue orders -", &lines(1_000));
    let why = "AWS reported an internal error (a fault of the test): try again; it may have been sent anyway";
    ran.printed(1, "0 messages sent to orders\n")
        .stderr_has(format!("redrive: stdin: line 1: {why}\n"))
        .stderr_has("redrive: could not send to orders: AWS reported an internal error (a fault of the test): try again (")
        .stderr_has("to stdin: line 1000: not sent\n");
    assert!(!ran.stderr.contains("line 999:"), "the rest was not tried");
}
