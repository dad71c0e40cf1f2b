//! `redrive dlq import` to a FIFO queue: keeps the order of groups, and drops nothing silently.

use serde_json::Value;

use crate::dlq_retry::letters::bodies;
use crate::proxy::{Fate, Proxy};
use crate::support::{Aws, Ran, at_first, command_at};

const DEAD: &str = "orders-dead.fifo";

fn import(url: &str, lines: &str) -> Ran {
    let mut command = command_at(url, "dlq import --queue orders.fifo -");
    Ran::of(command.write_stdin(lines))
}

fn line(body: &str, group: &str, id: &str) -> String {
    format!("{{\"body\": \"{body}\", \"group_id\": \"{group}\", \"deduplication_id\": \"{id}\"}}\n")
}

#[test]
fn a_line_that_fails_stops_its_group_and_no_other() {
    let aws = Aws::with_orders(true);
    let proxy = Proxy::start(
        &aws.url,
        at_first(1, "SendMessageBatch", Fate::EntriesFail(vec![0], "InvalidMessageContents")),
    );
    let mut lines: String = ["a", "b", "a", "b", "a"]
        .iter()
        .enumerate()
        .map(|(index, group)| line(&format!("{group}{index}"), group, &format!("d{index}")))
        .collect();
    for number in 5..207 {
        lines += &line(&format!("f{number:03}"), "f", &format!("d{number}"));
    }
    lines += &line("a207", "a", "d207");
    let ran = import(&proxy.url, &lines);
    ran.ended(1);
    assert_eq!(
        ran.stderr.lines().collect::<Vec<_>>(),
        [
            "line 1: the body or an attribute holds a character that SQS does not accept (a fault)",
            "group a: line 1 was not sent, so lines 3, 5, 208 behind it were not sent either",
            "204 letters sent to orders-dead.fifo",
            "redrive: 4 lines failed",
        ]
    );
    let arrived = bodies(&aws, DEAD);
    let of = |group: &str| arrived.iter().filter(|body| body.starts_with(group)).cloned().collect::<Vec<_>>();
    assert_eq!((of("a").len(), of("b")), (0, vec!["b1".to_owned(), "b3".to_owned()]));
    assert!(of("f").is_sorted(), "{arrived:?}");
}

#[test]
fn a_file_with_a_byte_order_mark_is_read() {
    let aws = Aws::with_orders(true);
    let ran = import(&aws.url, &format!("\u{feff}{}{}", line("a", "a", "1"), line("b", "a", "2")));
    assert_eq!((ran.code, ran.stderr.as_str()), (0, "2 letters sent to orders-dead.fifo\n"));
}

/// A standard queue with two letters without a note, of which SQS moved one there.
fn without_notes() -> Aws {
    let aws = Aws::with_orders(false);
    aws.send("orders", "moved");
    let look = aws.sqs.receive_message().queue_url(aws.queue_url("orders")).visibility_timeout(0);
    for _ in 0..4 {
        aws.wait(look.clone().send()).expect("it is received");
    }
    aws.sent_here("sent here", []);
    assert_eq!(aws.counts("orders-dead"), (2, 0));
    aws
}

#[test]
fn an_imported_letter_is_what_its_line_says() {
    let aws = without_notes();
    let exported = aws.redrive("dlq export --queue orders -").ended(0).stdout.clone();
    aws.redrive("dlq delete --queue orders --all --yes").ended(0);
    aws.redrive_with("dlq import --queue orders -", &exported).ended(0);
    let lines = |text: &str| {
        let mut lines: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        lines.sort_by_key(|line| line["body"].to_string());
        for line in &mut lines {
            for new in ["id", "enqueued_at", "expires_at", "attributes"] {
                line.as_object_mut().expect("an object").remove(new);
            }
        }
        lines
    };
    let list = aws.redrive("dlq list --queue orders --json").ended(0).stdout.clone();
    assert_eq!(lines(&list), lines(&exported));
    let again = aws.redrive("dlq export --queue orders -").ended(0).stdout.clone();
    aws.redrive_with("dlq import --queue orders --yes -", &again).ended(0);
    aws.redrive("dlq retry --queue orders --to orders --yes --where 'error missing'").ended(3);
    aws.redrive("dlq retry --queue orders --to orders --yes")
        .printed(0, "2 sent from orders-dead to orders, 2 duplicates deleted\n");
}
