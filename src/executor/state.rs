//! What is known of the executor's threads, and what follows from it.

use std::collections::VecDeque;
use std::task::Waker;

/// So many threads may be blocked at a time and are replaced; one more, and nothing is polled until one of them is back.
pub(crate) const REPLACED: usize = 16;

/// A thread of the executor.
pub(crate) type ThreadId = usize;

#[derive(Debug)]
pub(super) struct State<T> {
    pub(super) queue: VecDeque<T>,
    pub(super) threads: Vec<Thread>,
    pub(super) idle: usize,
    /// Of the threads that were idle, those that are called and not yet awake.
    pub(super) called: usize,
    pub(super) driver: Driver,
    pub(super) closed: bool,
}

#[derive(Debug, Default)]
pub(super) struct Thread {
    pub(super) ended: bool,
    /// Counted up at the beginning and at the end of each poll: odd in between.
    pub(super) polls: u64,
    /// The same when the watchdog last looked.
    pub(super) seen: u64,
    /// The watchdog has seen it in one poll twice.
    pub(super) blocked: bool,
}

#[derive(Debug)]
pub(super) enum Driver {
    /// Nobody drives between two polls.
    None,
    /// It was blocked, and the next thread that has nothing to do takes over.
    Wanted,
    Is {
        thread: ThreadId,
        waits: Option<Waker>,
        awaits_poll: bool,
        /// It took over from one that was blocked: others take from the queue until that is empty, since what blocked
        /// one thread may block the next.
        stays: bool,
    },
}

impl Thread {
    pub(super) fn is_polling(&self) -> bool {
        self.polls % 2 == 1
    }
}

impl<T> State<T> {
    pub(super) fn driver_may_poll(&self) -> bool {
        matches!(self.driver, Driver::Is { stays: false, .. }) && !self.queue.is_empty() && self.may_poll()
    }

    pub(super) fn may_poll(&self) -> bool {
        self.threads.iter().filter(|thread| thread.blocked).count() <= REPLACED
    }

    /// Threads that are on their way to the next thing to do.
    pub(super) fn coming(&self) -> usize {
        let awake = self.threads.iter().filter(|thread| !thread.ended && !thread.is_polling()).count();
        let driving =
            matches!(self.driver, Driver::Is { waits: Some(_), .. } | Driver::Is { stays: true, .. });
        awake.saturating_sub(self.idle + usize::from(driving))
    }

    /// Threads that take from the queue, or will when they are done with what they poll.
    pub(super) fn engaged(&self) -> usize {
        let polling = |thread: &&Thread| thread.is_polling() && !thread.blocked;
        self.threads.iter().filter(polling).count() + self.coming()
    }

    pub(super) fn is_driver(&self, me: ThreadId) -> bool {
        matches!(self.driver, Driver::Is { thread, .. } if thread == me)
    }
}
