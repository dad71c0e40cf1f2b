//! What is to be polled and who polls it: the queue, the threads that take from it, and the one of them that drives the
//! front between two polls.
//!
//! Nothing here knows of tokio: `tests/handover.rs` runs this file under a scheduler that tries out interleavings.

use std::collections::VecDeque;
use std::sync::PoisonError;
use std::task::{Context, Poll, Waker};

use super::sync::{Condvar, Mutex, MutexGuard};

/// So many threads may be blocked at a time and are replaced; one more, and nothing is polled until one of them is back.
pub(crate) const REPLACED: usize = 16;

/// A thread of the executor.
pub(crate) type ThreadId = usize;

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
#[derive(Debug, PartialEq, Eq)]
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

#[derive(Debug)]
struct State<T> {
    queue: VecDeque<T>,
    threads: Vec<Thread>,
    idle: usize,
    driver: Driver,
    closed: bool,
}

#[derive(Debug, Default)]
struct Thread {
    ended: bool,
    /// Counted up at the beginning and at the end of each poll: odd in between.
    polls: u64,
    /// The same when the watchdog last looked.
    seen: u64,
    /// The watchdog has seen it in one poll twice.
    blocked: bool,
}

#[derive(Debug)]
enum Driver {
    /// Nobody drives between two polls.
    None,
    /// It was blocked, and the next thread that has nothing to do takes over.
    Wanted,
    Is {
        thread: ThreadId,
        waits: Option<Waker>,
        awaits_poll: bool,
    },
}

impl Thread {
    fn is_polling(&self) -> bool {
        self.polls % 2 == 1
    }
}

impl<T> RunQueue<T> {
    /// With a front, the first thread drives it, has the id 0, and is started by the caller.
    pub(crate) fn new(parallelism: usize, has_front: bool) -> Self {
        let driver = Driver::Is { thread: 0, waits: None, awaits_poll: false };
        let (driver, threads) =
            if has_front { (driver, vec![Thread::default()]) } else { (Driver::None, Vec::new()) };
        let state = State { queue: VecDeque::new(), threads, idle: 0, driver, closed: false };
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
            Driver::Is { waits, .. } => {
                let waker = waits.take();
                drop(state);
                waker.into_iter().for_each(Waker::wake);
                Start::Nothing
            }
            Driver::Wanted => Start::Nothing,
            Driver::None => self.call_one(state),
        }
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
            self.wanted.notify_one();
            return Start::Nothing;
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
                state.driver = Driver::Is { thread: me, waits: None, awaits_poll: false };
            }
            if state.is_driver(me) && (front_first || state.queue.is_empty() || !state.may_poll()) {
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
            state.idle -= 1;
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
        let may_leave = state.closed || (!state.queue.is_empty() && state.may_poll());
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
        let leaves = !state.queue.is_empty() && state.may_poll();
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
        match state.driver {
            Driver::Wanted if state.coming() == 0 => self.wake_or_start(&mut state),
            Driver::None if !state.queue.is_empty() => self.call_one(state),
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

    pub(crate) fn is_closed(&self) -> bool {
        self.state().closed
    }
}

impl<T> State<T> {
    fn may_poll(&self) -> bool {
        self.threads.iter().filter(|thread| thread.blocked).count() <= REPLACED
    }

    /// Threads that are on their way to [`RunQueue::next`].
    fn coming(&self) -> usize {
        let awake = self.threads.iter().filter(|thread| !thread.ended && !thread.is_polling()).count();
        let driving = matches!(self.driver, Driver::Is { waits: Some(_), .. });
        awake.saturating_sub(self.idle + usize::from(driving))
    }

    /// Threads that take from the queue, or will when they are done with what they poll.
    fn engaged(&self) -> usize {
        let polling = |thread: &&Thread| thread.is_polling() && !thread.blocked;
        self.threads.iter().filter(polling).count() + self.coming()
    }

    fn is_driver(&self, me: ThreadId) -> bool {
        matches!(self.driver, Driver::Is { thread, .. } if thread == me)
    }
}
