//! What is known of the executor's threads, and what follows from that.

use std::collections::VecDeque;
use std::task::Waker;

/// How many blocked threads are replaced. If one more is blocked, no task is polled until one of them returns.
pub(crate) const MAX_BLOCKED: usize = 16;

/// A thread of the executor.
pub(crate) type ThreadId = usize;

#[derive(Debug)]
pub(super) struct State<T> {
    pub(super) queue: VecDeque<T>,
    pub(super) threads: Vec<Thread>,
    pub(super) idle: usize,
    /// Idle threads that have been notified but have not woken up yet.
    pub(super) waking: usize,
    pub(super) driver: Driver,
    pub(super) closed: bool,
}

#[derive(Debug, Default)]
pub(super) struct Thread {
    pub(super) ended: bool,
    /// Incremented when a poll begins and when it ends, so odd during a poll.
    pub(super) polls: u64,
    /// The value of `polls` at the watchdog's last tick.
    pub(super) seen: u64,
    /// The watchdog has found it in the same poll twice.
    pub(super) blocked: bool,
}

#[derive(Debug)]
pub(super) enum Driver {
    /// No thread drives the front between polls.
    None,
    /// The driver was blocked; the next free thread takes over.
    Wanted,
    Is {
        thread: ThreadId,
        waker: Option<Waker>,
        awaits_poll: bool,
        /// It took over from a blocked thread, and the task that blocked it may block the next thread too: until the
        /// queue is empty, other threads take the tasks.
        only_drives: bool,
    },
}

impl Thread {
    pub(super) fn is_polling(&self) -> bool {
        self.polls % 2 == 1
    }
}

impl<T> State<T> {
    pub(super) fn driver_may_poll(&self) -> bool {
        matches!(self.driver, Driver::Is { only_drives: false, .. })
            && !self.queue.is_empty()
            && self.may_poll()
    }

    pub(super) fn may_poll(&self) -> bool {
        self.threads.iter().filter(|thread| thread.blocked).count() <= MAX_BLOCKED
    }

    /// Threads that are about to ask for their next task.
    pub(super) fn asking(&self) -> usize {
        let awake = self.threads.iter().filter(|thread| !thread.ended && !thread.is_polling()).count();
        let driving =
            matches!(self.driver, Driver::Is { waker: Some(_), .. } | Driver::Is { only_drives: true, .. });
        awake.saturating_sub(self.idle + usize::from(driving))
    }

    /// Threads that take tasks, or will after their current poll.
    pub(super) fn active(&self) -> usize {
        let polling = |thread: &&Thread| thread.is_polling() && !thread.blocked;
        self.threads.iter().filter(polling).count() + self.asking()
    }

    pub(super) fn is_driver(&self, me: ThreadId) -> bool {
        matches!(self.driver, Driver::Is { thread, .. } if thread == me)
    }
}
