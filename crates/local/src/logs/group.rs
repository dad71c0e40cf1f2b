//! One log group: its streams and their latest events.

use std::collections::VecDeque;
use std::sync::Arc;

/// Most bytes of a group. Older events are dropped.
const MOST_BYTES: usize = 16 << 20;

/// Bytes that count for each event besides its message.
/// <https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_PutLogEvents.html>
const OVERHEAD: usize = 26;

/// Most streams of a group, as many as a function can have processes at once.
const MOST_STREAMS: usize = 1_000;

#[derive(Debug)]
pub(super) struct Group {
    pub(super) created: i64,
    /// Streams, the newest last.
    pub(super) streams: VecDeque<Stream>,
    /// Events in the order in which they were written.
    events: VecDeque<Event>,
    bytes: usize,
    /// Number of the first event that is kept.
    dropped: u64,
}

#[derive(Debug)]
pub(super) struct Stream {
    pub(super) name: Arc<str>,
    pub(super) first: i64,
    pub(super) last: i64,
}

#[derive(Debug)]
pub(super) struct Event {
    pub(super) stream: Arc<str>,
    /// Time in milliseconds since 1970.
    pub(super) at: i64,
    pub(super) message: String,
}

impl Group {
    pub(super) fn new(created: i64) -> Self {
        Self { created, streams: VecDeque::new(), events: VecDeque::new(), bytes: 0, dropped: 0 }
    }

    pub(super) fn write(&mut self, stream: &str, message: String, at: i64) {
        let stream = self.stream(stream, at);
        self.bytes += message.len() + OVERHEAD;
        self.events.push_back(Event { stream, at, message });
        while self.bytes > MOST_BYTES
            && let Some(event) = self.events.pop_front()
        {
            self.bytes -= event.message.len() + OVERHEAD;
            self.dropped += 1;
        }
    }

    fn stream(&mut self, name: &str, at: i64) -> Arc<str> {
        // The search starts with the newest streams, because they write most.
        if let Some(stream) = self.streams.iter_mut().rev().find(|stream| &*stream.name == name) {
            stream.last = at;
            return Arc::clone(&stream.name);
        }
        if self.streams.len() == MOST_STREAMS {
            self.streams.pop_front();
        }
        let name: Arc<str> = name.into();
        self.streams.push_back(Stream { name: Arc::clone(&name), first: at, last: at });
        name
    }

    /// Returns the events from a number on, each with its number, which never changes.
    pub(super) fn from(&self, number: u64) -> impl Iterator<Item = (u64, &Event)> {
        let skipped = number.saturating_sub(self.dropped) as usize;
        let numbers = self.dropped + skipped.min(self.events.len()) as u64..;
        numbers.zip(self.events.iter().skip(skipped))
    }

    pub(super) fn end(&self) -> u64 {
        self.dropped + self.events.len() as u64
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(group: &Group, from: u64) -> Vec<(u64, &str)> {
        group.from(from).map(|(number, event)| (number, event.message.as_str())).collect()
    }

    #[test]
    fn events_keep_their_numbers_and_streams_their_times() {
        let mut group = Group::new(0);
        for (stream, message, at) in [("a", "1", 10), ("b", "2", 20), ("a", "3", 30)] {
            group.write(stream, message.to_owned(), at);
        }
        assert_eq!(messages(&group, 1), [(1, "2"), (2, "3")]);
        assert_eq!(messages(&group, 9), []);
        let streams: Vec<_> = group.streams.iter().map(|each| (&*each.name, each.first, each.last)).collect();
        assert_eq!(streams, [("a", 10, 30), ("b", 20, 20)]);
    }

    #[test]
    fn above_16_mib_the_oldest_events_are_dropped() {
        let mut group = Group::new(0);
        let line = "x".repeat((1 << 20) - OVERHEAD);
        for _ in 0..20 {
            group.write("a", line.clone(), 0);
        }
        assert_eq!((group.bytes(), group.end()), (16 << 20, 20));
        assert_eq!(group.from(0).map(|(number, _)| number).collect::<Vec<_>>(), (4..20).collect::<Vec<_>>());
        assert_eq!(group.from(19).count(), 1);
    }
}
