//! What workers have received and not yet settled, read from what they ask of SQS. Pure.
//!
//! A worker says nothing about its handlers. A message whose visibility timeout is set again to what it was received with is
//! still worked on; set to anything else, it is given back; deleted, it is done.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use super::EventKind;
use crate::sqs::QueueEvent;

#[derive(Debug, Default)]
pub(crate) struct WorkerHolds {
    /// The queues that workers poll.
    queues: BTreeMap<String, Polled>,
    /// Whether the workers are ending, so that no poll should keep them.
    pub(super) is_draining: bool,
    /// By queue and message id.
    held: BTreeMap<(String, String), Held>,
}

#[derive(Debug, Default)]
struct Polled {
    workers: usize,
    /// Whether anybody has asked it for messages since a worker was last started.
    is_polled: bool,
}

#[derive(Debug)]
struct Held {
    attempt: u32,
    /// The visibility timeout that it was received with.
    timeout: Duration,
    until: SystemTime,
}

/// What something that happened to a message means.
#[derive(Debug, PartialEq)]
pub(crate) enum Meaning {
    /// What it means for any client.
    Plain,
    /// The worker goes on with it.
    Extended,
    /// It is received again without a word of who had it before, which is to be told first.
    Lapsed(EventKind),
    /// The worker is done with it for now, as is to be told.
    GivenBack { queue: String, message_id: String, told: Vec<EventKind> },
}

impl WorkerHolds {
    /// One more worker polls a queue.
    pub(crate) fn add(&mut self, queue: &str) {
        self.queues.entry(queue.to_owned()).or_default().workers += 1;
    }

    /// One worker fewer polls a queue.
    pub(crate) fn remove(&mut self, queue: &str) {
        if let Some(polled) = self.queues.get_mut(queue) {
            polled.workers -= 1;
            if polled.workers == 0 {
                self.queues.remove(queue);
            }
        }
    }

    /// The queues that workers poll.
    pub(crate) fn queues(&self) -> impl Iterator<Item = &String> {
        self.queues.keys()
    }

    /// Somebody asks a queue for messages. Returns whether a worker polls it.
    pub(crate) fn poll(&mut self, queue: &str) -> bool {
        self.queues.get_mut(queue).map(|polled| polled.is_polled = true).is_some()
    }

    /// Whether anybody has asked a queue for messages since a worker was last started.
    pub(crate) fn is_polled(&self, queue: &str) -> bool {
        self.queues.get(queue).is_some_and(|polled| polled.is_polled)
    }

    /// A process of a worker starts.
    pub(crate) fn start(&mut self, queue: &str) {
        if let Some(polled) = self.queues.get_mut(queue) {
            polled.is_polled = false;
        }
    }

    /// A process of a worker has ended. Returns whether it has polled its queue, and what to tell of the messages that it
    /// had, unless another worker may have them.
    pub(crate) fn end(&mut self, queue: &str, now: SystemTime) -> (bool, Vec<EventKind>) {
        let Some(Polled { workers, is_polled }) = self.queues.get(queue) else { return (false, Vec::new()) };
        if *workers > 1 {
            return (*is_polled, Vec::new());
        }
        let mut told = Vec::new();
        for ((queue, message_id), held) in self.held.extract_if(.., |(of, _), _| of == queue) {
            let left = held.until.duration_since(now).unwrap_or_default();
            told.extend(given_back(queue, message_id, held.attempt, left));
        }
        (*is_polled, told)
    }

    /// Takes in what happened to a message.
    pub(crate) fn note(&mut self, event: &QueueEvent, now: SystemTime) -> Meaning {
        match event {
            QueueEvent::Received { queue, message_id, receive_count, timeout } => {
                if !self.poll(queue) {
                    return Meaning::Plain;
                }
                let held = Held { attempt: *receive_count, timeout: *timeout, until: now + *timeout };
                let before = self.held.insert((queue.clone(), message_id.clone()), held);
                before.map_or(Meaning::Plain, |before| {
                    let (queue, message_id) = (queue.clone(), message_id.clone());
                    Meaning::Lapsed(EventKind::Failed { queue, message_id, attempt: before.attempt })
                })
            }
            QueueEvent::VisibilityChanged { queue, message_id, timeout } => {
                let key = (queue.clone(), message_id.clone());
                match self.held.get_mut(&key) {
                    Some(held) if held.timeout == *timeout => {
                        held.until = now + *timeout;
                        Meaning::Extended
                    }
                    Some(Held { attempt, .. }) => {
                        let told = given_back(queue.clone(), message_id.clone(), *attempt, *timeout);
                        self.held.remove(&key);
                        Meaning::GivenBack { queue: key.0, message_id: key.1, told }
                    }
                    None => Meaning::Plain,
                }
            }
            QueueEvent::Deleted { queue, message_id }
            | QueueEvent::Expired { queue, message_id }
            | QueueEvent::Moved { queue, message_id, .. } => {
                self.held.remove(&(queue.clone(), message_id.clone()));
                Meaning::Plain
            }
            QueueEvent::Sent { .. } => Meaning::Plain,
        }
    }

    /// Keeps what is held of the queues that have messages in flight.
    pub(crate) fn retain(&mut self, has_some: impl Fn(&str) -> bool) {
        self.held.retain(|(queue, _), _| has_some(queue));
    }
}

/// A message that is visible at once may have been handed back without having been begun.
fn given_back(queue: String, message_id: String, attempt: u32, hidden: Duration) -> Vec<EventKind> {
    if hidden.is_zero() {
        return vec![EventKind::Released { queue, message_id, attempt }];
    }
    let failed = EventKind::Failed { queue: queue.clone(), message_id: message_id.clone(), attempt };
    let seconds = hidden.as_secs_f64().ceil() as u64;
    vec![failed, EventKind::BackIn { queue, message_id, seconds }]
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;

    const QUEUE: &str = "orders";

    fn at(seconds: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(seconds)
    }

    fn holds() -> WorkerHolds {
        let mut holds = WorkerHolds::default();
        holds.add(QUEUE);
        holds
    }

    fn received(queue: &str, receive_count: u32) -> QueueEvent {
        let timeout = Duration::from_secs(30);
        QueueEvent::Received { queue: queue.into(), message_id: "m".into(), receive_count, timeout }
    }

    fn changed(seconds: u64) -> QueueEvent {
        let timeout = Duration::from_secs(seconds);
        QueueEvent::VisibilityChanged { queue: QUEUE.into(), message_id: "m".into(), timeout }
    }

    fn failed(attempt: u32) -> EventKind {
        EventKind::Failed { queue: QUEUE.into(), message_id: "m".into(), attempt }
    }

    fn back_in(seconds: u64) -> EventKind {
        EventKind::BackIn { queue: QUEUE.into(), message_id: "m".into(), seconds }
    }

    fn given_back(told: Vec<EventKind>) -> Meaning {
        Meaning::GivenBack { queue: QUEUE.into(), message_id: "m".into(), told }
    }

    #[test]
    fn the_same_visibility_timeout_again_extends_and_another_one_gives_back() {
        let mut holds = holds();
        assert_eq!(holds.note(&received(QUEUE, 1), at(0)), Meaning::Plain);
        assert_eq!(holds.note(&changed(30), at(10)), Meaning::Extended);
        assert_eq!(holds.note(&changed(2), at(11)), given_back(vec![failed(1), back_in(2)]));
        assert_eq!(holds.note(&changed(30), at(12)), Meaning::Plain);
        holds.note(&received(QUEUE, 2), at(13));
        let released = EventKind::Released { queue: QUEUE.into(), message_id: "m".into(), attempt: 2 };
        assert_eq!(holds.note(&changed(0), at(14)), given_back(vec![released]));
    }

    #[test]
    fn what_a_process_had_when_it_ended_has_failed() {
        let mut holds = holds();
        holds.note(&received(QUEUE, 3), at(0));
        holds.note(&changed(30), at(10));
        assert_eq!(holds.end(QUEUE, at(12)), (true, vec![failed(3), back_in(28)]));
        assert_eq!(holds.end(QUEUE, at(13)), (true, vec![]));
    }

    #[test]
    fn with_a_second_worker_only_the_next_receive_tells_of_a_failure() {
        let mut holds = holds();
        holds.add(QUEUE);
        holds.note(&received(QUEUE, 1), at(0));
        assert_eq!(holds.end(QUEUE, at(1)), (true, vec![]));
        assert_eq!(holds.note(&received(QUEUE, 2), at(31)), Meaning::Lapsed(failed(1)));
    }

    #[test]
    fn what_is_deleted_or_purged_is_held_no_longer() {
        let mut holds = holds();
        holds.note(&received(QUEUE, 1), at(0));
        let deleted = QueueEvent::Deleted { queue: QUEUE.into(), message_id: "m".into() };
        assert_eq!(holds.note(&deleted, at(1)), Meaning::Plain);
        assert_eq!(holds.note(&changed(2), at(1)), Meaning::Plain);
        holds.note(&received(QUEUE, 1), at(2));
        holds.retain(|_| false);
        assert_eq!(holds.end(QUEUE, at(3)), (true, vec![]));
    }

    #[test]
    fn a_process_that_never_polled_is_told_from_one_that_did() {
        let mut holds = holds();
        for polls in [false, true, false] {
            holds.start(QUEUE);
            assert!(!polls || holds.poll(QUEUE));
            assert_eq!(holds.end(QUEUE, at(0)), (polls, vec![]));
        }
    }

    #[test]
    fn other_queues_are_left_to_their_clients() {
        let mut holds = holds();
        assert_eq!(holds.note(&received("other", 1), at(0)), Meaning::Plain);
        assert!(!holds.poll("other") && holds.held.is_empty());
        holds.remove(QUEUE);
        assert!(!holds.poll(QUEUE) && holds.queues().next().is_none());
    }
}
