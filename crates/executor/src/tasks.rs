//! Polls futures of the user's code, on an executor's threads or in the task that waits for them.

use std::future::{Future, poll_fn};
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use futures_util::FutureExt;
use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};

use super::Executor;
use super::panic::{catch, panic_text};

/// The place where user code runs.
#[derive(Clone, Default)]
#[expect(missing_debug_implementations, reason = "for redrive alone")]
pub enum Host {
    /// The task that waits. The code sees its task-locals, and can block it.
    #[default]
    Caller,
    /// The executor's threads.
    Threads(Arc<Executor>),
}

impl Host {
    /// Describes why no handler can run on the user's runtime, or returns `None` if handlers can.
    #[must_use]
    pub fn fault(&self) -> Option<&'static str> {
        match self {
            Self::Caller => None,
            Self::Threads(executor) => executor.fault(),
        }
    }

    /// Returns true if no other code can run, because too many threads are blocked.
    #[must_use]
    pub fn is_exhausted(&self) -> bool {
        matches!(self, Self::Threads(executor) if executor.is_exhausted())
    }

    /// Runs user code other than a handler, until it ends or time is up.
    ///
    /// # Errors
    /// The code panicked, did not end in time, or was not run.
    pub async fn run(
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
                    let _ = panic_text(panic);
                    Err("panicked")
                }
            }
        };
        let executor = match self {
            Self::Caller => return run.await,
            Self::Threads(executor) => executor,
        };
        let (ended, end) = oneshot::channel();
        // The receiver is gone if the code blocked its thread for too long.
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

type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Futures that are polled together, on the executor's threads if there is one.
#[expect(missing_debug_implementations, reason = "for redrive alone")]
pub struct Tasks {
    executor: Option<Arc<Executor>>,
    in_caller: Mutex<InCaller>,
}

#[derive(Default)]
struct InCaller {
    /// New tasks, which may be added while others are polled.
    added: Vec<Task>,
    /// `None` while the tasks are polled.
    running: Option<FuturesUnordered<Task>>,
}

impl Tasks {
    /// Creates an empty set of tasks, to be polled by this host.
    #[must_use]
    pub fn new(host: &Host) -> Self {
        let executor = match host {
            Host::Caller => None,
            Host::Threads(executor) => Some(Arc::clone(executor)),
        };
        Self { executor, in_caller: Mutex::default() }
    }

    /// Returns the executor, if tasks are polled on its threads.
    #[must_use]
    pub const fn executor(&self) -> Option<&Arc<Executor>> {
        self.executor.as_ref()
    }

    /// No task is polled under this lock, so nothing panics.
    fn in_caller(&self) -> MutexGuard<'_, InCaller> {
        self.in_caller.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a task.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        match &self.executor {
            Some(executor) => executor.spawn(task),
            None => self.in_caller().added.push(Box::pin(task)),
        }
    }

    /// Drops the tasks that are polled in the caller. Each may hold a reference to this set, which would keep it alive.
    pub fn clear(&self) {
        let tasks = std::mem::take(&mut *self.in_caller());
        // Dropping tasks runs user code.
        let _ = catch(|| drop(tasks));
    }

    /// Waits for a change. Without an executor, it polls the tasks meanwhile, because only they can make the change.
    pub async fn until(&self, changed: impl Future<Output = ()>, has_changed: impl Fn() -> bool) {
        match &self.executor {
            Some(_) => changed.await,
            None => poll_fn(|context| self.poll(&has_changed, context)).await,
        }
    }

    fn poll(&self, has_changed: impl Fn() -> bool, context: &mut Context<'_>) -> Poll<()> {
        // The lock is free meanwhile, because a task may add another.
        let mut running = self.in_caller().running.take().unwrap_or_default();
        loop {
            running.extend(self.in_caller().added.drain(..));
            let polled = running.poll_next_unpin(context);
            if !matches!(polled, Poll::Ready(Some(()))) && self.in_caller().added.is_empty() {
                break;
            }
        }
        self.in_caller().running = Some(running);
        if has_changed() { Poll::Ready(()) } else { Poll::Pending }
    }
}
