//! `redrive dlq delete` and `redrive dlq purge`.

use crate::dlq_retry::letters::{DEAD, ORDERS, bodies, counts, note, write};
use crate::proxy::Proxy;
use crate::support::{Aws, Ran};
use crate::terminal::Terminal;

fn delete(aws: &Aws, more: &[&str]) -> Ran {
    aws.redrive(&[&["dlq", "delete", "--queue", ORDERS], more].concat())
}

#[test]
fn which_letters_must_be_said() {
    let aws = Aws::with_orders(false);
    let ran = delete(&aws, &["--yes"]);
    assert_eq!(
        (ran.code, ran.stderr.as_str()),
        (2, "redrive: which letters? Give --where, --ids or --all\n")
    );
    assert_eq!(delete(&aws, &["--yes", "--all", "--where", "reason = panic"]).code, 2);
    assert_eq!(delete(&aws, &["--yes", "--max", "1"]).code, 2);
}

#[test]
fn chosen_letters_are_deleted_and_the_others_are_visible_again() {
    let aws = Aws::with_orders(false);
    write(&aws, 25, &["rejected", "panic"]);
    let dry = delete(&aws, &["--where", "reason = panic", "--dry-run", "--json"]);
    assert_eq!(dry.stdout.matches("\"would-delete\"").count(), 12, "{}", dry.stdout);
    assert_eq!(counts(&aws, DEAD), (25, 0));
    let ran = delete(&aws, &["--where", "reason = panic", "--yes"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert_eq!(ran.stdout, "12 deleted from orders-dead, 13 left (not asked for)\n");
    assert_eq!(counts(&aws, DEAD), (13, 0));
    assert!(bodies(&aws, DEAD).iter().all(|body| body.parse::<u32>().unwrap() % 2 == 0));
    assert_eq!(counts(&aws, ORDERS), (0, 0));
}

#[test]
fn letters_are_deleted_by_id() {
    let aws = Aws::with_orders(false);
    write(&aws, 3, &["panic"]);
    let ran = aws.redrive_with(&["dlq", "delete", "--queue", ORDERS, "--ids", "-", "--yes"], "m1\n");
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "1 deleted from orders-dead, 2 left (not asked for)\n"));
    assert_eq!(bodies(&aws, DEAD), ["0", "2"]);
}

#[test]
fn the_other_letter_of_a_message_is_not_deleted_with_it() {
    let aws = Aws::with_orders(false);
    let first = aws.letter_with("b", [("redrive.dead-letter", note("m", "panic"))]);
    aws.letter_with("b", [("redrive.dead-letter", note("m", "rejected"))]);
    let ran = delete(&aws, &["--where", "reason = panic", "--yes"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "1 deleted from orders-dead, 1 left (not asked for)\n"));
    let ran = aws.redrive_with(&["dlq", "delete", "--queue", ORDERS, "--ids", "-", "--yes"], &first);
    assert_eq!((ran.code, ran.stderr), (1, format!("redrive: not found: {first}\n")));
    assert_eq!(counts(&aws, DEAD), (1, 0));
}

#[test]
fn all_letters_are_those_that_were_there_at_the_start() {
    let aws = Aws::with_orders(false);
    write(&aws, 120, &["panic"]);
    let ran = delete(&aws, &["--all", "--yes"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "120 deleted from orders-dead\n"), "{}", ran.stderr);
    assert_eq!(counts(&aws, DEAD), (0, 0));
}

#[test]
fn a_purge_empties_the_queue_after_its_name_was_typed() {
    let aws = Aws::with_orders(false);
    write(&aws, 7, &["panic"]);
    let dry = aws.redrive(&["dlq", "purge", "--queue", ORDERS, "--dry-run"]);
    assert_eq!((dry.code, dry.stdout.as_str()), (0, "about 7 letters would be deleted from orders-dead\n"));
    let proxy = Proxy::listening(&aws.url);
    let mut terminal = Terminal::redrive(&aws, &["dlq", "purge", "--queue", ORDERS]);
    terminal.expect("Type the name orders-dead to go on");
    terminal.enter(DEAD);
    assert_eq!(terminal.end(), 0, "{}", terminal.screen());
    assert!(terminal.screen().contains("about 7 letters deleted from orders-dead"), "{}", terminal.screen());
    assert_eq!(counts(&aws, DEAD), (0, 0));
    let again = Ran::new(
        &crate::support::command_at(&proxy.url, &["dlq", "purge", "--queue", ORDERS, "--yes"])
            .output()
            .unwrap(),
    );
    assert_eq!(again.code, 1);
    assert!(again.stderr.contains("it was purged less than 60 s ago"), "{}", again.stderr);
    assert_eq!(proxy.entries(&["PurgeQueue"]).len(), 1);
}

#[test]
fn a_purge_of_a_queue_with_a_redrive_policy_of_its_own_is_refused() {
    let aws = Aws::with_orders(false);
    write(&aws, 1, &["rejected"]);
    let send = aws.sqs.send_message().queue_url(aws.queue_url(ORDERS)).message_body("alive");
    aws.wait(send.send()).unwrap();
    let ran = aws.redrive(&["dlq", "purge", "--dead-letter-queue", ORDERS, "--yes"]);
    assert_eq!((ran.code, ran.stderr.lines().count()), (2, 1), "{}", ran.stderr);
    assert!(ran.stderr.contains("orders has a redrive policy itself"), "{}", ran.stderr);
    assert_eq!((counts(&aws, ORDERS), counts(&aws, DEAD)), ((1, 0), (1, 0)));
}
