//! Messages that are over. If one returns to its worker, because SQS did not delete it or delivers a copy, it is deleted
//! again and does not run: a delete with an old receipt handle may succeed without effect.
//! <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_DeleteMessage.html>

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

/// Messages that are remembered.
const MOST: usize = 10_000;

#[derive(Debug, Clone, Default)]
pub struct Finished {
    ids: HashSet<Arc<str>>,
    /// The ids, the oldest first.
    order: VecDeque<Arc<str>>,
}

impl Finished {
    pub(crate) fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    pub(crate) fn contains(&self, id: &str) -> bool {
        self.ids.contains(id)
    }

    /// Remembers a message, and forgets the oldest if there are too many.
    pub(crate) fn insert(&mut self, id: &str) {
        let id: Arc<str> = id.into();
        if !self.ids.insert(Arc::clone(&id)) {
            return;
        }
        self.order.push_back(id);
        if self.order.len() > MOST
            && let Some(oldest) = self.order.pop_front()
        {
            self.ids.remove(&oldest);
        }
    }

    #[cfg(test)]
    pub(crate) fn each(&self) -> impl Iterator<Item = &str> {
        self.order.iter().map(AsRef::as_ref)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_are_forgotten_first() {
        let mut finished = Finished::default();
        (0..=MOST).for_each(|number| finished.insert(&number.to_string()));
        finished.insert("1");
        assert!(!finished.contains("0") && finished.contains("1") && finished.contains(&MOST.to_string()));
        assert_eq!((finished.ids.len(), finished.order.len()), (MOST, MOST));
    }
}
