//! Copies of messages as they were sent, to show them later.

use std::collections::{HashMap, VecDeque};

use crate::queue::NewMessage;

/// A message as it was sent, with its queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentMessage {
    /// The queue's name.
    pub queue: String,
    /// The message that was sent.
    pub message: NewMessage,
}

/// The latest messages, including those that are gone, up to a number of bytes. By default it keeps none.
#[derive(Debug, Clone, Default)]
pub(crate) struct Archive {
    most_bytes: usize,
    bytes: usize,
    /// Ids in the order of sending.
    order: VecDeque<String>,
    messages: HashMap<String, SentMessage>,
}

impl Archive {
    /// Starts to keep messages, up to this many bytes.
    pub(crate) fn open(&mut self, most_bytes: usize) {
        self.most_bytes = most_bytes;
        self.shrink();
    }

    pub(crate) fn get(&self, message_id: &str) -> Option<&SentMessage> {
        self.messages.get(message_id)
    }

    /// Returns the latest message that `is_it` accepts.
    pub(crate) fn find(&self, is_it: impl Fn(&str, &SentMessage) -> bool) -> Option<&SentMessage> {
        let ids = self.order.iter().rev();
        let mut messages = ids.filter_map(|id| Some((id, self.messages.get(id)?)));
        messages.find(|(id, sent)| is_it(id, sent)).map(|(_, sent)| sent)
    }

    /// Returns a copy to keep, if the archive is open.
    pub(super) fn copy(&self, message: &NewMessage) -> Option<NewMessage> {
        (self.most_bytes > 0).then(|| message.clone())
    }

    pub(super) fn keep(&mut self, message_id: &str, queue: &str, message: Option<NewMessage>) {
        let Some(message) = message else { return };
        self.bytes += size(message_id, &message);
        self.order.push_back(message_id.to_owned());
        self.messages.insert(message_id.to_owned(), SentMessage { queue: queue.to_owned(), message });
        self.shrink();
    }

    fn shrink(&mut self) {
        while self.bytes > self.most_bytes
            && let Some(oldest) = self.order.pop_front()
        {
            let gone = self.messages.remove(&oldest);
            self.bytes -= gone.map_or(0, |gone| size(&oldest, &gone.message));
        }
    }
}

/// Estimates the bytes of a message with its entries in the archive.
fn size(message_id: &str, message: &NewMessage) -> usize {
    let attributes = message.attributes.iter();
    let attributes: usize = attributes.map(|(name, value)| 64 + name.len() + value.value.bytes().len()).sum();
    256 + 2 * message_id.len() + message.body.len() + attributes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keep(archive: &mut Archive, id: &str, length: usize) {
        let message = NewMessage { body: "b".repeat(length), ..NewMessage::default() };
        let copy = archive.copy(&message);
        archive.keep(id, "orders", copy);
    }

    #[test]
    fn nothing_is_kept_unless_asked_for() {
        let mut archive = Archive::default();
        keep(&mut archive, "a", 10);
        assert!(archive.get("a").is_none() && archive.bytes == 0);
    }

    #[test]
    fn the_latest_messages_are_kept_up_to_the_limit() {
        let mut archive = Archive::default();
        archive.open(10_000);
        for id in ["a", "b", "c", "d"] {
            keep(&mut archive, id, 3_000);
        }
        let kept: Vec<bool> = ["a", "b", "c", "d"].iter().map(|id| archive.get(id).is_some()).collect();
        assert_eq!(kept, [false, true, true, true]);
        keep(&mut archive, "e", 20_000);
        assert!(archive.get("d").is_none() && archive.get("e").is_none() && archive.bytes == 0);
    }
}
