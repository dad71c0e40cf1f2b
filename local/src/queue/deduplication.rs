//! FIFO deduplication: a message that was sent within the last five minutes is not sent again.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, SystemTime};

/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/FIFO-queues-exactly-once-processing.html>
const WINDOW: Duration = Duration::from_secs(300);

/// The ids of the last five minutes. Deleting a message does not end its window.
#[derive(Debug, Clone, Default)]
pub(super) struct Deduplication {
    sent: HashMap<Key, Original>,
    /// By the end of the window; sends come in the order of time.
    ends: VecDeque<(SystemTime, Key)>,
}

/// A deduplication id, and its group where the scope is one.
pub(super) type Key = (String, Option<String>);

/// What the first of several equal sends was told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Original {
    pub(super) message_id: String,
    pub(super) sequence_number: Option<String>,
}

impl Deduplication {
    pub(super) fn find(&mut self, key: &Key, now: SystemTime) -> Option<&Original> {
        while let Some((end, _)) = self.ends.front()
            && *end <= now
        {
            if let Some((_, key)) = self.ends.pop_front() {
                self.sent.remove(&key);
            }
        }
        self.sent.get(key)
    }

    /// Opens the window of a key that [`find`](Self::find) has just not found.
    pub(super) fn insert(&mut self, key: Key, original: Original, now: SystemTime) {
        self.ends.push_back((now + WINDOW, key.clone()));
        self.sent.insert(key, original);
    }
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;

    #[test]
    fn a_window_lasts_five_minutes_from_the_first_send_and_leaves_nothing_behind() {
        let at = |seconds| UNIX_EPOCH + Duration::from_secs(seconds);
        let key = ("id".to_owned(), None);
        let original = Original { message_id: "m".to_owned(), sequence_number: None };
        let mut deduplication = Deduplication::default();
        assert_eq!(deduplication.find(&key, at(0)), None);
        deduplication.insert(key.clone(), original.clone(), at(0));
        assert_eq!(deduplication.find(&key, at(299)), Some(&original));
        assert_eq!(deduplication.find(&key, at(300)), None);
        assert!(deduplication.sent.is_empty() && deduplication.ends.is_empty());
    }
}
