//! Letters that are selected by the ids of their messages, by default in a FIFO queue.

use std::io::Write as _;

use serde_json::Value;

use super::letters::{arrived, drain, note, note_of, write_in_group as write};
use crate::proxy::{Fate, Proxy};
use crate::support::{Aws, Ran, at_first, command_at};

const DEAD: &str = "orders-dead.fifo";
const ORDERS: &str = "orders.fifo";

fn bodies_of_group(count: usize) -> Vec<String> {
    (1..=count).map(|number| format!("a{number:02}")).collect()
}

/// One group with so many letters, and the ids of their messages.
fn with_group(count: usize) -> (Aws, String) {
    let aws = Aws::with_orders(true);
    let bodies = bodies_of_group(count);
    bodies.iter().for_each(|body| write(&aws, "a", body, "rejected"));
    (aws, bodies.iter().map(|body| format!("message-{body}\n")).collect())
}

fn edit(aws: &Aws, editor: &str, ids: &str) -> Ran {
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(ids.as_bytes()).expect("it is written");
    let line = format!("dlq retry --queue orders.fifo --edit --yes --ids {}", file.path().display());
    Ran::of(command_at(&aws.url, &line).env_remove("VISUAL").env("EDITOR", editor))
}

#[test]
fn a_group_that_is_longer_than_a_receive_goes_in_one_run() {
    let (aws, ids) = with_group(32);
    aws.redrive_with("dlq retry --queue orders.fifo --yes --ids -", &ids)
        .told(0, "redrive: letters go to the end of their groups, behind messages sent meanwhile\n")
        .printed(0, "32 sent from orders-dead.fifo to orders.fifo\n");
    assert_eq!(aws.counts(DEAD), (0, 0));
    let arrived: Vec<_> = drain(&aws, ORDERS).into_iter().filter_map(|message| message.body).collect();
    assert_eq!(arrived, bodies_of_group(32));
}

#[test]
fn those_behind_the_first_of_a_group_are_edited_in_the_same_run() {
    let (aws, ids) = with_group(3);
    edit(&aws, "sed -i s/a0/b0/", &ids).printed(0, "3 sent from orders-dead.fifo to orders.fifo\n");
    assert_eq!(
        (arrived(&aws, ORDERS), aws.counts(DEAD)),
        (["b01", "b02", "b03"].map(str::to_owned).into(), (0, 0))
    );
}

/// Messages `one` of which SQS moved so many, behind as many letters that name them: what redrive wrote of them before the
/// invocation died. And the ids of the messages.
fn behind_their_twins(count: u32, body_of_twins: &str) -> (Aws, String) {
    let aws = Aws::with_orders(true);
    let url = aws.queue_url(ORDERS);
    let mut ids = String::new();
    for number in 0..count {
        let send = aws.sqs.send_message().queue_url(&url).message_body("one").message_group_id("a");
        let sent = aws.wait(send.message_deduplication_id(number.to_string()).send()).unwrap();
        let id = sent.message_id.unwrap();
        let twin = aws.sqs.send_message().queue_url(aws.queue_url(DEAD)).message_body(body_of_twins);
        let twin = twin.message_group_id("a").message_deduplication_id(&id);
        let note = note_of(ORDERS, &id, "rejected");
        aws.wait(twin.message_attributes("redrive.dead-letter", note).send()).unwrap();
        ids = format!("{ids}{id}\n");
    }
    for _ in 0..4 {
        let receive = aws.sqs.receive_message().queue_url(&url).max_number_of_messages(10);
        aws.wait(receive.visibility_timeout(0).send()).unwrap();
    }
    assert_eq!((aws.counts(ORDERS), aws.counts(DEAD)), ((0, 0), (2 * count, 0)));
    (aws, ids)
}

#[test]
fn twins_that_stand_first_are_sent_and_the_others_deleted() {
    for count in [1, 10] {
        let (aws, ids) = behind_their_twins(count, "one");
        let duplicates = if count == 1 { "duplicate" } else { "duplicates" };
        let sum =
            format!("{count} sent from orders-dead.fifo to orders.fifo, {count} {duplicates} deleted\n");
        aws.redrive_with("dlq retry --queue orders.fifo --yes --ids -", &ids).printed(0, sum);
        assert_eq!((aws.counts(ORDERS), aws.counts(DEAD)), ((count, 0), (0, 0)));
    }
}

#[test]
fn a_letter_of_other_content_that_stands_first_is_not_sent_in_its_place() {
    let (aws, id) = behind_their_twins(1, "another");
    aws.redrive_with("dlq retry --queue orders.fifo --yes --ids -", &id)
        .ended(1)
        .stderr_has(format!("letter {} stays: behind a skipped letter of its group\n", id.trim()));
    assert_eq!((aws.counts(ORDERS), aws.counts(DEAD)), ((0, 0), (2, 0)));
}

/// SQS hands out the second of a group once the first is deleted: too late to see in it what the id means.
#[test]
fn a_letter_behind_one_that_was_edited_in_its_place_is_looked_at_too() {
    for (body, sum) in [
        ("one", "1 sent from orders-dead.fifo to orders.fifo, 1 duplicate deleted\n"),
        ("another one", "2 sent from orders-dead.fifo to orders.fifo\n"),
    ] {
        let (aws, id) = behind_their_twins(1, body);
        edit(&aws, "sed -i s/one/two/", &id).printed(0, sum);
        assert_eq!(aws.counts(DEAD), (0, 0));
    }
}

#[test]
fn a_twin_is_not_deleted_with_the_one_that_is_named() {
    let (aws, id) = behind_their_twins(1, "one");
    aws.redrive_with("dlq delete --queue orders.fifo --yes --ids -", &id)
        .printed(0, "1 deleted from orders-dead.fifo, 1 not selected\n");
    let lines = aws.redrive("dlq list --queue orders.fifo --json").json_lines();
    assert_eq!((lines.len(), &lines[0]["message_id"]), (1, &Value::from(id.trim())));
    assert_ne!(lines[0]["id"], id.trim());
}

#[test]
fn the_duplicate_of_a_letter_that_may_have_been_sent_stays() {
    let aws = Aws::with_orders(false);
    let id = aws.letter("one");
    aws.letter_with("one", [("redrive.dead-letter", note(&id, "rejected"))]);
    // Whoever looks at it puts it behind the other.
    let look = aws.sqs.receive_message().queue_url(aws.queue_url("orders-dead")).visibility_timeout(0);
    assert_eq!(aws.wait(look.send()).unwrap().messages()[0].message_id(), Some(id.as_str()));
    let proxy = Proxy::start(&aws.url, at_first(1, "SendMessageBatch", Fate::AnswerLost));
    proxy
        .redrive_with("dlq retry --queue orders --yes --ids -", &id)
        .printed(1, "0 sent from orders-dead to orders, 1 failed, 1 not selected\n")
        .stderr_has("it may have been sent anyway");
    assert_eq!((aws.counts("orders"), aws.counts("orders-dead")), ((1, 0), (2, 0)));
}
