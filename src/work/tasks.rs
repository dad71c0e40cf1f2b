//! Polls the runners of a batch: on an executor's threads, or in the task that waits for the batch.

use std::future::{Future, poll_fn};
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use futures_util::FutureExt;
use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};

use super::ready_queue::ReadyQueue;
use crate::panic::{catch, panic_text};
use redrive_executor::Executor;

/// Where user code runs.
#[derive(Clone, Default)]
pub(crate) enum Host {
    /// In the task that waits for the batch. Handlers see its task-locals, and a handler that blocks blocks the batch.
    #[default]
    Caller,
    /// On the executor's threads.
    Threads(Arc<Executor>),
}

impl Host {
    /// Why no handler can run on the user's runtime.
    pub(crate) fn fault(&self) -> Option<&'static str> {
        match self {
            Self::Caller => None,
            Self::Threads(executor) => executor.fault(),
        }
    }

    /// Whether too many threads are blocked for others to run.
    pub(crate) fn is_exhausted(&self) -> bool {
        matches!(self, Self::Threads(executor) if executor.is_exhausted())
    }

    /// Runs user code other than a handler, until it ends or time is up. The error says how it failed: a panic, a timeout,
    /// or no thread.
    pub(crate) async fn run(
        &self,
        code: impl Future<Output = ()> + Send + 'static,
        until: Instant,
    ) -> Result<(), &'static str> {
        let run = async move {
            // The timer may panic too: the user's runtime may have none.
            match AssertUnwindSafe(async { timeout_at(until, code).await }).catch_unwind().await {
                Ok(Ok(())) => Ok(()),
                Ok(Err(_elapsed)) => Err("did not end in time"),
                Err(panic) => {
                    panic_text(panic);
                    Err("panicked")
                }
            }
        };
        let executor = match self {
            Self::Caller => return run.await,
            Self::Threads(executor) => executor,
        };
        let (ended, end) = oneshot::channel();
        // The receiver is gone if it blocked its thread for too long.
        executor.spawn(async move {
            let _ = ended.send(run.await);
        });
        executor.polled_inline().await;
        match timeout_at(until, end).await {
            Ok(Ok(result)) => result,
            Ok(Err(_dropped)) => Err("was not run"),
            Err(_elapsed) => Err("did not end in time"),
        }
    }
}

type Runner = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Polls the runners, on the executor's threads if there is one.
pub(super) struct Tasks {
    pub(super) executor: Option<Arc<Executor>>,
    in_caller: Mutex<InCaller>,
}

#[derive(Default)]
struct InCaller {
    /// Since a runner is added while others are polled.
    added: Vec<Runner>,
    /// `None` while they are polled.
    running: Option<FuturesUnordered<Runner>>,
}

impl Tasks {
    pub(super) fn new(host: &Host) -> Self {
        let executor = match host {
            Host::Caller => None,
            Host::Threads(executor) => Some(Arc::clone(executor)),
        };
        Self { executor, in_caller: Mutex::default() }
    }

    /// No runner is polled under this lock, so nothing panics.
    fn in_caller(&self) -> MutexGuard<'_, InCaller> {
        self.in_caller.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn spawn(&self, runner: impl Future<Output = ()> + Send + 'static) {
        match &self.executor {
            Some(executor) => executor.spawn(runner),
            None => self.in_caller().added.push(Box::pin(runner)),
        }
    }

    /// Drops the runners that are polled here: each holds a reference to these tasks, which would keep them alive.
    pub(super) fn clear(&self) {
        let tasks = std::mem::take(&mut *self.in_caller());
        // Dropping runners runs user code.
        let _ = catch(|| drop(tasks));
    }

    /// Waits until the queue has changed, and polls the runners that are polled here.
    pub(super) async fn changed(&self, queue: &ReadyQueue) {
        match &self.executor {
            Some(_) => queue.changed().await,
            None => poll_fn(|context| self.poll(queue, context)).await,
        }
    }

    fn poll(&self, queue: &ReadyQueue, context: &mut Context<'_>) -> Poll<()> {
        // Not under the lock, since a runner may start another.
        let mut running = self.in_caller().running.take().unwrap_or_default();
        loop {
            running.extend(self.in_caller().added.drain(..));
            let polled = running.poll_next_unpin(context);
            if !matches!(polled, Poll::Ready(Some(()))) && self.in_caller().added.is_empty() {
                break;
            }
        }
        self.in_caller().running = Some(running);
        if queue.has_changed() { Poll::Ready(()) } else { Poll::Pending }
    }
}
