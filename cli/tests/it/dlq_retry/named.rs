//! Letters of a FIFO queue that are asked for by the ids of their messages.

use std::io::Write as _;

use super::letters::{arrived, drain, write_in_group as write};
use crate::support::{Aws, Ran, command_at};

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
    let line = format!("dlq retry --queue orders.fifo --edit --ids {}", file.path().display());
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
fn a_group_that_is_longer_than_a_receive_is_deleted_in_one_run() {
    let (aws, ids) = with_group(12);
    aws.redrive_with("dlq delete --queue orders.fifo --yes --ids -", &ids)
        .printed(0, "12 deleted from orders-dead.fifo\n");
    assert_eq!(aws.counts(DEAD), (0, 0));
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
