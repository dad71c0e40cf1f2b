//! What holds under any sequence of operations.

use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::{collection, prop_assert, prop_assert_eq, proptest};

use super::testing::{at, fifo, grouped, queue, seconds};
use super::{Queue, Received};

#[derive(Debug, Clone)]
enum Step {
    Send {
        group: u8,
        delay: u64,
    },
    Receive {
        max: usize,
        timeout: Option<u64>,
    },
    /// Of the messages received so far, the one with this index modulo their number.
    Change {
        which: usize,
        timeout: u64,
    },
    Delete {
        which: usize,
    },
    Wait {
        seconds: u64,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let timeout = prop_oneof![Just(None), (0..60u64).prop_map(Some)];
    prop_oneof![
        3 => (0..4u8, 0..20u64).prop_map(|(group, delay)| Step::Send { group, delay }),
        4 => (1..=10usize, timeout).prop_map(|(max, timeout)| Step::Receive { max, timeout }),
        2 => (any::<usize>(), 0..60u64).prop_map(|(which, timeout)| Step::Change { which, timeout }),
        2 => any::<usize>().prop_map(|which| Step::Delete { which }),
        2 => (0..40u64).prop_map(|seconds| Step::Wait { seconds }),
    ]
}

/// What a test knows about the messages that were sent and not deleted.
struct World {
    queue: Queue,
    now: u64,
    sent: u64,
    /// Group, number within all sends, and when it becomes visible.
    alive: BTreeMap<String, (u8, u64, u64)>,
    received: Vec<Received>,
}

impl World {
    fn new(queue: Queue) -> Self {
        Self { queue, now: 0, sent: 0, alive: BTreeMap::new(), received: Vec::new() }
    }

    /// Takes a step and gives what it received.
    fn take(&mut self, step: &Step) -> Vec<Received> {
        let now = at(self.now);
        match *step {
            Step::Send { group, delay } => {
                let delay = if self.queue.settings().fifo { 0 } else { delay };
                let mut message = grouped(&group.to_string(), &self.sent.to_string());
                message.delay = Some(seconds(delay));
                let id = self.queue.send(message, "", now).unwrap().sent.message_id;
                self.alive.insert(id, (group, self.sent, self.now + delay));
                self.sent += 1;
            }
            Step::Receive { max, timeout } => {
                let hidden_for = timeout.unwrap_or(30);
                let timeout = timeout.map(Duration::from_secs);
                let received = self.queue.receive(max, timeout, None, now).unwrap().received;
                for message in &received {
                    self.alive.get_mut(&message.message_id).unwrap().2 = self.now + hidden_for;
                }
                self.received.extend(received.clone());
                return received;
            }
            Step::Change { which, timeout } => {
                let Some(message) = self.pick(which) else { return vec![] };
                let changed = self.queue.change_visibility(&message.receipt_handle, seconds(timeout), now);
                if let Ok(id) = changed {
                    self.alive.get_mut(&id).unwrap().2 = self.now + timeout;
                }
            }
            Step::Delete { which } => {
                let Some(message) = self.pick(which) else { return vec![] };
                if let Ok(Some(id)) = self.queue.delete(&message.receipt_handle, now) {
                    self.alive.remove(&id).unwrap();
                }
            }
            Step::Wait { seconds } => self.now += seconds,
        }
        vec![]
    }

    fn pick(&self, which: usize) -> Option<Received> {
        self.received.get(which.checked_rem(self.received.len())?).cloned()
    }
}

proptest! {
    #[test]
    fn no_message_vanishes_or_is_there_twice(steps in collection::vec(step(), 1..80), is_fifo: bool) {
        let mut world = World::new(if is_fifo { fifo(&[]) } else { queue(&[]) });
        for step in &steps {
            let hidden_before: Vec<_> =
                world.alive.iter().filter(|(_, it)| it.2 > world.now).map(|(id, _)| id.clone()).collect();
            for message in world.take(step) {
                prop_assert!(!hidden_before.contains(&message.message_id), "a hidden message was received");
            }
            let counts = world.queue.counts(at(world.now));
            let hidden = world.alive.values().filter(|it| it.2 > world.now).count();
            prop_assert_eq!(counts.in_flight + counts.delayed, hidden);
            prop_assert_eq!(counts.visible, world.alive.len() - hidden);
        }
        world.now += 10_000;
        let mut left = Vec::new();
        while let Some(message) = world.take(&Step::Receive { max: 1, timeout: Some(9_999) }).pop() {
            world.queue.delete(&message.receipt_handle, at(world.now)).unwrap();
            left.push(message.message_id);
        }
        left.sort();
        let alive: Vec<_> = world.alive.into_keys().collect();
        prop_assert_eq!(left, alive);
    }

    #[test]
    fn a_fifo_group_is_in_order_and_locked_while_in_flight(steps in collection::vec(step(), 1..80)) {
        let mut world = World::new(fifo(&[]));
        for step in &steps {
            let before = world.alive.clone();
            let mut last = BTreeMap::new();
            for message in world.take(step) {
                let (group, number, _) = before[&message.message_id];
                prop_assert!(last.insert(group, number).is_none_or(|last| last < number), "in order");
                let earlier_hidden =
                    before.values().any(|it| it.0 == group && it.1 < number && it.2 > world.now);
                prop_assert!(!earlier_hidden, "an earlier message of the group was in flight");
                let first_visible = before
                    .iter()
                    .filter(|(_, it)| it.0 == group && it.1 < number)
                    .all(|(id, _)| world.received.iter().any(|it| it.message_id == *id));
                prop_assert!(first_visible, "an earlier message of the group was passed over");
            }
        }
    }
}
