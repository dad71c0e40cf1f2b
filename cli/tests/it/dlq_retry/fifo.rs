//! FIFO queues: order within a group, and deduplication ids.

use std::collections::BTreeSet;

use aws_sdk_sqs::types::MessageSystemAttributeName;

use super::letters::{arrived, drain, note_of, write_in_group as write};
use crate::support::{Aws, Ran};

const DEAD: &str = "orders-dead.fifo";
const ORDERS: &str = "orders.fifo";

fn retry(aws: &Aws, more: &str) -> Ran {
    aws.redrive(&format!("dlq retry --queue orders.fifo --yes {more}"))
}

/// The bodies of a group in the order in which they arrive.
fn of_group(bodies: &[String], group: &str) -> Vec<String> {
    bodies.iter().filter(|body| body.starts_with(group)).cloned().collect()
}

#[test]
fn groups_go_back_in_their_order() {
    let aws = Aws::with_orders(true);
    for number in 0..13 {
        write(&aws, "a", &format!("a{number:02}"), "rejected");
        write(&aws, "b", &format!("b{number:02}"), "rejected");
    }
    let ran = retry(&aws, "");
    ran.printed(0, "26 sent from orders-dead.fifo to orders.fifo\n")
        .stderr_has("letters go to the end of their groups");
    let all: Vec<_> = drain(&aws, ORDERS).into_iter().filter_map(|message| message.body).collect();
    for group in ["a", "b"] {
        let expected: Vec<_> = (0..13).map(|number| format!("{group}{number:02}")).collect();
        assert_eq!(of_group(&all, group), expected);
    }
}

#[test]
fn a_letter_that_stays_holds_back_none_before_it() {
    for more in ["", " --rate 1", " --rate 3", " --max 2"] {
        let aws = Aws::with_orders(true);
        for (body, reason) in [("a1", "panic"), ("a2", "panic"), ("a3", "rejected"), ("a4", "panic")] {
            write(&aws, "a", body, reason);
        }
        let selected = format!("--where 'reason = panic'{more}");
        let dry = retry(&aws, &format!("{selected} --dry-run"));
        assert_eq!(dry.stdout.matches(" group a panic ").count(), 2, "{more}: {dry:?}");
        retry(&aws, &selected).stdout_starts("2 sent from orders-dead.fifo to orders.fifo");
        assert_eq!(arrived(&aws, ORDERS), ["a1", "a2"], "{more}");
        assert_eq!(arrived(&aws, DEAD), ["a3", "a4"], "{more}");
    }
}

/// 500 letters in 50 groups, with three reasons in mixed order.
fn with_fifty_groups() -> Aws {
    use aws_sdk_sqs::types::SendMessageBatchRequestEntry as Entry;
    let aws = Aws::with_orders(true);
    let letters: Vec<_> = (0..500_usize).collect();
    for batch in letters.chunks(10) {
        let entries = batch.iter().map(|number| {
            let (group, place) = (number % 50, number / 50);
            let reason = ["panic", "rejected", "exhausted"][(group * 7 + place * place) % 3];
            let id = format!("m{number}");
            let entry = Entry::builder().id(&id).message_body(format!("g{group:02} {place}"));
            let entry = entry.message_group_id(format!("g{group:02}")).message_deduplication_id(&id);
            let note = note_of("orders.fifo", &id, reason);
            entry.message_attributes("redrive.dead-letter", note).build().unwrap()
        });
        let call = aws.sqs.send_message_batch().queue_url(aws.queue_url(DEAD));
        assert!(aws.wait(call.set_entries(Some(entries.collect())).send()).unwrap().failed().is_empty());
    }
    aws
}

fn ids_with(ran: &Ran, result: &str) -> BTreeSet<String> {
    let letters = ran.json_lines().into_iter().filter(|letter| letter["result"] == result);
    letters.filter_map(|letter| letter["id"].as_str().map(str::to_owned)).collect()
}

#[test]
fn what_a_dry_run_promises_is_sent_from_five_hundred_letters_in_fifty_groups() {
    let aws = with_fifty_groups();
    let list = aws.redrive("dlq list --queue orders.fifo --json").json_lines();
    // Those that begin their groups, and some from the middle.
    let some = list
        .iter()
        .filter(|letter| ["0", "1", "4"].iter().any(|end| letter["body"].as_str().unwrap().ends_with(end)));
    let some: String = some.map(|letter| format!("{}\n", letter["id"].as_str().unwrap())).collect();
    let mut sent = 0;
    for (selected, stdin) in [
        ("--where 'reason = panic' --rate 200", ""),
        ("--where 'reason = rejected' --max 7", ""),
        ("--ids -", some.as_str()),
        ("--where 'reason != rejected'", ""),
    ] {
        let line = format!("dlq retry --queue orders.fifo --yes --json {selected}");
        let promised = ids_with(&aws.redrive_with(&format!("{line} --dry-run"), stdin), "would-send");
        assert!(!promised.is_empty(), "{selected}");
        let done = ids_with(&aws.redrive_with(&line, stdin), "sent");
        // Behind them others come into sight; which of them are below a maximum is up to the queue.
        let is_kept = match selected.contains("--max") {
            true => promised.len() == done.len(),
            false => promised.is_subset(&done),
        };
        assert!(is_kept, "{selected}: {promised:?} {done:?}");
        sent += done.len();
    }
    let bodies =
        |queue| drain(&aws, queue).into_iter().filter_map(|message| message.body).collect::<Vec<_>>();
    let (there, left) = (bodies(ORDERS), bodies(DEAD));
    assert_eq!((there.len(), there.len() + left.len()), (sent, 500));
    for group in 0..50 {
        let group = format!("g{group:02}");
        let all = [of_group(&there, &group), of_group(&left, &group)].concat();
        assert!(all.is_sorted(), "{all:?}");
    }
}

#[test]
fn a_message_that_dies_again_within_five_minutes_is_not_swallowed() {
    let aws = Aws::with_orders(true);
    let url = aws.queue_url(ORDERS);
    let send = aws.sqs.send_message().queue_url(&url).message_body("b").message_group_id("g");
    let sent = aws.wait(send.message_deduplication_id("of-the-sender").send()).unwrap();
    let mut ids = vec![];
    for life in 1..=3 {
        // Its last delivery is over, and SQS moves it.
        for _ in 0..4 {
            aws.wait(aws.sqs.receive_message().queue_url(&url).visibility_timeout(0).send()).unwrap();
        }
        retry(&aws, "").printed(0, "1 sent from orders-dead.fifo to orders.fifo\n");
        assert_eq!(aws.counts(ORDERS), (1, 0), "life {life}");
        let look = aws.sqs.receive_message().queue_url(&url).visibility_timeout(0);
        let look = look.message_system_attribute_names(MessageSystemAttributeName::All);
        let seen = aws.wait(look.send()).unwrap().messages.unwrap().remove(0);
        let system = seen.attributes.unwrap();
        assert_eq!(system[&MessageSystemAttributeName::MessageGroupId], "g");
        ids.push(system[&MessageSystemAttributeName::MessageDeduplicationId].clone());
    }
    assert_eq!(ids[0], format!("{}-1", sent.message_id.unwrap()));
    ids.dedup();
    assert_eq!(ids.len(), 3, "{ids:?}");
}
