//! The order in which the visible messages of a queue are received.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

/// The time since which a message is visible, and its number. The message that has waited longest is next.
type ReceivePosition = (SystemTime, u64);

/// The visible messages in order. The cost of a change is logarithmic in the depth.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum ReceiveOrder {
    Standard(BTreeSet<ReceivePosition>),
    Fifo(Groups),
}

impl ReceiveOrder {
    pub(super) fn standard() -> Self {
        Self::Standard(BTreeSet::new())
    }

    pub(super) fn fifo() -> Self {
        Self::Fifo(Groups::default())
    }

    /// Adds a message that has become visible.
    pub(super) fn show(&mut self, number: u64, group: &str, since: SystemTime) {
        match self {
            Self::Standard(positions) => {
                positions.insert((since, number));
            }
            Self::Fifo(groups) => groups.change(group, |group| {
                group.hidden.remove(&number);
                group.visible.insert(number, since);
            }),
        }
    }

    /// Hides a message, which keeps its place in its group. `since` is set if it was visible.
    pub(super) fn hide(&mut self, number: u64, group: &str, since: Option<SystemTime>) {
        match self {
            Self::Standard(positions) => {
                since.map(|since| positions.remove(&(since, number)));
            }
            Self::Fifo(groups) => groups.change(group, |group| {
                group.visible.remove(&number);
                group.hidden.insert(number);
            }),
        }
    }

    /// Removes a message. `since` is set if it was visible.
    pub(super) fn remove(&mut self, number: u64, group: &str, since: Option<SystemTime>) {
        match self {
            Self::Standard(positions) => {
                since.map(|since| positions.remove(&(since, number)));
            }
            Self::Fifo(groups) => groups.change(group, |group| {
                group.visible.remove(&number);
                group.hidden.remove(&number);
            }),
        }
    }

    /// Returns the next messages to receive: up to `max`, and on a FIFO queue all of one group.
    pub(super) fn next(&self, max: usize) -> Vec<u64> {
        match self {
            Self::Standard(positions) => positions.iter().map(|&(_, number)| number).take(max).collect(),
            Self::Fifo(groups) => groups.next(max),
        }
    }

    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        match self {
            Self::Standard(positions) => positions.len(),
            Self::Fifo(groups) => groups.groups.len() + groups.ready.len(),
        }
    }
}

/// The message groups of a FIFO queue that have messages.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Groups {
    groups: HashMap<String, Group>,
    /// The groups whose first message is visible, by the position of that message.
    ready: BTreeMap<ReceivePosition, String>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Group {
    /// Message numbers, in the order of sending, with the time since when each is visible.
    visible: BTreeMap<u64, SystemTime>,
    /// Numbers of messages in flight or delayed.
    hidden: BTreeSet<u64>,
}

impl Group {
    /// Returns the messages that can be received: all before the first hidden message.
    fn receivable(&self) -> impl Iterator<Item = (u64, SystemTime)> {
        let end = self.hidden.first().copied().unwrap_or(u64::MAX);
        self.visible.range(..end).map(|(&number, &since)| (number, since))
    }

    fn position(&self) -> Option<ReceivePosition> {
        self.receivable().next().map(|(number, since)| (since, number))
    }
}

impl Groups {
    /// Changes a group and updates `ready`.
    fn change(&mut self, name: &str, change: impl FnOnce(&mut Group)) {
        if !self.groups.contains_key(name) {
            self.groups.insert(name.to_owned(), Group::default());
        }
        let Some(group) = self.groups.get_mut(name) else { return };
        let before = group.position();
        change(group);
        let after = group.position();
        let is_empty = group.visible.is_empty() && group.hidden.is_empty();
        if before != after {
            if let Some(position) = before {
                self.ready.remove(&position);
            }
            if let Some(position) = after {
                self.ready.insert(position, name.to_owned());
            }
        }
        if is_empty {
            self.groups.remove(name);
        }
    }

    fn next(&self, max: usize) -> Vec<u64> {
        let group = self.ready.values().next().and_then(|name| self.groups.get(name));
        group
            .map(|group| group.receivable().map(|(number, _)| number).take(max).collect())
            .unwrap_or_default()
    }
}
