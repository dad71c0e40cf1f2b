//! Where the runners of a batch are polled: by an executor's threads, or by the task that waits for the batch.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};

use super::board::Board;
use crate::executor::Executor;
use crate::panic::caught;

/// Where handlers run.
#[derive(Debug, Clone, Default)]
pub(crate) enum Home {
    /// In the task that waits for the batch: what is local to it reaches them, and one that blocks, blocks it.
    #[default]
    Caller,
    Threads(Arc<Executor>),
}

impl Home {
    /// Whether so many threads are blocked that there is none for others.
    pub(crate) fn is_exhausted(&self) -> bool {
        matches!(self, Self::Threads(executor) if executor.is_exhausted())
    }

    /// Runs code of the user's that is no handler; says what became of it if it did not end well and in time.
    pub(crate) async fn ask(
        &self,
        question: impl FnOnce() + Send + 'static,
        until: Instant,
    ) -> Result<(), &'static str> {
        let run = move || caught(question).map_err(|_text| "panicked");
        let executor = match self {
            Self::Caller => return run(),
            Self::Threads(executor) => executor,
        };
        let (ended, end) = oneshot::channel();
        // Nobody listens any more if it took too long.
        executor.spawn(async move {
            let _ = ended.send(run());
        });
        executor.polled_in_line().await;
        match timeout_at(until, end).await {
            Ok(Ok(result)) => result,
            Ok(Err(_dropped)) => Err("was not run"),
            Err(_elapsed) => Err("did not end in time"),
        }
    }
}

pub(super) enum Tasks {
    Caller(Mutex<InCaller>),
    Threads(Arc<Executor>),
}

type Runner = Pin<Box<dyn Future<Output = ()> + Send>>;

#[derive(Default)]
pub(super) struct InCaller {
    /// Since a runner is hired while others are polled.
    hired: Vec<Runner>,
    /// Nothing while they are polled.
    running: Option<FuturesUnordered<Runner>>,
}

impl Tasks {
    pub(super) fn new(home: &Home) -> Self {
        match home {
            Home::Caller => Self::Caller(Mutex::default()),
            Home::Threads(executor) => Self::Threads(Arc::clone(executor)),
        }
    }

    pub(super) fn spawn(&self, runner: impl Future<Output = ()> + Send + 'static) {
        match self {
            Self::Caller(tasks) => lock(tasks).hired.push(Box::pin(runner)),
            Self::Threads(executor) => executor.spawn(runner),
        }
    }

    pub(super) const fn has_threads(&self) -> bool {
        matches!(self, Self::Threads(_))
    }

    pub(super) fn parallelism(&self) -> usize {
        match self {
            Self::Caller(_) => 1,
            Self::Threads(executor) => executor.parallelism(),
        }
    }

    /// Has another thread join the one that calls this.
    pub(super) fn share(&self) {
        if let Self::Threads(executor) = self {
            executor.share();
        }
    }

    pub(super) fn has_lost_its_context(&self) -> bool {
        matches!(self, Self::Threads(executor) if executor.has_lost_its_context())
    }

    pub(super) async fn polled_in_line(&self) {
        if let Self::Threads(executor) = self {
            executor.polled_in_line().await;
        }
    }

    /// Drops the runners that are polled here; each shares these tasks and would keep them.
    pub(super) fn clear(&self) {
        if let Self::Caller(tasks) = self {
            let tasks = std::mem::take(&mut *lock(tasks));
            // What runners drop is the user's.
            let _ = caught(|| drop(tasks));
        }
    }

    /// Until there is news on the board.
    pub(super) async fn until(&self, board: &Board) {
        match self {
            Self::Threads(_) => board.news().await,
            Self::Caller(tasks) => poll_fn(|context| poll(tasks, board, context)).await,
        }
    }
}

fn poll(tasks: &Mutex<InCaller>, board: &Board, context: &mut Context<'_>) -> Poll<()> {
    // Out of the lock, since a runner that is polled may hire another.
    let mut running = lock(tasks).running.take().unwrap_or_default();
    loop {
        running.extend(lock(tasks).hired.drain(..));
        let polled = running.poll_next_unpin(context);
        if !matches!(polled, Poll::Ready(Some(()))) && lock(tasks).hired.is_empty() {
            break;
        }
    }
    lock(tasks).running = Some(running);
    if board.has_news() { Poll::Ready(()) } else { Poll::Pending }
}

/// No runner is polled under it, so nothing panics.
fn lock(tasks: &Mutex<InCaller>) -> std::sync::MutexGuard<'_, InCaller> {
    tasks.lock().unwrap_or_else(PoisonError::into_inner)
}
