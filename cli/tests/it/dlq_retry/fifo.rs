//! FIFO queues: order within a group, and deduplication ids.

use std::collections::{BTreeMap, BTreeSet};

use aws_sdk_sqs::types::MessageSystemAttributeName;
use redrive_local::QueueConfig;

use super::letters::{arrived, drain, note_of, write_in_group as write};
use crate::proxy::{Fate, Proxy};
use crate::support::{Aws, Ran, at_first, on, orders};

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
fn duplicates_are_not_letters_that_were_not_received() {
    let aws = Aws::with_orders(true);
    let letters = ["1", "2"].map(|id| {
        let note = note_of(ORDERS, "message-a1", "rejected");
        let letter = aws.sqs.send_message().queue_url(aws.queue_url(DEAD)).message_body("a1");
        let letter = letter.message_group_id("a").message_deduplication_id(id);
        letter.message_attributes("redrive.dead-letter", note)
    });
    for letter in letters {
        aws.wait(letter.send()).expect("it is sent");
    }
    aws.redrive("dlq retry --queue orders.fifo --dry-run").ended(0).stderr_count("were not received", 0);
    let ran = retry(&aws, "");
    ran.printed(0, "1 sent from orders-dead.fifo to orders.fifo, 1 duplicate deleted\n");
    ran.stderr_count("were not received", 0);
}

#[test]
fn a_letter_that_stays_keeps_those_behind_it_and_no_other_group() {
    let aws = Aws::with_orders(true);
    write(&aws, "a", "a1", "rejected");
    write(&aws, "a", "a2", "panic");
    write(&aws, "b", "b1", "panic");
    let expected = "1 sent from orders-dead.fifo to orders.fifo, 1 not selected, \
                    1 behind a skipped letter of its group\n";
    retry(&aws, "--where 'reason = panic'")
        .printed(1, expected)
        .stderr_ends("redrive: 1 selected letter stays behind another of its group\n");
    assert_eq!(arrived(&aws, ORDERS), ["b1"]);
    assert_eq!(arrived(&aws, DEAD), ["a1", "a2"]);
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

#[test]
fn a_letter_beyond_the_maximum_holds_back_none_before_it() {
    let aws = Aws::with_orders(true);
    for number in 0..6 {
        write(&aws, "a", &format!("a{number}"), "panic");
    }
    retry(&aws, "--where 'reason = panic' --max 4").stdout_starts("4 sent from ");
    assert_eq!(arrived(&aws, ORDERS), ["a0", "a1", "a2", "a3"]);
    assert_eq!(arrived(&aws, DEAD), ["a4", "a5"]);
}

#[test]
fn a_letter_is_sent_by_its_id_from_before_others_of_its_group() {
    let aws = Aws::with_orders(true);
    for body in ["a1", "a2", "a3"] {
        write(&aws, "a", body, "panic");
    }
    let list = aws.redrive("dlq list --queue orders.fifo --json").json_lines();
    let first = list.iter().find(|letter| letter["body"] == "a1").expect("it is there");
    for id in [first["id"].as_str(), first["message_id"].as_str()] {
        let ran = aws.redrive_with("dlq retry --queue orders.fifo --yes --ids - --dry-run", id.unwrap());
        ran.ended(0).stdout_has("1 would be sent");
    }
    aws.redrive_with("dlq retry --queue orders.fifo --yes --ids -", first["message_id"].as_str().unwrap())
        .ended(0)
        .stdout_starts("1 sent from ");
    assert_eq!(arrived(&aws, ORDERS), ["a1"]);
    assert_eq!(arrived(&aws, DEAD), ["a2", "a3"]);
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
fn letters_of_one_group_of_which_none_matches_are_no_match() {
    let aws = Aws::with_orders(true);
    for body in ["a1", "a2", "a3"] {
        write(&aws, "a", body, "rejected");
    }
    retry(&aws, "--where 'reason = panic'")
        .printed(3, "0 sent from orders-dead.fifo to orders.fifo, 3 not selected\n");
}

#[test]
fn a_letter_that_was_named_and_is_behind_another_is_told_of() {
    let aws = Aws::with_orders(true);
    write(&aws, "a", "a1", "rejected");
    write(&aws, "a", "a2", "panic");
    aws.redrive_with("dlq retry --queue orders.fifo --yes --ids -", "message-a2\n")
        .ended(1)
        .stderr_has(" stays: behind a skipped letter of its group\n")
        .stderr_ends("redrive: 1 letter of --ids stays\n");
    assert_eq!((aws.counts(ORDERS), aws.counts(DEAD)), ((0, 0), (2, 0)));
}

#[test]
fn a_letter_is_deleted_from_behind_one_that_stays() {
    let aws = Aws::with_orders(true);
    write(&aws, "a", "a1", "rejected");
    write(&aws, "a", "a2", "panic");
    let ran = aws.redrive("dlq delete --queue orders.fifo --yes --where 'reason = panic'");
    assert_eq!((ran.code, aws.counts(DEAD)), (0, (1, 0)), "{}{}", ran.stdout, ran.stderr);
    assert_eq!(arrived(&aws, DEAD), ["a1"]);
}

#[test]
fn a_dry_run_does_not_promise_what_the_other_queue_cannot_take() {
    let mut queues = orders(false);
    let kind = |name: &str, value: &str| BTreeMap::from([(name.to_owned(), value.to_owned())]);
    queues.push(QueueConfig { name: "other.fifo".to_owned(), attributes: kind("FifoQueue", "true") });
    queues.push(QueueConfig { name: "small".to_owned(), attributes: kind("MaximumMessageSize", "1024") });
    let aws = Aws::start(queues);
    aws.letter(&"x".repeat(2_000));
    for (to, reason) in [
        ("other.fifo", "has no group id: a FIFO queue requires one"),
        ("small", "body and attributes have 2"),
    ] {
        let line = format!("dlq retry --queue orders --to {to} --yes");
        let dry = aws.redrive(&format!("{line} --dry-run"));
        dry.ended(1).stderr_has(reason).stdout_has("0 would be sent");
        aws.redrive(&line).ended(1).stderr_has(reason).stdout_has("0 sent");
    }
}

#[test]
fn a_letter_that_fails_is_not_overtaken() {
    let aws = Aws::with_orders(true);
    for body in ["a1", "a2", "b1", "b2"] {
        write(&aws, &body[..1], body, "panic");
    }
    let proxy = Proxy::start(
        &aws.url,
        at_first(1, "SendMessageBatch", Fate::EntriesFail(vec![0], "InvalidMessageContents")),
    );
    proxy.redrive("dlq retry --queue orders.fifo --yes").ended(1);
    assert_eq!(
        proxy.sizes("SendMessageBatch"),
        [2, 1],
        "the heads of both groups, then what follows the one that went"
    );
    let dead = arrived(&aws, DEAD);
    let group = &dead[0][..1];
    assert_eq!(dead, [format!("{group}1"), format!("{group}2")]);
    assert_eq!(arrived(&aws, ORDERS).len(), 2);
}

#[test]
fn a_letter_that_fails_is_not_overtaken_at_a_low_rate_either() {
    let aws = Aws::with_orders(true);
    for body in ["a1", "a2", "b1"] {
        write(&aws, &body[..1], body, "panic");
    }
    let proxy = Proxy::start(&aws.url, |call, _| match call.action.as_str() {
        "SendMessageBatch" if call.input["Entries"][0]["MessageBody"] == "a1" => {
            Fate::EntriesFail(vec![0], "InvalidMessageContents")
        }
        _ => Fate::Answered,
    });
    let expected = "1 sent from orders-dead.fifo to orders.fifo, 1 failed, \
                    1 behind a skipped letter of its group\n";
    proxy
        .redrive("dlq retry --queue orders.fifo --yes --where 'reason = panic' --rate 1")
        .printed(1, expected);
    assert_eq!(arrived(&aws, ORDERS), ["b1"]);
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

#[test]
fn a_letter_that_was_sent_before_a_crash_is_not_sent_twice() {
    let aws = Aws::with_orders(true);
    write(&aws, "a", "a1", "panic");
    let proxy = Proxy::start(&aws.url, on("DeleteMessageBatch", Fate::Refused(403, "AccessDeniedException")));
    proxy.redrive("dlq retry --queue orders.fifo --yes").ended(1);
    assert_eq!((aws.counts(ORDERS), aws.counts(DEAD)), ((1, 0), (1, 0)));
    assert_eq!(retry(&aws, "").code, 0);
    assert_eq!((aws.counts(ORDERS), aws.counts(DEAD)), ((1, 0), (0, 0)));
}
