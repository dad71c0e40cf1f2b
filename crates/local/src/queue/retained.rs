//! Tests that a queue's memory depends on its present messages, not on those that passed through it.

use super::testing::{at, fifo, grouped, id, queue, text};
use super::{NewMessage, Queue};

/// Returns the number of entries in all indexes of a queue.
fn retained(queue: &Queue) -> usize {
    queue.messages.len()
        + queue.delayed.len()
        + queue.in_flight.len()
        + queue.by_age.len()
        + queue.expired.len()
        + queue.receive_order.held()
        + queue.deduplication.held()
        + queue.attempts.held()
}

/// Sends, receives and deletes ten messages.
fn pass_ten(queue: &mut Queue, round: u64, message: impl Fn(u64) -> NewMessage) {
    let now = at(round);
    for number in 10 * round..10 * round + 10 {
        queue.send(message(number), id(), "sender", now).unwrap();
    }
    let received = match queue.settings.fifo {
        true => queue.receive_attempt(&round.to_string(), 10, None, None, now),
        false => queue.receive(10, None, None, now),
    };
    for message in received.unwrap().received {
        assert!(queue.delete(&message.receipt_handle, now).unwrap().is_some());
    }
}

#[test]
fn a_standard_queue_keeps_nothing_of_what_has_passed() {
    let mut queue = queue(&[]);
    for round in 0..20_000 {
        pass_ten(&mut queue, round, |_| text("body"));
        assert_eq!(retained(&queue), 0, "after {} messages", 10 * (round + 1));
    }
}

#[test]
fn a_fifo_queue_keeps_five_minutes_of_ids_and_nothing_of_its_groups() {
    let mut queue = fifo(&[]);
    let mut most = 0;
    for round in 0..10_000 {
        pass_ten(&mut queue, round, |number| grouped(&number.to_string(), &number.to_string()));
        most = most.max(retained(&queue));
    }
    // Ten messages a second for 300 s, and one attempt. Each id is in a map and in a list.
    assert_eq!(most, 2 * 300 * (10 + 1));
    queue.receive(1, None, None, at(10_300)).unwrap();
    assert_eq!(retained(&queue), 0);
}

#[test]
fn messages_that_expire_or_move_away_leave_nothing_behind() {
    let mut queue = queue(&[("MessageRetentionPeriod", "60")]);
    for round in 0..1_000 {
        queue.send(text("expires"), id(), "", at(100 * round)).unwrap();
        queue.send(text("moves"), id(), "", at(100 * round)).unwrap();
        queue.receive(1, None, Some(0), at(100 * round)).unwrap();
        queue.take_expired();
    }
    queue.receive(1, None, None, at(1_000_000)).unwrap();
    queue.take_expired();
    assert_eq!(retained(&queue), 0);
}
