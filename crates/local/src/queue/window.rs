//! What a FIFO queue remembers for five minutes: the messages that it was sent, and the receives that it answered.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::time::{Duration, SystemTime};

/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/FIFO-queues-exactly-once-processing.html>
const LENGTH: Duration = Duration::from_secs(300);

/// A map whose entries end five minutes after they were made.
#[derive(Debug, Clone)]
pub(super) struct Window<K, V> {
    values: HashMap<K, (SystemTime, V)>,
    /// Entries are made in the order of time. One that was made anew stands here twice.
    ends: VecDeque<(SystemTime, K)>,
}

impl<K, V> Default for Window<K, V> {
    fn default() -> Self {
        Self { values: HashMap::new(), ends: VecDeque::new() }
    }
}

impl<K: Hash + Eq + Clone, V> Window<K, V> {
    /// Forgets what has ended.
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
