//! Where handlers are polled: on threads of our own, inside the context of the user's runtime but never on its workers.
//!
//! With a front (`run`), one thread does everything while nobody keeps it: it drives the front's runtime, which fetches
//! batches, settles and answers, and leaves it to poll handlers, so that a batch whose handlers do not wait wakes no
//! other thread. A handler that keeps the thread keeps nothing else: the watchdog sees a poll that lasts, and another
//! thread drives the front (of a runtime of one thread tokio lets several call `block_on`, and the one that is in a
//! handler has left it). Without a front, threads of ours take what is to be polled, as it comes.

mod front;
mod run_queue;
mod state;
mod sync;
mod threads;

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use async_task::Runnable;
use futures_util::FutureExt;
use tokio::runtime::Handle;

pub(crate) use self::front::front;
use self::run_queue::RunQueue;

/// Closed when dropped: its threads end as soon as they have nothing to poll.
#[derive(Debug)]
pub(crate) struct Executor(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    queue: RunQueue<Runnable>,
    /// What is polled, is polled inside the context of this runtime.
    context: Handle,
    front: Option<front::Front>,
    watched: AtomicBool,
}

impl Executor {
    /// Without a front.
    pub(crate) fn new(context: Handle) -> Self {
        Self(Arc::new(Shared::new(context, None, false)))
    }

    pub(crate) fn context(&self) -> &Handle {
        &self.0.context
    }

    /// As many threads poll at a time as the user's runtime has workers, those that are blocked not counted.
    pub(crate) fn parallelism(&self) -> usize {
        self.0.context.metrics().num_workers()
    }

    /// Whether the user's runtime has been shut down: it then cancels a task before it is spawned.
    pub(crate) fn has_lost_its_context(&self) -> bool {
        self.0.context.spawn(std::future::ready(())).now_or_never().is_some_and(|ended| ended.is_err())
    }

    /// Polls the future to its end, which must take its own panics.
    pub(crate) fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) {
        let shared = Arc::clone(&self.0);
        let schedule = move |runnable| {
            let start = shared.queue.push(runnable);
            threads::start(&shared, start);
        };
        let (runnable, task) = async_task::spawn(future, schedule);
        task.detach();
        runnable.schedule();
    }

    /// Has another thread join the one that calls this, if there is more to poll and room for it.
    pub(crate) fn share(&self) {
        threads::start(&self.0, self.0.queue.share());
    }

    /// Until the thread that drives the front has polled what there is to poll; at once where it does not.
    pub(crate) async fn polled_in_line(&self) {
        let mut has_waited = false;
        std::future::poll_fn(|_| {
            if !std::mem::replace(&mut has_waited, true) && self.0.queue.awaits_poll() {
                std::task::Poll::Pending
            } else {
                std::task::Poll::Ready(())
            }
        })
        .await;
    }

    /// Whether so many threads are blocked that nothing more is polled.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.0.queue.is_exhausted()
    }
}

impl Drop for Executor {
    fn drop(&mut self) {
        self.0.queue.close();
    }
}

impl Shared {
    fn new(context: Handle, front: Option<front::Front>, in_line: bool) -> Self {
        let queue = RunQueue::new(context.metrics().num_workers(), in_line);
        Self { queue, context, front, watched: AtomicBool::new(false) }
    }
}
