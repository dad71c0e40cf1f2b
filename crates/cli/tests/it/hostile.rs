//! Hostile texts in every verb: they neither control the terminal nor fake a line.

mod asked;
mod run;

use std::ffi::OsString;

use pty_process::blocking::Command;
use serde_json::{Value, json};

use crate::letters::note;
use crate::proxy::{Fate, Proxy};
use crate::support::{Aws, Ran, Words, on};
use crate::terminal::Terminal;

/// What acts on a terminal or on its reader.
const ACTS: [&str; 19] = [
    "\x1b]52;c;RkFLRQ==\x07",          // writes to the clipboard
    "\x1b]8;;http://127.0.0.1/\x1b\\", // makes a link
    "\x1b]0;title\x07",
    "\x1b[2J",
    "\x1b[1;1H",
    "\x1b[31m",
    "\x1bc",
    "\x08",
    "\x7f",
    "\u{9b}2J",
    "\u{85}",
    "\u{202e}",
    "\u{2066}",
    "\u{200f}",
    "\u{61c}",
    "\u{2028}",
    "\u{feff}",
    "\r",
    "\n",
];

/// Stands behind each of them.
const MARK: &str = "FAKE";

/// All of them.
fn hostile() -> String {
    ACTS.map(|act| format!("{act}{MARK}")).concat()
}

/// All of them in the name of a file.
fn file_name() -> String {
    hostile().replace('/', "|")
}

/// Those that SQS takes in a body, on one line.
fn hostile_body() -> String {
    ACTS.iter()
        .filter(|act| !act.contains(['\x1b', '\x08', '\n']))
        .map(|act| format!("{act}{MARK}"))
        .collect()
}

/// It was shown, and as text.
#[track_caller]
fn assert_harmless(written: &str) {
    assert!(written.contains(MARK), "it is not shown: {written:?}");
    for act in ACTS {
        assert!(!written.contains(&format!("{act}{MARK}")), "{act:?} acts: {written:?}");
    }
}

/// The same of all that a command wrote to pipes, where nothing but ends of lines is no text.
#[track_caller]
fn assert_text(ran: &Ran) {
    let written = format!("{}{}", ran.stdout, ran.stderr);
    assert_harmless(&written);
    let found = written.chars().find(|c| c.is_control() && *c != '\n');
    assert_eq!(found, None, "{written:?}");
}

/// Both, with pipes and in a terminal.
#[track_caller]
fn assert_harmless_at(url: &str, line: &(impl Words + ?Sized), stdin: &str) {
    assert_text(&Ran::of(crate::support::command_at(url, line).write_stdin(stdin.to_owned())));
    if stdin.is_empty() {
        let mut terminal = Terminal::run(Terminal::command(url, line));
        terminal.end();
        assert_harmless(&terminal.written());
    }
}

/// Letters whose notes, bodies and attributes are hostile; the id of one.
fn with_hostile_letters() -> (Aws, String) {
    let aws = Aws::with_orders(false);
    let text = crate::letters::text(&hostile_body());
    let note = note(&format!("m{}", hostile()), &hostile(), &hostile());
    let id = aws.letter_with(&hostile_body(), [("redrive.dead-letter", note), ("attribute", text)]);
    aws.letter(&json!({ "text": hostile_body() }).to_string());
    (aws, id)
}

#[test]
fn letters_are_shown_as_text() {
    let (aws, id) = with_hostile_letters();
    for line in [
        "dlq list",
        "dlq list --json",
        &format!("dlq show --no-logs {id}"),
        &format!("dlq show --no-logs --json {id}"),
        "dlq export -",
        "dlq retry --dry-run",
        "dlq retry --dry-run --json",
        "dlq delete --all --dry-run",
        "dlq delete --all --dry-run --json",
    ] {
        assert_harmless_at(&aws.url, &format!("{line} --queue orders"), "");
    }
}

#[test]
fn json_means_what_the_letter_said() {
    let (aws, id) = with_hostile_letters();
    let shown = aws.redrive(&format!("dlq show --no-logs --json --queue orders {id}")).json();
    assert_eq!((&shown["error"], &shown["body"]), (&hostile().into(), &hostile_body().into()));
    let exported = aws.redrive("dlq export --queue orders -").json_lines();
    let exported = exported.iter().find(|letter| letter["id"] == id).expect("it is there");
    assert_eq!((&exported["error"], &exported["body"]), (&hostile().into(), &hostile_body().into()));
}

#[test]
fn a_letter_at_triage_is_text() {
    let (aws, _) = with_hostile_letters();
    let mut terminal = Terminal::redrive(&aws, "dlq triage --queue orders");
    for keys in ["b", "s", "b", "s"] {
        terminal.expect_end("q quit:");
        terminal.type_in(keys);
        terminal.expect_gone(&format!("q quit: {keys}\n\n  r retry"));
    }
    terminal.end();
    assert_harmless(&terminal.written());
}

#[test]
fn a_refused_message_is_reported_as_text_on_one_line() {
    let aws = Aws::with_orders(false);
    let elsewhere = json!({ "body": "x", "queue": hostile() }).to_string();
    assert_harmless_at(&aws.url, "send --queue orders -", &elsewhere);
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join(file_name());
    std::fs::write(&file, "{\"body\": \"x\"}\n").expect("Linux takes any name");
    let file = file.to_str().expect("it is text");
    let proxy = Proxy::start(&aws.url, on("SendMessageBatch", Fate::EntriesFail(vec![0], "Weird")));
    assert_harmless_at(&proxy.url, &["send", "--queue", "orders", file], "");
    Ran::of(&mut crate::support::command_at(&proxy.url, &["send", "--queue", "orders", file]))
        .stderr_count("\n", 2);
    let attributes = json!({ hostile(): { "type": "Binary", "base64": "!" } });
    let line = json!({ "body": "x", "attributes": attributes }).to_string();
    assert_harmless_at(&aws.url, "dlq import --queue orders -", &line);
    let ran = aws.redrive_with("dlq import --queue orders -", &line);
    ran.stderr_count("\n", 1);
}

#[test]
fn an_answer_of_aws_is_printed_as_text_on_one_line() {
    let aws = Aws::with_orders(false);
    let said: &'static str = hostile().leak();
    for line in [
        "dlq list --queue orders",
        "dlq purge --yes --queue orders",
        "queue status --queue orders",
        "queue attach --yes --queue orders",
        "queue detach --yes --queue orders",
        "queue pause --queue orders",
        "send --queue orders --body x",
        "schedule --queue orders --function f",
        "doctor --function f",
        "dlq list --all",
        "fleet",
        "fleet --json",
    ] {
        let proxy = Proxy::start(&aws.url, move |_, _| Fate::Says("Weird", said));
        assert_harmless_at(&proxy.url, line, "");
    }
}

/// A template in which every name is hostile.
fn template() -> Value {
    let name = hostile();
    json!({
        "Transform": "AWS::Serverless-2016-10-31",
        "Resources": {
            &name: { "Type": "AWS::SQS::Queue", "Properties": { "QueueName": name } },
            format!("{name}F"): {
                "Type": "AWS::Serverless::Function",
                "Properties": {
                    "Runtime": "provided.al2023",
                    "Handler": "bootstrap",
                    "CodeUri": name,
                    "Environment": { "Variables": { "REDRIVE_BACKOFF": name } },
                    "Events": {
                        "Q": { "Type": "SQS", "Properties": { "Queue": { "Fn::GetAtt": [name, "Arn"] } } },
                    },
                },
            },
        },
    })
}

#[test]
fn a_template_is_told_of_as_text() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join(file_name());
    std::fs::write(&file, template().to_string()).expect("it can be written");
    let unknown = folder.path().join(format!("unknown {}", file_name()));
    let reference = template().to_string().replace("\"Fn::GetAtt\":[\"", "\"Fn::GetAtt\":[\"gone");
    std::fs::write(&unknown, reference).expect("it can be written");
    for template in [&file, &unknown] {
        let template = template.to_str().expect("it is text");
        for verb in [
            &["doctor"][..],
            &["doctor", "--json"],
            &["schedule"],
            &["schedule", "--json"],
            &["local", "--until-idle"],
            &["local", "--until-idle", "--binary", "/bin/true", "--json"],
        ] {
            let line = [verb, &["--template", template]].concat();
            assert_text(&Ran::of(&mut crate::support::command(&line)));
            let mut terminal = Terminal::run(redrive(&line));
            terminal.end();
            assert_harmless(&terminal.written());
        }
    }
}

#[test]
fn wrong_arguments_are_printed_as_text() {
    let hostile = hostile();
    for line in [
        &["dlq", "list", "--queue", "orders", "--max", &hostile][..],
        &["dlq", "list", "--queue", "orders", "--where", &hostile],
        &["dlq", "list", "--queue", &hostile],
        &["dlq", "retry", "--queue", "orders", "--rate", &hostile],
        &["queue", "attach", "--queue", "orders", "--dead-letter-queue", &hostile],
        &["schedule", "--backoff", &hostile],
        &["doctor", "--except", &hostile],
        &["local", "--speed", &hostile],
        &[&hostile],
    ] {
        assert_text(&Ran::of(&mut crate::support::command(line)));
        let mut terminal = Terminal::run(redrive(line));
        terminal.ends(2);
        assert_harmless(&terminal.written());
    }
}

/// The command in a terminal, with no AWS.
fn redrive(line: &[&str]) -> Command {
    let line: Vec<OsString> = line.iter().map(OsString::from).collect();
    Command::new(env!("CARGO_BIN_EXE_redrive")).args(line).env("AWS_EC2_METADATA_DISABLED", "true")
}
