//! The queues that workers poll. Pure.

use std::collections::BTreeMap;

#[derive(Debug, Default)]
pub(crate) struct WorkedQueues {
    queues: BTreeMap<String, WorkedQueue>,
    /// True if the workers are ending, so that no poll should delay them.
    pub(super) is_draining: bool,
}

#[derive(Debug, Default)]
struct WorkedQueue {
    workers: usize,
    /// True if a client has polled the queue since a worker was last started.
    is_polled: bool,
}

impl WorkedQueues {
    pub(crate) fn add(&mut self, queue: &str) {
        self.queues.entry(queue.to_owned()).or_default().workers += 1;
    }

    pub(crate) fn remove(&mut self, queue: &str) {
        if let Some(worked) = self.queues.get_mut(queue) {
            worked.workers -= 1;
            if worked.workers == 0 {
                self.queues.remove(queue);
            }
        }
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &String> {
        self.queues.keys()
    }

    pub(crate) fn has_several(&self, queue: &str) -> bool {
        self.queues.get(queue).is_some_and(|worked| worked.workers > 1)
    }

    /// Records a receive from a queue. Returns true if a worker polls the queue.
    pub(crate) fn poll(&mut self, queue: &str) -> bool {
        self.queues.get_mut(queue).map(|worked| worked.is_polled = true).is_some()
    }

    /// Returns true if a client has polled a queue since a worker was last started.
    pub(crate) fn is_polled(&self, queue: &str) -> bool {
        self.queues.get(queue).is_some_and(|worked| worked.is_polled)
    }

    pub(crate) fn start(&mut self, queue: &str) {
        if let Some(worked) = self.queues.get_mut(queue) {
            worked.is_polled = false;
        }
    }
}
