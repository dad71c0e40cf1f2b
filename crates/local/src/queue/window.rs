//! The five-minute memory of a FIFO queue: messages that it was sent, and receives that it answered.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/FIFO-queues-exactly-once-processing.html>
const LENGTH: Duration = Duration::from_secs(300);

/// A map whose entries expire five minutes after they were added.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(bound(deserialize = "K: Hash + Eq + Deserialize<'de>, V: Deserialize<'de>"))]
pub(super) struct Window<K, V> {
    values: HashMap<K, (SystemTime, V)>,
    /// Ends of entries, which are added in the order of time. A replaced entry is here twice.
    ends: VecDeque<(SystemTime, K)>,
}

impl<K, V> Default for Window<K, V> {
    fn default() -> Self {
        Self { values: HashMap::new(), ends: VecDeque::new() }
    }
}

impl<K: Hash + Eq + Clone, V> Window<K, V> {
    pub(super) fn forget(&mut self, now: SystemTime) {
        while let Some((_, key)) = self.ends.pop_front_if(|(end, _)| *end <= now) {
            if self.values.get(&key).is_some_and(|(end, _)| *end <= now) {
                self.values.remove(&key);
            }
        }
    }

    pub(super) fn get(&self, key: &K) -> Option<&V> {
        self.values.get(key).map(|(_, value)| value)
    }

    pub(super) fn insert(&mut self, key: K, value: V, now: SystemTime) {
        self.ends.push_back((now + LENGTH, key.clone()));
        self.values.insert(key, (now + LENGTH, value));
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        self.values.len() + self.ends.len()
    }
}
