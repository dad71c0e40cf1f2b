//! Messages that clients hold: received by them, and neither deleted nor visible again. Pure.

use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, SystemTime};

use crate::sqs::QueueEvent;

/// However long it hides a message, a client that says nothing of it for so long is taken to be gone. A worker is not: it
/// says nothing for a third of the visibility timeout, and its end is known.
const LONGEST: Duration = Duration::from_secs(600);

/// A queue and a message id: what SQS moves to another queue keeps its id.
type Key = (String, String);

#[derive(Debug, Default)]
pub(crate) struct ClientHolds {
    until: HashMap<Key, SystemTime>,
    ends: BTreeSet<(SystemTime, Key)>,
}

impl ClientHolds {
    /// Takes in what a client, or time, did to a message. What mappings receive is none of it.
    pub(crate) fn note<'a>(
        &mut self,
        event: &QueueEvent,
        mut worked: impl Iterator<Item = &'a String>,
        now: SystemTime,
    ) {
        let mut longest = |queue: &str| if worked.any(|it| it == queue) { Duration::MAX } else { LONGEST };
        let key = |queue: &str, message_id: &str| (queue.to_owned(), message_id.to_owned());
        match event {
            QueueEvent::Received { queue, message_id, timeout, .. } => {
                self.hold(key(queue, message_id), longest(queue).min(*timeout), now);
            }
            QueueEvent::VisibilityChanged { queue, message_id, timeout } => {
                let key = key(queue, message_id);
                if self.until.contains_key(&key) {
                    self.hold(key, longest(queue).min(*timeout), now);
                }
            }
            QueueEvent::Deleted { queue, message_id }
            | QueueEvent::Expired { queue, message_id }
            | QueueEvent::Moved { queue, message_id, .. } => self.end(queue, message_id),
            QueueEvent::Sent { .. } => (),
        }
    }

    /// A mapping has received a message, so that no client holds it any more.
    pub(crate) fn end(&mut self, queue: &str, message_id: &str) {
        self.remove(&(queue.to_owned(), message_id.to_owned()));
    }

    /// Keeps those of the queues that have messages in flight.
    pub(crate) fn retain(&mut self, has_some: impl Fn(&str) -> bool) {
        self.ends.retain(|(_, (queue, _))| has_some(queue));
        self.until.retain(|(queue, _), _| has_some(queue));
    }

    /// When the last of them is visible again; none if none is held now.
    pub(crate) fn last(&mut self, now: SystemTime) -> Option<SystemTime> {
        while let Some((until, key)) = self.ends.pop_first() {
            if until > now {
                self.ends.insert((until, key));
                break;
            }
            self.until.remove(&key);
        }
        self.ends.last().map(|(until, _)| *until)
    }

    fn hold(&mut self, key: Key, timeout: Duration, now: SystemTime) {
        self.remove(&key);
        if !timeout.is_zero() {
            let until = now + timeout;
            self.ends.insert((until, key.clone()));
            self.until.insert(key, until);
        }
    }

    fn remove(&mut self, key: &Key) {
        if let Some(until) = self.until.remove(key) {
            self.ends.remove(&(until, key.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;

    fn no_worker() -> std::iter::Empty<&'static String> {
        std::iter::empty()
    }

    fn at(seconds: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(seconds)
    }

    fn received(message_id: &str, seconds: u64) -> QueueEvent {
        QueueEvent::Received {
            queue: "dead".into(),
            message_id: message_id.into(),
            receive_count: 1,
            timeout: Duration::from_secs(seconds),
        }
    }

    fn changed(message_id: &str, seconds: u64) -> QueueEvent {
        let timeout = Duration::from_secs(seconds);
        QueueEvent::VisibilityChanged { queue: "dead".into(), message_id: message_id.into(), timeout }
    }

    fn deleted(message_id: &str) -> QueueEvent {
        QueueEvent::Deleted { queue: "dead".into(), message_id: message_id.into() }
    }

    #[test]
    fn a_message_is_held_until_it_is_deleted_made_visible_or_its_timeout_ends() {
        for (events, last) in [
            (vec![received("a", 30)], Some(130)),
            (vec![received("a", 0)], None),
            (vec![received("a", 30), received("b", 60)], Some(160)),
            (vec![received("a", 30), received("b", 60), deleted("b")], Some(130)),
            (vec![received("a", 30), changed("a", 60)], Some(160)),
            (vec![received("a", 30), changed("a", 0)], None),
            (vec![received("a", 30), deleted("a")], None),
            (vec![changed("a", 60)], None),
            (vec![received("a", 43_200)], Some(700)),
        ] {
            let mut holds = ClientHolds::default();
            events.iter().for_each(|event| holds.note(event, no_worker(), at(100)));
            assert_eq!(holds.last(at(100)), last.map(at), "{events:?}");
            assert_eq!(holds.last(at(700)), None, "{events:?}");
            assert!(holds.until.is_empty() && holds.ends.is_empty());
        }
    }

    #[test]
    fn what_a_mapping_takes_over_or_a_purge_deletes_is_held_no_longer() {
        let mut holds = ClientHolds::default();
        holds.note(&received("a", 30), no_worker(), at(0));
        holds.end("dead", "a");
        holds.note(&changed("a", 60), no_worker(), at(0));
        assert_eq!(holds.last(at(0)), None);
        holds.note(&received("a", 30), no_worker(), at(0));
        holds.retain(|queue| queue != "dead");
        assert_eq!(holds.last(at(0)), None);
    }

    #[test]
    fn a_worker_holds_a_message_for_as_long_as_it_hides_it() {
        let mut holds = ClientHolds::default();
        let worked = ["dead".to_owned()];
        holds.note(&received("a", 43_200), worked.iter(), at(100));
        assert_eq!(holds.last(at(100)), Some(at(43_300)));
    }
}
