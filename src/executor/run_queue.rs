//! What is to be polled and who polls it: the queue, the threads that take from it, and the one of them that drives the
//! front between two polls.
//!
//! Nothing here knows of tokio: `tests/handover.rs` runs it under a scheduler that tries out interleavings.

use std::collections::VecDeque;
use std::sync::PoisonError;
use std::task::{Context, Poll, Waker};

use super::state::{Driver, State, Thread, ThreadId};
use super::sync::{Condvar, Mutex, MutexGuard};

/// What a thread does next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next<T> {
    /// Polls this, then says [`RunQueue::polled`].
    Poll(T),
    /// Drives the front until [`RunQueue::poll_driver`] is ready.
    Drive,
    End,
}

/// Whether the caller has to start a thread, with this id.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    Thread(ThreadId),
    Nothing,
}

#[derive(Debug)]
pub(crate) struct RunQueue<T> {
    state: Mutex<State<T>>,
    /// For the threads that have nothing to do.
    wanted: Condvar,
    /// Threads that may poll at a time as long as none of them is blocked.
    parallelism: usize,
}

impl<T> RunQueue<T> {
    /// With a front, the first thread drives it, has the id 0, and is started by the caller.
    pub(crate) fn new(parallelism: usize, has_front: bool) -> Self {
        let driver = Driver::Is { thread: 0, waits: None, awaits_poll: false, stays: false };
        let (driver, threads) =
            if has_front { (driver, vec![Thread::default()]) } else { (Driver::None, Vec::new()) };
        let state = State { queue: VecDeque::new(), threads, idle: 0, called: 0, driver, closed: false };
        Self { state: Mutex::new(state), wanted: Condvar::new(), parallelism: parallelism.max(1) }
    }

    /// Nothing of the user's runs under this lock, so nothing panics.
    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds what is to be polled. The driver takes it, at once or after the poll it is in; without a driver, another
    /// thread does.
    pub(crate) fn push(&self, item: T) -> Start {
        let mut state = self.state();
        state.queue.push_back(item);
        match &mut state.driver {
            Driver::Is { waits, stays: false, .. } => {
                let waker = waits.take();
                drop(state);
                waker.into_iter().for_each(Waker::wake);
                Start::Nothing
            }
            Driver::Wanted => Start::Nothing,
            Driver::None | Driver::Is { stays: true, .. } => self.call_one(state),
        }
    }

    /// Has a thread take from the queue where the driver does not.
    pub(crate) fn cover(&self) -> Start {
        let state = self.state();
        let is_covered = matches!(state.driver, Driver::Is { stays: false, .. });
        if is_covered || state.queue.is_empty() { Start::Nothing } else { self.call_one(state) }
    }

    /// Has another thread take from the queue as well, unless as many as may are at it.
    pub(crate) fn share(&self) -> Start {
        let state = self.state();
        if state.queue.is_empty() { Start::Nothing } else { self.call_one(state) }
    }

    fn call_one(&self, mut state: MutexGuard<'_, State<T>>) -> Start {
        if state.engaged() >= self.parallelism || !state.may_poll() {
            return Start::Nothing;
        }
        self.wake_or_start(&mut state)
    }

    fn wake_or_start(&self, state: &mut State<T>) -> Start {
        if state.idle > 0 {
            state.idle -= 1;
            state.called += 1;
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

    /// The thread could not be started.
    pub(crate) fn not_started(&self, thread: ThreadId) {
        self.state().threads[thread].ended = true;
    }

    /// What this thread does next; waits until there is something. The driver drives the front first if `front_first`.
    pub(crate) fn next(&self, me: ThreadId, front_first: bool) -> Next<T> {
        let mut state = self.state();
        loop {
            if matches!(state.driver, Driver::Wanted) {
                state.driver = Driver::Is { thread: me, waits: None, awaits_poll: false, stays: true };
            }
            if state.is_driver(me) && (front_first || !state.driver_may_poll()) {
                return Next::Drive;
            }
            if state.may_poll()
                && let Some(item) = state.queue.pop_front()
            {
                state.threads[me].polls += 1;
                return Next::Poll(item);
            }
            if state.closed {
                state.threads[me].ended = true;
                return Next::End;
            }
            state.idle += 1;
            state = self.wanted.wait(state).unwrap_or_else(PoisonError::into_inner);
            // Whoever called has counted one of the idle as awake.
            match state.called.checked_sub(1) {
                Some(called) => state.called = called,
                None => state.idle -= 1,
            }
        }
    }

    /// The poll that this thread was in is over.
    pub(crate) fn polled(&self, me: ThreadId) {
        let mut state = self.state();
        let thread = &mut state.threads[me];
        thread.polls += 1;
        thread.blocked = false;
    }

    /// The driver polls the front, and what that adds to the queue need not wake it.
    pub(crate) fn driver_wakes(&self) {
        if let Driver::Is { waits, .. } = &mut self.state().driver {
            *waits = None;
        }
    }

    /// Ready when the driver has to leave the front: something can be polled, or all is to end.
    pub(crate) fn poll_driver(&self, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.state();
        let may_leave = state.closed || state.driver_may_poll();
        let Driver::Is { waits, awaits_poll, .. } = &mut state.driver else { return Poll::Ready(()) };
        let awaited = std::mem::take(awaits_poll);
        if may_leave {
            return Poll::Ready(());
        }
        if awaited {
            // Another thread was quicker: the front is polled once more, now.
            context.waker().wake_by_ref();
        }
        *waits = Some(context.waker().clone());
        Poll::Pending
    }

    /// Asked by what the front polls: whether the driver is about to leave the front for a poll. If so, the front is
    /// polled again after that, without being woken.
    pub(crate) fn awaits_poll(&self) -> bool {
        let mut state = self.state();
        let leaves = state.driver_may_poll();
        match &mut state.driver {
            Driver::Is { awaits_poll, .. } => {
                *awaits_poll = leaves;
                leaves
            }
            Driver::None | Driver::Wanted => false,
        }
    }

    /// The watchdog's look at the threads: who has been in one poll since the last look is blocked, and replaced where
    /// somebody is needed in its place.
    pub(crate) fn look(&self) -> Start {
        let mut state = self.state();
        for thread in &mut state.threads {
            thread.blocked = thread.is_polling() && thread.polls == thread.seen;
            thread.seen = thread.polls;
        }
        if let Driver::Is { thread, .. } = state.driver
            && state.threads[thread].blocked
        {
            state.driver = Driver::Wanted;
        }
        if state.queue.is_empty()
            && state.engaged() == 0
            && let Driver::Is { stays, .. } = &mut state.driver
        {
            *stays = false;
        }
        match state.driver {
            Driver::Wanted if state.coming() == 0 => self.wake_or_start(&mut state),
            Driver::None | Driver::Is { stays: true, .. } if !state.queue.is_empty() => self.call_one(state),
            Driver::None | Driver::Wanted | Driver::Is { .. } => Start::Nothing,
        }
    }

    /// The front has ended: nobody drives it any more.
    pub(crate) fn front_ended(&self) {
        self.state().driver = Driver::None;
        self.close();
    }

    /// Ends the threads as soon as there is nothing to poll.
    pub(crate) fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        let waker = match &mut state.driver {
            Driver::Is { waits, .. } => waits.take(),
            Driver::None | Driver::Wanted => None,
        };
        drop(state);
        waker.into_iter().for_each(Waker::wake);
        self.wanted.notify_all();
    }

    /// Whether so many threads are blocked that nothing is polled.
    pub(crate) fn is_exhausted(&self) -> bool {
        !self.state().may_poll()
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.state().closed
    }
}
