//! The order of calls, and which letters go.

use serde_json::Value;

use super::letters::{DEAD, ORDERS, bodies, note, note_of, take, text, with_letters};
use crate::proxy::{Fate, Proxy};
use crate::support::{Aws, Ran, on};

const CHANGING: [&str; 4] = ["SendMessage", "SendMessageBatch", "DeleteMessage", "DeleteMessageBatch"];

fn retry(aws: &Aws, more: &str) -> Ran {
    aws.redrive(&format!("dlq retry --queue orders --yes {more}"))
}

#[test]
fn a_retry_of_two_is_two_sends_and_then_two_deletes() {
    let aws = with_letters(2, &["rejected"]);
    let proxy = Proxy::listening(&aws.url);
    proxy.redrive("dlq retry --queue orders --yes").printed(0, "2 sent from orders-dead to orders\n");
    let expected = [("SendMessageBatch".to_owned(), 2), ("DeleteMessageBatch".to_owned(), 2)];
    assert_eq!(proxy.entries(&CHANGING), expected);
    assert_eq!(bodies(&aws, ORDERS), ["0", "1"]);
    assert_eq!(aws.counts(DEAD), (0, 0));
}

#[test]
fn a_maximum_of_two_of_three_leaves_one() {
    let aws = with_letters(3, &["rejected"]);
    retry(&aws, "--max 2").printed(0, "2 sent from orders-dead to orders\n");
    assert_eq!((aws.counts(ORDERS), aws.counts(DEAD)), ((2, 0), (1, 0)));
}

#[test]
fn a_dry_run_moves_none_and_shows_which_it_would_and_how_many_of_each_kind() {
    let aws = with_letters(4, &["rejected", "panic"]);
    let proxy = Proxy::listening(&aws.url);
    let ran = proxy.redrive("dlq retry --queue orders --dry-run --where 'reason = panic'");
    ran.ended(0);
    let lines: Vec<_> = ran.stdout.lines().collect();
    assert_eq!(lines.len(), 7, "{}", ran.stdout);
    assert!(lines[0].ends_with(" panic card refused"), "{}", lines[0]);
    assert_eq!((lines[2], lines[5]), ("", ""));
    assert!(lines[3].starts_with("LETTERS  OLDEST  NEWEST  REASON  ERROR"), "{}", ran.stdout);
    assert!(
        lines[4].starts_with("      2  ") && lines[4].ends_with("  panic   card refused"),
        "{}",
        ran.stdout
    );
    assert_eq!(lines[6], "2 would be sent from orders-dead to orders, 2 not selected");
    assert_eq!(proxy.entries(&CHANGING), []);
    assert_eq!((aws.counts(ORDERS), aws.counts(DEAD)), ((0, 0), (4, 0)));
}

#[test]
fn only_letters_of_which_the_conditions_hold_go_and_the_others_are_visible_again() {
    let aws = with_letters(25, &["rejected", "panic"]);
    retry(&aws, "--where 'reason = panic'")
        .told(0, "")
        .printed(0, "12 sent from orders-dead to orders, 13 not selected\n");
    assert_eq!((aws.counts(ORDERS), aws.counts(DEAD)), ((12, 0), (13, 0)));
    assert!(bodies(&aws, ORDERS).iter().all(|body| body.parse::<u32>().unwrap() % 2 == 1));
}

#[test]
fn letters_are_named_by_ids_or_json_lines_and_what_is_not_there_is_said() {
    let aws = with_letters(5, &["rejected"]);
    let ran = aws.redrive("dlq retry --queue orders --dry-run --json");
    let lines = ran.json_lines();
    assert_eq!((lines.len(), &lines[5]["totals"]["done"]), (6, &Value::from(5)), "{}", ran.stdout);
    let ids = format!("{}\n{}\nnobody\nm4\n", lines[0]["id"].as_str().unwrap(), lines[1]);
    let ran = aws.redrive_with("dlq retry --queue orders --yes --ids -", &ids);
    ran.printed(1, "3 sent from orders-dead to orders, 2 not selected\n")
        .told(1, "redrive: not found: nobody\n");
    assert_eq!((aws.counts(ORDERS), aws.counts(DEAD)), ((3, 0), (2, 0)));
    assert!(bodies(&aws, ORDERS).contains(&"4".to_owned()));
}

#[test]
fn once_all_ids_were_found_no_more_letters_are_received() {
    let aws = Aws::with_orders(false);
    let id = aws.letter("one");
    let proxy = Proxy::listening(&aws.url);
    proxy
        .redrive_with("dlq retry --queue orders --yes --ids -", &id)
        .printed(0, "1 sent from orders-dead to orders\n");
    assert_eq!(proxy.entries(&["ReceiveMessage"]).len(), 1);
}

#[test]
fn ids_that_a_maximum_kept_from_being_reached_are_not_called_missing() {
    let aws = Aws::with_orders(false);
    let ids: Vec<_> = (0..15).map(|number| aws.letter(&number.to_string())).collect();
    aws.redrive_with("dlq retry --queue orders --yes --max 1 --ids -", &ids.join("\n")).told(0, "");
    assert_eq!(aws.counts(ORDERS), (1, 0));
}

#[test]
fn two_letters_of_one_message_are_sent_once() {
    let aws = Aws::with_orders(false);
    for _ in 0..3 {
        aws.letter_with("once", [("redrive.dead-letter", note("m", "panic"))]);
    }
    let ran = retry(&aws, "");
    ran.printed(0, "1 sent from orders-dead to orders, 2 duplicates deleted\n")
        .stderr_count("was a duplicate of the same message and was deleted", 2);
    assert_eq!((aws.counts(ORDERS), aws.counts(DEAD)), ((1, 0), (0, 0)));
}

#[test]
fn letters_that_name_one_message_but_differ_are_both_sent() {
    let aws = Aws::with_orders(false);
    for body in ["one", "two"] {
        aws.letter_with(body, [("redrive.dead-letter", note("m", "panic"))]);
    }
    aws.letter_with("two", [("redrive.dead-letter", note("m", "panic")), ("color", text("red"))]);
    retry(&aws, "").printed(0, "3 sent from orders-dead to orders\n");
    assert_eq!(bodies(&aws, ORDERS), ["one", "two", "two"]);
}

#[test]
fn a_second_letter_of_a_message_that_was_not_chosen_stays() {
    let aws = Aws::with_orders(false);
    for reason in ["panic", "rejected"] {
        aws.letter_with("once", [("redrive.dead-letter", note("m", reason))]);
    }
    retry(&aws, "--where 'reason = panic'").printed(0, "1 sent from orders-dead to orders, 1 not selected\n");
    assert_eq!((aws.counts(ORDERS), aws.counts(DEAD)), ((1, 0), (1, 0)));
}

#[test]
fn letters_of_another_queue_stay_unless_the_queue_is_named() {
    let aws = Aws::with_orders(false);
    aws.letter_with("invoice", [("redrive.dead-letter", note_of("invoices", "m", "panic"))]);
    let left = "0 sent from orders-dead to orders, 1 from another queue (--to sends it)\n";
    retry(&aws, "").printed(0, left);
    retry(&aws, "--to orders").printed(0, "1 sent from orders-dead to orders\n");
    assert_eq!(take(&aws, ORDERS).len(), 1);
}

#[test]
fn letters_do_not_go_back_to_where_they_are() {
    let aws = Aws::with_orders(false);
    let refusal = "redrive: the letters are already in orders-dead: name another queue with --to\n";
    retry(&aws, "--to orders-dead").told(2, refusal);
}

#[test]
fn a_rate_is_kept() {
    let aws = with_letters(7, &["rejected"]);
    let began = std::time::Instant::now();
    retry(&aws, "--rate 3").printed(0, "7 sent from orders-dead to orders\n");
    assert!(began.elapsed().as_secs_f64() > 2.0, "{:?}", began.elapsed());
}

#[test]
fn a_rate_is_that_of_letters_sent_and_not_of_those_looked_at() {
    let mut reasons = ["rejected"; 10];
    reasons[..2].fill("panic");
    let aws = with_letters(40, &reasons);
    let proxy = Proxy::listening(&aws.url);
    let began = std::time::Instant::now();
    proxy
        .redrive("dlq retry --queue orders --yes --where 'reason = panic' --rate 4")
        .printed(0, "8 sent from orders-dead to orders, 32 not selected\n");
    let took = began.elapsed().as_secs_f64();
    assert!((1.0..8.0).contains(&took), "{took} s");
    assert_eq!(aws.counts(DEAD), (32, 0));
}

#[test]
fn at_a_low_rate_what_was_sent_is_deleted_before_the_next_is_sent() {
    let aws = with_letters(5, &["panic"]);
    let proxy = Proxy::listening(&aws.url);
    proxy
        .redrive("dlq retry --queue orders --yes --where 'reason = panic' --rate 2")
        .printed(0, "5 sent from orders-dead to orders\n");
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
    let proxy =
        Proxy::start(&aws.url, on("SendMessageBatch", Fate::EntriesFail(vec![0], "InvalidMessageContents")));
    let expected = "0 sent from orders-dead to orders, 1 failed, 1 duplicate of a letter that was not sent\n";
    proxy.redrive("dlq retry --queue orders --yes").printed(1, expected);
    assert_eq!((aws.counts(ORDERS), aws.counts(DEAD)), ((0, 0), (2, 0)));
}

#[test]
fn a_dry_run_tells_the_second_letter_of_a_message_and_deletes_it_not() {
    let aws = twins();
    let expected = "1 would be sent from orders-dead to orders, 1 duplicate would be deleted\n";
    retry(&aws, "--dry-run").ended(0).stdout_ends(expected);
    assert_eq!((aws.counts(ORDERS), aws.counts(DEAD)), ((0, 0), (2, 0)));
}
