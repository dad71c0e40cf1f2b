//! FIFO queues: order within a group, and deduplication ids.

use aws_sdk_sqs::types::MessageSystemAttributeName;

use super::letters::{arrived, drain, write_in_group as write};
use crate::proxy::{Fate, Proxy};
use crate::support::{Aws, Ran, at_first, on};

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
