//! A dead-letter queue that two queues share.

use redrive_local::QueueConfig;

use super::letters::{DEAD, ORDERS, bodies, note_of};
use crate::support::{Aws, orders};

fn shared() -> Aws {
    let mut queues = orders(false);
    let attributes = queues[1].attributes.clone();
    queues.push(QueueConfig { name: "invoices".to_owned(), attributes });
    let aws = Aws::start(queues);
    for queue in [ORDERS, "invoices"] {
        aws.letter_with(queue, [("redrive.dead-letter", note_of(queue, queue, "panic"))]);
    }
    aws
}

#[test]
fn without_a_destination_both_queues_are_named_and_what_to_type() {
    let aws = shared();
    for flag in ["--queue", "--dead-letter-queue"] {
        let ran = aws.redrive(&format!("dlq retry {flag} orders-dead --yes"));
        assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.lines().count()), (2, "", 1), "{}", ran.stderr);
        let (one, other) = (
            "invoices and orders: pass --queue invoices or --queue orders",
            "orders and invoices: pass --queue orders or --queue invoices",
        );
        let begin = "redrive: orders-dead is the dead-letter queue of ";
        let end = " to send back its letters, or --to QUEUE for all of them\n";
        let queues = ran.stderr.strip_prefix(begin).and_then(|rest| rest.strip_suffix(end));
        assert!(queues.is_some_and(|queues| queues == one || queues == other), "{}", ran.stderr);
    }
    assert_eq!(aws.counts(DEAD), (2, 0));
}

#[test]
fn by_one_of_its_queues_only_the_letters_of_that_one_go() {
    let aws = shared();
    aws.redrive("dlq retry --queue invoices --yes")
        .printed(0, "1 sent from orders-dead to invoices, 1 from another queue (--to sends it)\n");
    assert_eq!(
        (bodies(&aws, "invoices"), bodies(&aws, DEAD)),
        (vec!["invoices".to_owned()], vec![ORDERS.to_owned()])
    );
}

#[test]
fn to_a_queue_that_is_named_all_of_them_go_and_a_list_needs_no_source() {
    let aws = shared();
    assert_eq!(aws.redrive("dlq list --queue orders-dead --json").ended(0).stdout.lines().count(), 2);
    aws.redrive("dlq retry --queue orders-dead --to orders --yes")
        .printed(0, "2 sent from orders-dead to orders\n");
}
