//! The order of calls, and which letters go.

use serde_json::Value;

use super::letters::{DEAD, ORDERS, bodies, with_letters};
use crate::proxy::Proxy;
use crate::support::{Aws, Ran};

const CHANGING: [&str; 4] = ["SendMessage", "SendMessageBatch", "DeleteMessage", "DeleteMessageBatch"];

fn retry(aws: &Aws, more: &str) -> Ran {
    aws.redrive(&format!("dlq retry --queue orders --yes {more}"))
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
