//! `redrive dlq list`: prints errors and their reasons, and leaves the letters in the queue.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::dlq_retry::letters::write_many;
use crate::letters::{DEAD, note};
use crate::support::{Aws, REGION, Ran, spawn};
use crate::terminal::Terminal;

#[test]
fn at_a_terminal_a_look_that_may_move_letters_is_a_question() {
    let aws = Aws::with_orders(false);
    aws.redrive("queue attach --queue orders-dead --max-receive-count 1 --yes").ended(0);
    let id = aws.letter("{}");
    for look in [
        "dlq list --queue orders",
        &format!("dlq show --queue orders {id}"),
        "dlq export --queue orders -",
        "queue status --queue orders --look",
        "dlq retry --queue orders",
        "dlq delete --queue orders --all --dry-run",
    ] {
        let mut terminal = Terminal::redrive(&aws, look);
        terminal.expect(
            "after 1 receive SQS moves a letter to orders-dead-dead, and each look is a receive. [y/N]",
        );
        terminal.enter("n");
        terminal.ends(1);
        terminal.shows("not confirmed: nothing was received");
    }
    assert_eq!((aws.counts(DEAD), aws.counts("orders-dead-dead")), ((1, 0), (0, 0)));
}

#[test]
fn a_thousand_letters_are_listed_and_a_closed_pipe_ends_the_list() {
    let aws = Aws::with_orders(false);
    write_many(&aws, 1_000);
    let began = Instant::now();
    let ran = aws.redrive("dlq list --queue orders");
    let took = began.elapsed();
    ran.told(0, "1,000 letters in orders-dead\n900 more not shown: --max 1000 lists them\n");
    assert!(took < Duration::from_secs(20), "{took:?}");
    assert_eq!(aws.counts(DEAD), (1_000, 0));

    let mut child = spawn(&aws.url, "dlq list --queue orders --json", Path::new("."));
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("it is piped")).read_line(&mut line).expect("it is text");
    assert!(line.contains("\"body\":\"{\\\"n\\\":"), "{line}");
    assert_eq!(child.wait().expect("the child is ours").code(), Some(0));
    assert_eq!(aws.counts(DEAD), (1_000, 0));

    let some = aws.redrive("dlq list --queue orders --json --max 15");
    assert_eq!(some.stdout.lines().count(), 15);
    assert_eq!(aws.counts(DEAD), (1_000, 0));
}

/// The next command, as a shell runs it.
fn next_retry(shown: &str) -> String {
    let next = shown.lines().rev().find(|line| line.starts_with("next: ")).expect("there is a hint");
    let retry = next.split_once("; ").expect("it has two commands").1;
    retry.replace("redrive dlq", &format!("{} dlq", env!("CARGO_BIN_EXE_redrive")))
}

#[test]
fn the_next_command_is_for_the_letters_that_were_listed() {
    let aws = Aws::with_orders(false);
    let wanted = aws.letter(r#"{"name":"it's $HOME","city":"a \"b\""}"#);
    aws.letter(r#"{"name":"x"}"#);
    let list = ["dlq", "list", "--queue", "orders", "--origin-senders", "AROAEXAMPLEROLE"];
    let conditions = ["--where", "body.name = it's $HOME", "--where", r#"body.city ~ a "b"$"#];
    let mut terminal =
        Terminal::as_wide_as(400, Terminal::command(&aws.url, &[&list[..], &conditions[..]].concat()));
    terminal.expect("next: redrive dlq show --queue orders");
    terminal.ends(0);
    let retry = next_retry(&terminal.written());
    assert!(retry.contains(r"--where 'body.name = it'\''s $HOME' --where 'body.city ~ a "), "{retry}");
    assert!(retry.contains(" --origin-senders AROAEXAMPLEROLE --dry-run"), "{retry}");
    let ran =
        Ran::of(assert_cmd::Command::new("sh").args(["-c", &retry]).env("AWS_EC2_METADATA_DISABLED", "true"));
    ran.ended(0)
        .stdout_has(&wanted)
        .stdout_ends("1 would be sent from orders-dead to orders, 1 not selected\n");
}

#[test]
fn the_suggested_command_names_letters_that_only_the_log_selects() {
    let aws = Aws::with_orders(false);
    aws.letter_with("one", [("redrive.dead-letter", note("m1", "rejected", "the gateway is down"))]);
    aws.letter("two");
    let line = "dlq list --queue orders --logs --log-group /shop/orders --where 'error ~ gateway'";
    let mut terminal = Terminal::as_wide_as(400, Terminal::command(&aws.url, line));
    terminal.expect("next: redrive dlq show --queue orders");
    terminal.ends(0);
    let retry = next_retry(&terminal.written());
    let which = format!("--queue orders --region {REGION} --endpoint-url {}", aws.url);
    for part in [
        format!("dlq list {which} --logs --log-group /shop/orders --where 'error ~ gateway' --json | "),
        format!("dlq retry {which} --ids - --dry-run"),
    ] {
        assert!(retry.contains(&part), "no {part} in {retry}");
    }
}
