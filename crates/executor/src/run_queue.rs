//! The run queue: tasks that are ready, the threads that poll them, and which thread drives the front between polls.
//!
//! It does not use tokio, so that `tests/handover.rs` can run it under a scheduler that tries out interleavings.

use std::collections::VecDeque;
use std::sync::PoisonError;
use std::task::{Context, Poll, Waker};

use super::sync::{Condvar, Mutex, MutexGuard};

/// Blocked threads that are replaced. If one more is blocked, no task is polled until one of them returns.
pub const MAX_BLOCKED: usize = 16;

/// A thread of the executor.
pub(crate) type ThreadId = usize;

/// The next step of a thread.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next<T> {
    /// Poll this task, then call [`RunQueue::polled`].
    Poll(T),
    /// Drop this task: the queue is closed, nobody waits for it, and the runtime of its timers may be gone.
    Drop(T),
    /// Drive the front until [`RunQueue::poll_driver`] is ready.
    Drive,
    End,
}

/// The thread that the caller must start, if any.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    Thread(ThreadId),
    Nothing,
}

#[derive(Debug)]
pub(crate) struct RunQueue<T> {
    state: Mutex<State<T>>,
    /// Idle threads wait for this.
    wanted: Condvar,
    /// Threads that may poll at a time, without blocked ones.
    parallelism: usize,
}

#[derive(Debug)]
struct State<T> {
    queue: VecDeque<T>,
    threads: Vec<Thread>,
    idle: usize,
    /// Idle threads that have been notified but have not woken up yet.
    waking: usize,
    driver: Driver,
    closed: bool,
}

#[derive(Debug, Default)]
struct Thread {
    ended: bool,
    /// Incremented when a poll begins and when it ends, so odd during a poll.
    polls: u64,
    /// The value of `polls` at the watchdog's last tick.
    seen: u64,
    /// True if the watchdog has found the thread in the same poll twice.
    blocked: bool,
}

#[derive(Debug)]
enum Driver {
    /// No thread drives the front between polls.
    None,
    /// The driver was blocked; the next free thread takes over.
    Wanted,
    Assigned {
        thread: ThreadId,
        waker: Option<Waker>,
        /// True if this thread took over from a blocked one. The same task may block the next thread too, so other threads take
        /// the tasks until the queue is empty.
        only_drives: bool,
    },
}

impl<T> RunQueue<T> {
    /// Creates a queue. With a front, the caller starts the thread with id 0, which drives the front.
    pub(crate) fn new(parallelism: usize, has_front: bool) -> Self {
        let driver = Driver::Assigned { thread: 0, waker: None, only_drives: false };
        let (driver, threads) =
            if has_front { (driver, vec![Thread::default()]) } else { (Driver::None, Vec::new()) };
        let state = State { queue: VecDeque::new(), threads, idle: 0, waking: 0, driver, closed: false };
        Self { state: Mutex::new(state), wanted: Condvar::new(), parallelism: parallelism.max(1) }
    }

    /// Locks the state. No user code runs under this lock, so nothing panics.
    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a ready task. The driver takes it, at once or after its current poll; if there is no driver, another thread
    /// does.
    pub(crate) fn push(&self, item: T) -> Start {
        let mut state = self.state();
        state.queue.push_back(item);
        match &mut state.driver {
            Driver::Assigned { waker, only_drives: false, .. } => {
                let waker = waker.take();
                drop(state);
                waker.into_iter().for_each(Waker::wake);
                Start::Nothing
            }
            Driver::Wanted => Start::Nothing,
            Driver::None | Driver::Assigned { only_drives: true, .. } => self.try_add_thread(state),
        }
    }

    /// Makes sure that a thread takes tasks if the driver does not.
    pub(crate) fn ensure_thread(&self) -> Start {
        let state = self.state();
        let is_covered = matches!(state.driver, Driver::Assigned { only_drives: false, .. });
        if is_covered { Start::Nothing } else { self.try_add_thread(state) }
    }

    /// Lets one more thread take tasks, unless the limit is reached.
    pub(crate) fn add_thread(&self) -> Start {
        self.try_add_thread(self.state())
    }

    fn try_add_thread(&self, state: MutexGuard<'_, State<T>>) -> Start {
        if state.queue.is_empty() || state.active() >= self.parallelism || !state.may_poll() {
            return Start::Nothing;
        }
        self.wake_or_start(state)
    }

    fn wake_or_start(&self, mut state: MutexGuard<'_, State<T>>) -> Start {
        if state.idle > 0 {
            state.idle -= 1;
            state.waking += 1;
            // The thread that wakes takes the lock.
            drop(state);
            self.wanted.notify_one();
            return Start::Nothing;
        }
        if let Some(ended) = state.threads.iter().position(|thread| thread.ended) {
            state.threads[ended] = Thread::default();
            return Start::Thread(ended);
        }
        state.threads.push(Thread::default());
        Start::Thread(state.threads.len() - 1)
    }

    /// Records that a thread could not be started.
    pub(crate) fn not_started(&self, thread: ThreadId) {
        self.state().threads[thread].ended = true;
    }

    /// Returns the next step of this thread, and blocks until there is one. With `front_first`, the driver drives the front
    /// before it takes a task.
    pub(crate) fn next(&self, me: ThreadId, front_first: bool) -> Next<T> {
        let mut state = self.state();
        loop {
            if matches!(state.driver, Driver::Wanted) {
                state.driver = Driver::Assigned { thread: me, waker: None, only_drives: true };
            }
            if state.is_driver(me) && (front_first || !state.driver_may_poll()) {
                return Next::Drive;
            }
            if state.may_poll()
                && let Some(item) = state.queue.pop_front()
            {
                if state.closed {
                    return Next::Drop(item);
                }
                state.threads[me].polls += 1;
                return Next::Poll(item);
            }
            if state.closed {
                state.threads[me].ended = true;
                return Next::End;
            }
            state.idle += 1;
            state = self.wanted.wait(state).unwrap_or_else(PoisonError::into_inner);
            // A thread that was woken on purpose is no longer counted as idle.
            match state.waking.checked_sub(1) {
                Some(waking) => state.waking = waking,
                None => state.idle -= 1,
            }
        }
    }

    /// Records that this thread's poll has returned. Returns true if the thread drives the front between polls.
    pub(crate) fn polled(&self, me: ThreadId) -> bool {
        let mut state = self.state();
        let thread = &mut state.threads[me];
        thread.polls += 1;
        thread.blocked = false;
        state.is_driver(me)
    }

    /// Records that the driver is polling the front, so tasks that are added meanwhile need not wake it.
    pub(crate) fn driver_wakes(&self) {
        if let Driver::Assigned { waker, .. } = &mut self.state().driver {
            *waker = None;
        }
    }

    /// Returns `Ready` when the driver must leave the front, because a task is ready or the queue is closed.
    pub(crate) fn poll_driver(&self, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.state();
        let may_leave = state.closed || state.driver_may_poll();
        let Driver::Assigned { waker, .. } = &mut state.driver else { return Poll::Ready(()) };
        if may_leave {
            return Poll::Ready(());
        }
        *waker = Some(context.waker().clone());
        Poll::Pending
    }

    /// Returns true if the driver is about to leave the front to poll a task.
    pub(crate) fn awaits_poll(&self) -> bool {
        self.state().driver_may_poll()
    }

    /// Finds blocked threads at each tick of the watchdog: those in the same poll since the last tick. Replaces them if the queue
    /// or the front needs a thread.
    pub(crate) fn check_threads(&self) -> Start {
        let mut state = self.state();
        for thread in &mut state.threads {
            thread.blocked = thread.is_polling() && thread.polls == thread.seen;
            thread.seen = thread.polls;
        }
        if let Driver::Assigned { thread, .. } = state.driver
            && state.threads[thread].blocked
        {
            state.driver = Driver::Wanted;
        }
        if state.queue.is_empty()
            && state.active() == 0
            && let Driver::Assigned { only_drives, .. } = &mut state.driver
        {
            *only_drives = false;
        }
        match state.driver {
            Driver::Wanted if state.asking() == 0 => self.wake_or_start(state),
            Driver::None | Driver::Assigned { only_drives: true, .. } => self.try_add_thread(state),
            Driver::Wanted | Driver::Assigned { .. } => Start::Nothing,
        }
    }

    /// Closes the queue, because the front has ended and needs no driver.
    pub(crate) fn front_ended(&self) {
        self.state().driver = Driver::None;
        self.close();
    }

    /// Makes the threads drop the ready tasks and end.
    pub(crate) fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        let waker = match &mut state.driver {
            Driver::Assigned { waker, .. } => waker.take(),
            Driver::None | Driver::Wanted => None,
        };
        drop(state);
        waker.into_iter().for_each(Waker::wake);
        self.wanted.notify_all();
    }

    /// Returns true if no task is polled, because too many threads are blocked.
    pub(crate) fn is_exhausted(&self) -> bool {
        !self.state().may_poll()
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.state().closed
    }
}

impl Thread {
    fn is_polling(&self) -> bool {
        self.polls % 2 == 1
    }
}

impl<T> State<T> {
    fn driver_may_poll(&self) -> bool {
        matches!(self.driver, Driver::Assigned { only_drives: false, .. })
            && !self.queue.is_empty()
            && self.may_poll()
    }

    fn may_poll(&self) -> bool {
        self.threads.iter().filter(|thread| thread.blocked).count() <= MAX_BLOCKED
    }

    /// Counts the threads that are about to ask for their next task.
    fn asking(&self) -> usize {
        let awake = self.threads.iter().filter(|thread| !thread.ended && !thread.is_polling()).count();
        let driving = matches!(
            self.driver,
            Driver::Assigned { waker: Some(_), .. } | Driver::Assigned { only_drives: true, .. }
        );
        awake.saturating_sub(self.idle + usize::from(driving))
    }

    /// Counts the threads that take tasks, or will after their current poll.
    fn active(&self) -> usize {
        let polling = |thread: &&Thread| thread.is_polling() && !thread.blocked;
        self.threads.iter().filter(polling).count() + self.asking()
    }

    fn is_driver(&self, me: ThreadId) -> bool {
        matches!(self.driver, Driver::Assigned { thread, .. } if thread == me)
    }
}
