//! The order of calls, and which letters go.

use serde_json::Value;

use super::letters::{DEAD, ORDERS, bodies, counts, note, take, text, write};
use crate::proxy::{Fate, Proxy};
use crate::support::{Aws, Ran};

const CHANGING: [&str; 4] = ["SendMessage", "SendMessageBatch", "DeleteMessage", "DeleteMessageBatch"];

fn retry(aws: &Aws, more: &[&str]) -> Ran {
    aws.redrive(&[&["dlq", "retry", "--queue", ORDERS, "--yes"], more].concat())
}

#[test]
fn a_retry_of_two_is_two_sends_and_then_two_deletes() {
    let aws = Aws::with_orders(false);
    write(&aws, 2, &["rejected"]);
    let proxy = Proxy::listening(&aws.url);
    let output = crate::support::command_at(&proxy.url, &["dlq", "retry", "--queue", ORDERS, "--yes"])
        .output()
        .unwrap();
    let ran = Ran::new(&output);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "2 sent from orders-dead to orders\n"), "{}", ran.stderr);
    let expected = [("SendMessageBatch".to_owned(), 2), ("DeleteMessageBatch".to_owned(), 2)];
    assert_eq!(proxy.entries(&CHANGING), expected);
    assert_eq!(bodies(&aws, ORDERS), ["0", "1"]);
    assert_eq!(counts(&aws, DEAD), (0, 0));
}

#[test]
fn a_maximum_of_two_of_three_leaves_one() {
    let aws = Aws::with_orders(false);
    write(&aws, 3, &["rejected"]);
    let ran = retry(&aws, &["--max", "2"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "2 sent from orders-dead to orders\n"), "{}", ran.stderr);
    assert_eq!((counts(&aws, ORDERS), counts(&aws, DEAD)), ((2, 0), (1, 0)));
}

#[test]
fn a_dry_run_moves_none_and_shows_which_it_would() {
    let aws = Aws::with_orders(false);
    write(&aws, 4, &["rejected", "panic"]);
    let proxy = Proxy::listening(&aws.url);
    let arguments = ["dlq", "retry", "--queue", ORDERS, "--dry-run", "--where", "reason = panic"];
    let ran = Ran::new(&crate::support::command_at(&proxy.url, &arguments).output().unwrap());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let lines: Vec<_> = ran.stdout.lines().collect();
    assert_eq!(lines.len(), 3, "{}", ran.stdout);
    assert!(lines[0].ends_with(" panic card refused"), "{}", lines[0]);
    assert_eq!(lines[2], "2 would be sent from orders-dead to orders, 2 left (not asked for)");
    assert_eq!(proxy.entries(&CHANGING), []);
    assert_eq!((counts(&aws, ORDERS), counts(&aws, DEAD)), ((0, 0), (4, 0)));
}

#[test]
fn only_letters_of_which_the_conditions_hold_go_and_the_others_are_visible_again() {
    let aws = Aws::with_orders(false);
    write(&aws, 25, &["rejected", "panic"]);
    let ran = retry(&aws, &["--where", "reason = panic"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert_eq!(ran.stdout, "12 sent from orders-dead to orders, 13 left (not asked for)\n");
    assert_eq!((counts(&aws, ORDERS), counts(&aws, DEAD)), ((12, 0), (13, 0)));
    assert!(bodies(&aws, ORDERS).iter().all(|body| body.parse::<u32>().unwrap() % 2 == 1));
}

#[test]
fn letters_are_named_by_ids_or_json_lines_and_what_is_not_there_is_said() {
    let aws = Aws::with_orders(false);
    write(&aws, 5, &["rejected"]);
    let ran = aws.redrive(&["dlq", "retry", "--queue", ORDERS, "--dry-run", "--json"]);
    let lines: Vec<Value> = ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((lines.len(), &lines[5]["totals"]["done"]), (6, &Value::from(5)), "{}", ran.stdout);
    let ids = format!("{}\n{}\nnobody\nm4\n", lines[0]["id"].as_str().unwrap(), lines[1]);
    let ran = aws.redrive_with(&["dlq", "retry", "--queue", ORDERS, "--yes", "--ids", "-"], &ids);
    assert_eq!(ran.code, 1);
    assert_eq!(ran.stdout, "3 sent from orders-dead to orders, 2 left (not asked for)\n");
    assert_eq!(ran.stderr, "redrive: not found: nobody\n");
    assert_eq!((counts(&aws, ORDERS), counts(&aws, DEAD)), ((3, 0), (2, 0)));
    assert!(bodies(&aws, ORDERS).contains(&"4".to_owned()));
}

#[test]
fn once_all_ids_were_found_no_more_letters_are_received() {
    let aws = Aws::with_orders(false);
    let id = aws.letter("one");
    let proxy = Proxy::listening(&aws.url);
    let arguments = ["dlq", "retry", "--queue", ORDERS, "--yes", "--ids", "-"];
    let ran = Ran::of(crate::support::command_at(&proxy.url, &arguments).write_stdin(id));
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "1 sent from orders-dead to orders\n"), "{}", ran.stderr);
    assert_eq!(proxy.entries(&["ReceiveMessage"]).len(), 1);
}

#[test]
fn ids_that_a_maximum_kept_from_being_reached_are_not_called_missing() {
    let aws = Aws::with_orders(false);
    let ids: Vec<_> = (0..15).map(|number| aws.letter(&number.to_string())).collect();
    let arguments = ["dlq", "retry", "--queue", ORDERS, "--yes", "--max", "1", "--ids", "-"];
    let ran = aws.redrive_with(&arguments, &ids.join("\n"));
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{}", ran.stdout);
    assert_eq!(counts(&aws, ORDERS), (1, 0));
}

#[test]
fn two_letters_of_one_message_are_sent_once() {
    let aws = Aws::with_orders(false);
    let url = aws.queue_url(DEAD);
    for _ in 0..3 {
        let letter = aws.sqs.send_message().queue_url(&url).message_body("once");
        aws.wait(letter.message_attributes("redrive.dead-letter", note("m", "panic")).send()).unwrap();
    }
    let ran = retry(&aws, &[]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(ran.stdout, "1 sent from orders-dead to orders, 2 duplicates deleted\n");
    assert_eq!(ran.stderr.matches("was a second one of the same message, and was deleted").count(), 2);
    assert_eq!((counts(&aws, ORDERS), counts(&aws, DEAD)), ((1, 0), (0, 0)));
}

#[test]
fn letters_that_name_one_message_but_differ_are_both_sent() {
    let aws = Aws::with_orders(false);
    for body in ["one", "two"] {
        aws.letter_with(body, [("redrive.dead-letter", note("m", "panic"))]);
    }
    aws.letter_with("two", [("redrive.dead-letter", note("m", "panic")), ("color", text("red"))]);
    let ran = retry(&aws, &[]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "3 sent from orders-dead to orders\n"), "{}", ran.stderr);
    assert_eq!(bodies(&aws, ORDERS), ["one", "two", "two"]);
}

#[test]
fn a_second_letter_of_a_message_that_was_not_chosen_stays() {
    let aws = Aws::with_orders(false);
    for reason in ["panic", "rejected"] {
        aws.letter_with("once", [("redrive.dead-letter", note("m", reason))]);
    }
    let ran = retry(&aws, &["--where", "reason = panic"]);
    assert_eq!(ran.stdout, "1 sent from orders-dead to orders, 1 left (not asked for)\n", "{}", ran.stderr);
    assert_eq!((counts(&aws, ORDERS), counts(&aws, DEAD)), ((1, 0), (1, 0)));
}

#[test]
fn letters_of_another_queue_stay_unless_the_queue_is_named() {
    let aws = Aws::with_orders(false);
    let url = aws.queue_url(DEAD);
    let other = text(
        r#"{"reason":"panic","failed_at":"2026-11-21T07:50:00Z","attempts":1,"message_id":"m",
            "source":"arn:aws:sqs:eu-west-1:123456789012:invoices"}"#,
    );
    let letter = aws.sqs.send_message().queue_url(&url).message_body("invoice");
    aws.wait(letter.message_attributes("redrive.dead-letter", other).send()).unwrap();
    let ran = retry(&aws, &[]);
    assert_eq!(ran.code, 0);
    assert_eq!(
        ran.stdout,
        "0 sent from orders-dead to orders, 1 left (from another queue: retry it with --to)\n"
    );
    let ran = retry(&aws, &["--to", ORDERS]);
    assert_eq!(ran.stdout, "1 sent from orders-dead to orders\n", "{}", ran.stderr);
    assert_eq!(take(&aws, ORDERS).len(), 1);
}

#[test]
fn letters_do_not_go_back_to_where_they_are() {
    let aws = Aws::with_orders(false);
    let ran = retry(&aws, &["--to", DEAD]);
    assert_eq!(ran.code, 2);
    assert_eq!(ran.stderr, "redrive: orders-dead is where the letters are: give another queue with --to\n");
}

#[test]
fn a_rate_is_kept() {
    let aws = Aws::with_orders(false);
    write(&aws, 7, &["rejected"]);
    let began = std::time::Instant::now();
    let ran = retry(&aws, &["--rate", "3"]);
    assert_eq!(ran.stdout, "7 sent from orders-dead to orders\n", "{}", ran.stderr);
    assert!(began.elapsed().as_secs_f64() > 2.0, "{:?}", began.elapsed());
}

#[test]
fn a_rate_is_that_of_letters_sent_and_not_of_those_looked_at() {
    let aws = Aws::with_orders(false);
    let mut reasons = ["rejected"; 10];
    reasons[..2].fill("panic");
    write(&aws, 40, &reasons);
    let proxy = Proxy::listening(&aws.url);
    let began = std::time::Instant::now();
    let arguments = ["dlq", "retry", "--queue", ORDERS, "--yes", "--where", "reason = panic", "--rate", "4"];
    let ran = Ran::new(&crate::support::command_at(&proxy.url, &arguments).output().unwrap());
    assert_eq!(ran.stdout, "8 sent from orders-dead to orders, 32 left (not asked for)\n", "{}", ran.stderr);
    let took = began.elapsed().as_secs_f64();
    assert!((1.0..8.0).contains(&took), "{took} s");
    assert_eq!(counts(&aws, DEAD), (32, 0));
}

#[test]
fn at_a_low_rate_what_was_sent_is_deleted_before_the_next_is_sent() {
    let aws = Aws::with_orders(false);
    write(&aws, 5, &["panic"]);
    let proxy = Proxy::listening(&aws.url);
    let arguments = ["dlq", "retry", "--queue", ORDERS, "--yes", "--where", "reason = panic", "--rate", "2"];
    let ran = Ran::new(&crate::support::command_at(&proxy.url, &arguments).output().unwrap());
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "5 sent from orders-dead to orders\n"), "{}", ran.stderr);
    let counts: Vec<_> = proxy.entries(&CHANGING).into_iter().map(|(_, entries)| entries).collect();
    assert_eq!(counts, [2, 2, 2, 2, 1, 1]);
}

/// Two letters of one message, with the same content.
fn twins() -> Aws {
    let aws = Aws::with_orders(false);
    for _ in 0..2 {
        aws.letter_with("once", [("redrive.dead-letter", note("m", "panic"))]);
    }
    aws
}

#[test]
fn a_second_letter_of_a_message_stays_if_the_first_could_not_be_sent() {
    let aws = twins();
    let proxy = Proxy::start(&aws.url, |call, _| match call.action.as_str() {
        "SendMessageBatch" => Fate::EntriesFail(vec![0], "InvalidMessageContents"),
        _ => Fate::Answered,
    });
    let arguments = ["dlq", "retry", "--queue", ORDERS, "--yes"];
    let ran = Ran::new(&crate::support::command_at(&proxy.url, &arguments).output().unwrap());
    let expected =
        "0 sent from orders-dead to orders, 1 failed, 1 left (another letter of its message was not sent)\n";
    assert_eq!((ran.code, ran.stdout.as_str()), (1, expected), "{}", ran.stderr);
    assert_eq!((counts(&aws, ORDERS), counts(&aws, DEAD)), ((0, 0), (2, 0)));
}

#[test]
fn a_dry_run_tells_the_second_letter_of_a_message_and_deletes_it_not() {
    let aws = twins();
    let ran = retry(&aws, &["--dry-run"]);
    let expected = "1 would be sent from orders-dead to orders, 1 duplicates would be deleted\n";
    assert!(ran.code == 0 && ran.stdout.ends_with(expected), "{}", ran.stdout);
    assert_eq!((counts(&aws, ORDERS), counts(&aws, DEAD)), ((0, 0), (2, 0)));
}
