//! Polls handlers on redrive's own threads, in the context of the user's runtime but never on its workers.
//!
//! With a front (`run`), one thread does everything as long as no handler blocks it. It drives the front's runtime, which
//! fetches batches, settles messages and answers, and leaves that runtime to poll handlers, so that a batch whose handlers
//! do not wait wakes no other thread. When a handler blocks the thread, the watchdog notices the long poll and another
//! thread drives the front: several threads may call `block_on` on a tokio runtime of one thread, and the blocked thread
//! has left that call. Without a front, the threads poll tasks in the order in which they become ready.
//!
//! This crate knows nothing of messages. It is internal to redrive, and may change in any version.

mod front;
mod panic;
mod run_queue;
mod tasks;
mod threads;

/// The locks of the run queue. Its test replaces them.
mod sync {
    pub(super) use std::sync::{Condvar, Mutex, MutexGuard};
}

use std::fmt;
use std::future::{Future, poll_fn};
use std::panic::catch_unwind;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use std::task::Poll;
use std::time::Duration;

use async_task::Runnable;
use futures_util::FutureExt;
use tokio::runtime::Handle;

#[doc(hidden)]
pub use self::front::front;
#[doc(hidden)]
pub use self::panic::{catch, panic_text};
#[doc(hidden)]
pub use self::run_queue::MAX_BLOCKED;
use self::run_queue::RunQueue;
#[doc(hidden)]
pub use self::tasks::{Host, Tasks};

/// The threads that poll tasks. Dropping it drops the ready tasks and ends the threads.
#[doc(hidden)]
pub struct Executor(Arc<Shared>);

struct Shared {
    queue: RunQueue<Runnable>,
    /// Tasks are polled in the context of this runtime.
    context: Handle,
    front: Option<front::Front>,
    watched: AtomicBool,
    has_timers: OnceLock<bool>,
}

impl Executor {
    /// Creates an executor without a front.
    pub fn new(context: Handle) -> Self {
        Self(Arc::new(Shared::new(context, None, false)))
    }

    #[must_use]
    pub fn context(&self) -> &Handle {
        &self.0.context
    }

    /// Returns the number of threads that may poll at a time, without blocked ones: as many as the user's runtime has workers.
    #[must_use]
    pub fn parallelism(&self) -> usize {
        self.0.context.metrics().num_workers()
    }

    /// Describes why no handler can run in the context, or returns `None` if handlers can.
    #[must_use]
    pub fn fault(&self) -> Option<&'static str> {
        if self.has_lost_its_context() {
            return Some("a runtime that was shut down");
        }
        let _entered = self.0.context.enter();
        // tokio reports missing timers only by a panic, whose message goes to standard error once.
        let has_timers = || catch_unwind(|| drop(tokio::time::sleep(Duration::ZERO))).is_ok();
        let without = !self.0.has_timers.get_or_init(has_timers);
        without.then_some("a runtime without timers")
    }

    /// Returns true if the user's runtime has been shut down: it then cancels every task at once.
    #[must_use]
    pub fn has_lost_its_context(&self) -> bool {
        self.0.context.spawn(std::future::ready(())).now_or_never().is_some_and(|ended| ended.is_err())
    }

    /// Polls the future to completion. The future must catch its own panics.
    pub fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) {
        let shared = Arc::clone(&self.0);
        let schedule = move |runnable| {
            let start = shared.queue.push(runnable);
            threads::start(&shared, start);
        };
        let (runnable, task) = async_task::spawn(future, schedule);
        task.detach();
        runnable.schedule();
    }

    /// Lets one more thread poll, if tasks are ready and the limit allows it.
    pub fn add_thread(&self) {
        threads::start(&self.0, self.0.queue.add_thread());
    }

    /// Waits until the thread that drives the front has polled all ready tasks. Returns at once if that thread does not poll tasks.
    pub async fn polled_inline(&self) {
        let mut has_waited = false;
        poll_fn(|context| match !std::mem::replace(&mut has_waited, true) && self.0.queue.awaits_poll() {
            true => {
                // The front is polled again after the tasks, but of many futures it polls only those that are woken.
                context.waker().wake_by_ref();
                Poll::Pending
            }
            false => Poll::Ready(()),
        })
        .await;
    }

    /// Returns true if no task is polled, because too many threads are blocked.
    #[must_use]
    pub fn is_exhausted(&self) -> bool {
        self.0.queue.is_exhausted()
    }
}

impl fmt::Debug for Executor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Executor").finish_non_exhaustive()
    }
}

impl Drop for Executor {
    fn drop(&mut self) {
        self.0.queue.close();
    }
}

impl Shared {
    fn new(context: Handle, front: Option<front::Front>, inline: bool) -> Self {
        let queue = RunQueue::new(context.metrics().num_workers(), inline);
        Self { queue, context, front, watched: AtomicBool::new(false), has_timers: OnceLock::new() }
    }
}
