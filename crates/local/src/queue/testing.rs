//! Helpers for the tests of queues.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::{NewMessage, Queue, Received, Settings};

/// Returns the time this many seconds after the start of the test.
pub(crate) fn at(seconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_700_000_000 + seconds)
}

pub(super) fn queue(attributes: &[(&str, &str)]) -> Queue {
    Queue::new("orders", Settings::new("orders", &map(attributes)).unwrap())
}

/// Creates a FIFO queue with content-based deduplication.
pub(super) fn fifo(attributes: &[(&str, &str)]) -> Queue {
    let mut map = map(attributes);
    map.insert("FifoQueue".to_owned(), "true".to_owned());
    map.insert("ContentBasedDeduplication".to_owned(), "true".to_owned());
    Queue::new("orders.fifo", Settings::new("orders.fifo", &map).unwrap())
}

/// Returns attributes by their names in SQS.
pub(crate) fn map(attributes: &[(&str, &str)]) -> BTreeMap<String, String> {
    attributes.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
}

pub(crate) fn text(body: &str) -> NewMessage {
    NewMessage { body: body.to_owned(), ..NewMessage::default() }
}

/// Returns an id that no other message has.
pub(super) fn id() -> String {
    uuid::Uuid::new_v4().to_string()
}

pub(super) fn grouped(group: &str, body: &str) -> NewMessage {
    NewMessage { group_id: Some(group.to_owned()), ..text(body) }
}

/// Receives up to ten messages for the queue's own visibility timeout.
pub(super) fn receive(queue: &mut Queue, now: SystemTime) -> Vec<Received> {
    queue.receive(10, None, None, now).unwrap().received
}

pub(super) fn bodies(received: &[Received]) -> Vec<&str> {
    received.iter().map(|message| message.body.as_str()).collect()
}
