//! `redrive dlq delete` and `redrive dlq purge`.

use crate::dlq_retry::letters::{DEAD, ORDERS, bodies, note, with_letters};
use crate::proxy::Proxy;
use crate::support::{Aws, Ran};
use crate::terminal::Terminal;

fn delete(aws: &Aws, more: &str) -> Ran {
    aws.redrive(&format!("dlq delete --queue orders {more}"))
}

#[test]
fn chosen_letters_are_deleted_and_the_others_are_visible_again() {
    let aws = with_letters(25, &["rejected", "panic"]);
    delete(&aws, "--where 'reason = panic' --dry-run --json").stdout_count("\"would-delete\"", 12);
    assert_eq!(aws.counts(DEAD), (25, 0));
    let ran = delete(&aws, "--where 'reason = panic' --yes");
    ran.told(0, "");
    assert_eq!(ran.stdout, "12 deleted from orders-dead, 13 not selected\n");
    assert_eq!(aws.counts(DEAD), (13, 0));
    assert!(bodies(&aws, DEAD).iter().all(|body| body.parse::<u32>().unwrap() % 2 == 0));
    assert_eq!(aws.counts(ORDERS), (0, 0));
}

#[test]
fn the_other_letter_of_a_message_is_not_deleted_with_it() {
    let aws = Aws::with_orders(false);
    let first = aws.letter_with("b", [("redrive.dead-letter", note("m", "panic"))]);
    aws.letter_with("b", [("redrive.dead-letter", note("m", "rejected"))]);
    delete(&aws, "--where 'reason = panic' --yes").printed(0, "1 deleted from orders-dead, 1 not selected\n");
    let ran = aws.redrive_with("dlq delete --queue orders --ids - --yes", &first);
    assert_eq!((ran.code, ran.stderr), (1, format!("redrive: not found: {first}\n")));
    assert_eq!(aws.counts(DEAD), (1, 0));
}

#[test]
fn all_letters_are_those_that_were_there_at_the_start() {
    let aws = with_letters(120, &["panic"]);
    delete(&aws, "--all --yes").printed(0, "120 deleted from orders-dead\n");
    assert_eq!(aws.counts(DEAD), (0, 0));
}

#[test]
fn a_purge_empties_the_queue_after_its_name_was_typed() {
    let aws = with_letters(7, &["panic"]);
    aws.redrive("dlq purge --queue orders --dry-run")
        .printed(0, "about 7 letters would be deleted from orders-dead\n");
    let proxy = Proxy::listening(&aws.url);
    let mut terminal = Terminal::redrive(&aws, "dlq purge --queue orders");
    terminal.expect("Type orders-dead to confirm");
    terminal.enter(DEAD);
    terminal.ends(0);
    terminal.shows("about 7 letters deleted from orders-dead");
    assert_eq!(aws.counts(DEAD), (0, 0));
    proxy.redrive("dlq purge --queue orders --yes").ended(1).stderr_has("it was purged less than 60 s ago");
    assert_eq!(proxy.entries(&["PurgeQueue"]).len(), 1);
}

#[test]
fn a_shortened_id_is_refused_in_words() {
    let aws = with_letters(2, &["panic"]);
    let id = aws.redrive("dlq list --queue orders --json --max 1").json()["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    aws.redrive_with("dlq delete --queue orders --ids - --yes", &id[..8])
        .ended(1)
        .stderr_has(format!("not found: {} (--ids takes whole ids: redrive dlq list --wide)", &id[..8]));
    assert_eq!(aws.counts(DEAD), (2, 0));
    let condition = format!("--where 'id ~ ^{}' --yes", &id[..8]);
    delete(&aws, &condition).printed(0, "1 deleted from orders-dead, 1 not selected\n");
}
