//! `redrive dlq list`: what failed and why, and the letters stay where they are.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::time::{Duration, Instant};

use redrive_local::QueueConfig;

use crate::dlq_retry::letters::{write_in_group, write_many};
use crate::letters::{DEAD, note, text};
use crate::support::{Aws, REGION, Ran, spawn};
use crate::terminal::Terminal;

#[test]
fn letters_are_counted_by_reason_and_listed_and_visible_again_at_once() {
    let aws = Aws::with_orders(false);
    let refused = aws.letter_with(
        r#"{"order_id":"A-1"}"#,
        [
            ("redrive.dead-letter", note("m1", "rejected", "450 cents: card refused")),
            ("tenant", text("acme")),
        ],
    );
    aws.letter_with("two", [("redrive.dead-letter", note("m2", "rejected", "7 cents: card refused"))]);
    aws.letter("three");

    let ran = aws.redrive("dlq list --queue orders");
    assert_eq!(aws.counts(DEAD), (3, 0), "case 26");
    ran.told(0, "3 letters in orders-dead\n");
    let lines: Vec<_> = ran.stdout.lines().collect();
    assert!(lines[0].starts_with("LETTERS  OLDEST  NEWEST  REASON"), "{}", ran.stdout);
    assert!(
        lines[1].trim_start().starts_with("2 ") && lines[1].ends_with("# cents: card refused"),
        "{}",
        ran.stdout
    );
    assert!(lines[2].contains("redrive-policy  no note; --logs looks for the error"), "{}", ran.stdout);
    let line = lines.iter().find(|line| line.starts_with(&refused)).expect("the letter has a line");
    for expected in [" 1  rejected ", "450 cents: card refused", r#"  {"order_id":"A-1"}"#, " 3d "] {
        assert!(line.contains(expected), "{expected}: {line}");
    }
    assert!(!ran.stdout.contains('\u{1b}'), "no colors without a terminal");

    // The dead-letter queue itself may be named as well.
    let again = aws.redrive("dlq list --queue orders-dead --body 0 --max 1");
    again.ended(0).stderr_ends("2 more not shown: --max 3 lists them\n");
    assert_eq!(again.stdout.lines().count(), 6, "{}", again.stdout);
}

#[test]
fn conditions_choose_letters_by_any_field() {
    let aws = Aws::with_orders(false);
    let refused = note("m1", "rejected", "450 cents: card refused");
    let one =
        aws.letter_with(r#"{"total":12.5}"#, [("redrive.dead-letter", refused), ("tenant", text("acme"))]);
    let two = aws.letter(r#"{"total":7}"#);
    for (conditions, expected) in [
        (vec!["reason = rejected"], vec![&one]),
        (vec!["body.total > 3"], vec![&one, &two]),
        (vec!["body.total > 3", "attribute.tenant missing"], vec![&two]),
        (vec!["error ~ ^450 .* refused$", "age > 1s"], vec![&one]),
        (vec!["attempts > 3"], vec![]),
    ] {
        let mut arguments = vec!["dlq", "list", "--queue", "orders", "--json"];
        conditions.iter().for_each(|condition| arguments.extend(["--where", condition]));
        let ran = aws.redrive(&arguments);
        ran.ended(0);
        ran.stderr_starts(format!("{} of 2 letters in orders-dead match\n", expected.len()));
        let mut ids: Vec<_> =
            ran.json_lines().iter().map(|line| line["id"].as_str().unwrap().to_owned()).collect();
        ids.sort();
        let mut expected: Vec<_> = expected.into_iter().cloned().collect();
        expected.sort();
        assert_eq!(ids, expected, "{conditions:?}");
    }
    assert_eq!(aws.counts(DEAD), (2, 0));
}

#[test]
fn a_wrong_condition_or_queue_is_one_line_on_stderr() {
    let aws = Aws::with_orders(false);
    for (arguments, code, expected) in [
        (
            "--queue orders --where 'attempts ~ 3'",
            2,
            "redrive: --where \"attempts ~ 3\": the field attempts has the operator \"~\", allowed: =, !=, <, <=, >, >=, exists, missing\n",
        ),
        (
            "--queue gone",
            1,
            &format!(
                "redrive: could not find the queue gone: no such queue in {REGION}, {}: check the name, the region and the account\n",
                aws.url
            ),
        ),
    ] {
        aws.redrive(&format!("dlq list {arguments}")).told(code, expected).printed(code, "");
    }
    aws.redrive("dlq list --queue orders --logs")
        .ended(0)
        .stderr_starts("warning: the log was not read: ")
        .stderr_has("no function");
}

#[test]
fn no_body_error_or_group_steers_the_terminal() {
    let aws = Aws::with_orders(false);
    let evil = "a\r\u{9f}\u{202e}b\u{7f}";
    aws.letter_with(evil, [("redrive.dead-letter", note("m1", "x\u{9b}2J", "e\u{85}f"))]);
    let ran = aws.redrive("dlq list --queue orders");
    ran.stdout_has("a\\r\\u{9f}\\u{202e}b\\u{7f}");
    assert!(ran.stdout.contains("x\\u{9b}2J") && ran.stdout.contains("e\\u{85}f"), "{}", ran.stdout);
    assert!(!ran.stdout.chars().any(|c| c.is_control() && c != '\n'), "{:?}", ran.stdout);
    let json = aws.redrive("dlq list --queue orders --json");
    assert_eq!(json.json_lines()[0]["body"], evil, "JSON is exact");
}

#[test]
fn two_letters_of_one_message_are_listed_once() {
    let aws = Aws::with_orders(false);
    for body in ["one", "one", "two"] {
        aws.letter_with(body, [("redrive.dead-letter", note(body, "rejected", "no"))]);
    }
    let ran = aws.redrive("dlq list --queue orders");
    assert_eq!(ran.stderr, "3 letters in orders-dead\n1 letter hidden: duplicates of a listed letter\n");
    assert_eq!(ran.stdout.lines().count(), 6, "{}", ran.stdout);
}

#[test]
fn on_a_fifo_queue_only_the_first_of_a_group_are_seen_and_it_says_so() {
    let aws = Aws::with_orders(true);
    for number in 0..25 {
        let group = if number % 5 == 4 { "b" } else { "a" };
        write_in_group(&aws, group, &number.to_string(), "panic");
    }
    let ran = aws.redrive("dlq list --queue orders.fifo");
    ran.ended(0);
    let lines: Vec<_> = ran.stderr.lines().collect();
    assert_eq!(lines[0], "15 letters in orders-dead.fifo");
    assert!(lines[1].starts_with("about 10 more are behind the first ten of their groups"), "{}", ran.stderr);
    assert_eq!(aws.counts("orders-dead.fifo"), (25, 0));
}

#[test]
fn a_dead_letter_queue_with_a_redrive_policy_of_its_own_is_warned_of() {
    let policy = |to: &str, count: u32| {
        let arn = format!("arn:aws:sqs:{REGION}:123456789012:{to}");
        let json = format!(r#"{{"deadLetterTargetArn":"{arn}","maxReceiveCount":{count}}}"#);
        BTreeMap::from([("RedrivePolicy".to_owned(), json)])
    };
    let aws = Aws::start(vec![
        QueueConfig { name: "lost".to_owned(), attributes: BTreeMap::new() },
        QueueConfig { name: DEAD.to_owned(), attributes: policy("lost", 50) },
        QueueConfig { name: "orders".to_owned(), attributes: policy(DEAD, 3) },
    ]);
    let ran = aws.redrive("dlq list --queue orders");
    ran.ended(0)
        .stderr_starts("warning: orders-dead has a redrive policy of its own")
        .stderr_ends("no letters are visible in orders-dead\n");
    assert_eq!(ran.stdout, "");
}

#[test]
fn two_thousand_letters_are_listed_quickly_and_whoever_stops_reading_ends_it_well() {
    let aws = Aws::with_orders(false);
    write_many(&aws, 2_000);
    let began = Instant::now();
    let ran = aws.redrive("dlq list --queue orders");
    let took = began.elapsed();
    ran.told(0, "2,000 letters in orders-dead\n1,900 more not shown: --max 2000 lists them\n");
    assert!(took < Duration::from_secs(20), "{took:?}");
    assert_eq!(aws.counts(DEAD), (2_000, 0));

    let mut child = spawn(&aws.url, "dlq list --queue orders --json", Path::new("."));
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("it is piped")).read_line(&mut line).expect("it is text");
    assert!(line.contains("\"body\":\"{\\\"n\\\":"), "{line}");
    assert_eq!(child.wait().expect("the child is ours").code(), Some(0));
    assert_eq!(aws.counts(DEAD), (2_000, 0));

    let some = aws.redrive("dlq list --queue orders --json --max 15");
    assert_eq!(some.stdout.lines().count(), 15);
    assert_eq!(aws.counts(DEAD), (2_000, 0));
}

/// Whoever was paged sees what to type next; a program does not.
#[test]
fn at_a_terminal_the_list_ends_with_the_next_commands_for_the_same_queue() {
    let aws = Aws::with_orders(false);
    aws.send("orders-dead", "{}");
    let line = "dlq list --queue orders";
    let mut terminal = Terminal::redrive(&aws, line);
    terminal.expect("next: redrive dlq show --queue orders");
    terminal.ends(0);
    let which = format!("--queue orders --region {REGION} --endpoint-url {}", aws.url);
    let next = format!("next: redrive dlq show {which} ID; redrive dlq retry {which} --dry-run");
    let shown = terminal.written();
    assert!(shown.trim_end().ends_with(&next), "no {next} at the end of {shown}");
    for args in [line.to_owned(), format!("{line} --json")] {
        let ran = aws.redrive(&args);
        assert!(!format!("{}{}", ran.stdout, ran.stderr).contains("next:"), "{ran:?}");
    }
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
fn the_next_command_takes_the_ids_of_letters_that_only_the_log_could_choose() {
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

#[test]
fn letters_of_one_reason_are_few_rows_below_their_sum_however_they_name_people_and_hosts() {
    let aws = Aws::with_orders(false);
    let names = ["Alice Smith", "Bob", "Carol van Dyk", "Dave", "Eve Adams", "Mallory", "Zoë"];
    for (number, name) in names.iter().enumerate() {
        let refused = format!("the customer {name} has no address in order {number}");
        let down = format!("https://bank.example/cards/{number}: timed out");
        for (id, error) in [("a", refused), ("b", down)] {
            let note = note(&format!("{id}{number}"), "rejected", &error);
            aws.letter_with(&format!("{id}{number}"), [("redrive.dead-letter", note)]);
        }
    }
    let ran = aws.redrive("dlq list --queue orders");
    let lines: Vec<&str> = ran.ended(0).stdout.lines().take_while(|line| !line.is_empty()).collect();
    let rows: Vec<(&str, &str)> = lines[1..]
        .iter()
        .map(|line| (line[..7].trim(), line[lines[0].find("REASON").unwrap()..].trim()))
        .collect();
    assert_eq!(
        rows,
        [
            ("14", "rejected  2 kinds of errors:"),
            ("7", "https://bank.example/cards/#: timed out"),
            ("7", "the customer … has no address in order #"),
        ],
        "{lines:#?}"
    );
}
