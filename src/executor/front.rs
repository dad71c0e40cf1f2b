//! The front: a future on a runtime of one thread, which whichever thread is free drives.

use std::fmt;
use std::future::{Future, poll_fn};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use async_task::Runnable;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::Notify;
use tokio::task::yield_now;

use super::run_queue::RunQueue;
use super::threads::{begin, work};
use super::{Executor, Shared};

pub(super) struct Front {
    /// Nothing once it has ended.
    runtime: Mutex<Option<Arc<Runtime>>>,
    /// Nothing once it has ended.
    future: Mutex<Option<Pin<Box<dyn Future<Output = ()> + Send>>>>,
    closing: Notify,
}

/// Drops the front where it runs, and ends the executor's threads, when it is dropped.
#[derive(Debug)]
pub(crate) struct Closing(Arc<Shared>);

impl Drop for Closing {
    fn drop(&mut self) {
        self.0.queue.close();
        self.0.front.iter().for_each(|front| front.closing.notify_one());
    }
}

/// Runs a future on a thread of its own. With `in_line` that thread also polls what the future has the executor poll;
/// several batches at a time would have to wait for each other's handlers then.
///
/// # Errors
/// The runtime or the thread could not be made.
pub(crate) fn front<F>(
    context: Handle,
    in_line: bool,
    future: impl FnOnce(Executor) -> F,
) -> io::Result<Closing>
where
    F: Future<Output = ()> + Send + 'static,
{
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let front = Front {
        runtime: Mutex::new(Some(Arc::new(runtime))),
        future: Mutex::new(None),
        closing: Notify::new(),
    };
    let shared = Arc::new(Shared::new(context, Some(front), in_line));
    let closing = Closing(Arc::clone(&shared));
    let future = Box::pin(future(Executor(Arc::clone(&shared))));
    if let Some(front) = &shared.front {
        *front.future() = Some(future);
    }
    let driving = Arc::clone(&shared);
    let begun = begin("redrive", move || if in_line { work(&driving, 0) } else { drive_alone(&driving) });
    if begun.is_err() {
        shared.front.iter().for_each(Front::end);
    }
    begun.map(|()| closing)
}

fn drive_alone(shared: &Shared) {
    let Some(front) = &shared.front else { return };
    front.block_on(async {
        let mut closing = std::pin::pin!(front.closing.notified());
        poll_fn(|context| {
            let closes = closing.as_mut().poll(context).is_ready();
            if closes || front.poll(context) { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    });
    front.end();
    shared.queue.front_ended();
}

impl Front {
    fn future(&self) -> std::sync::MutexGuard<'_, Option<Pin<Box<dyn Future<Output = ()> + Send>>>> {
        self.future.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn block_on(&self, future: impl Future<Output = ()>) {
        let runtime = self.runtime.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(runtime) = runtime {
            runtime.block_on(future);
        }
    }

    /// Drops the future and the tasks that it has spawned, which may hold what holds this. Whoever does it may be a task
    /// of another runtime, where none may be waited for.
    fn end(&self) {
        drop(self.future().take());
        let runtime = self.runtime.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(runtime) = runtime.and_then(Arc::into_inner) {
            runtime.shutdown_background();
        }
    }

    /// Whether it has ended. A panic ends it too.
    fn poll(&self, context: &mut Context<'_>) -> bool {
        let mut future = self.future();
        let Some(polled) = future.as_mut() else { return true };
        let polled = catch_unwind(AssertUnwindSafe(|| polled.as_mut().poll(context)));
        let has_ended = !matches!(polled, Ok(Poll::Pending));
        if has_ended {
            *future = None;
        }
        has_ended
    }

    /// Drives it until there is something to poll, or somebody else does. A whole turn lets its tasks run first.
    pub(super) fn drive(&self, queue: &RunQueue<Runnable>, whole_turn: bool) {
        self.block_on(async {
            if whole_turn {
                yield_now().await;
            }
            poll_fn(|context| {
                queue.driver_wakes();
                if queue.is_closed() || self.poll(context) {
                    drop(self.future().take());
                    queue.front_ended();
                    return Poll::Ready(());
                }
                queue.poll_driver(context)
            })
            .await;
        });
    }
}

impl Drop for Front {
    fn drop(&mut self) {
        self.end();
    }
}

impl fmt::Debug for Front {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Front")
    }
}
