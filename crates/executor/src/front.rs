//! The front: a future on a runtime of one thread, driven by whichever thread is free.

use std::future::{Future, poll_fn};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use async_task::Runnable;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::{Notify, oneshot};
use tokio::task::yield_now;

use super::run_queue::RunQueue;
use super::threads::{spawn_thread, work};
use super::{Executor, Shared};

type BoxFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

pub(super) struct Front {
    /// `None` once the front has ended.
    runtime: Mutex<Option<Arc<Runtime>>>,
    /// `None` once the front has ended.
    future: Mutex<Option<BoxFuture>>,
    closing: Notify,
}

/// When dropped, drops the front on the thread that drives it and ends the executor's threads.
struct Closing(Arc<Shared>);

impl Drop for Closing {
    fn drop(&mut self) {
        self.0.queue.close();
        self.0.front.iter().for_each(|front| front.closing.notify_one());
    }
}

/// Starts a thread for a future, and returns the future's output, or `None` if it panicked. With `inline`, that thread also polls
/// the tasks that the future spawns, for a millisecond at a time. Batches that run at the same time then wait for each other's
/// handlers.
///
/// # Errors
/// The runtime or the thread could not be created.
pub async fn front<F>(
    context: Handle,
    inline: bool,
    future: impl FnOnce(Executor) -> F,
) -> io::Result<Option<F::Output>>
where
    F: Future<Output: Send> + Send + 'static,
{
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let front = Front {
        runtime: Mutex::new(Some(Arc::new(runtime))),
        future: Mutex::new(None),
        closing: Notify::new(),
    };
    let shared = Arc::new(Shared::new(context, Some(front), inline));
    let _closing = Closing(Arc::clone(&shared));
    let future = future(Executor(Arc::clone(&shared)));
    let (ended, end) = oneshot::channel();
    if let Some(front) = &shared.front {
        *front.future() = Some(Box::pin(async move {
            // The receiver is gone if the caller has dropped this future.
            let _ = ended.send(future.await);
        }));
    }
    let driving = Arc::clone(&shared);
    let spawned =
        spawn_thread("redrive", move || if inline { work(&driving, 0) } else { drive_alone(&driving) });
    if spawned.is_err() {
        shared.front.iter().for_each(Front::end);
    }
    spawned?;
    drop(shared);
    Ok(end.await.ok())
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
    fn future(&self) -> MutexGuard<'_, Option<BoxFuture>> {
        self.future.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn block_on(&self, future: impl Future<Output = ()>) {
        let runtime = self.runtime.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(runtime) = runtime {
            runtime.block_on(future);
        }
    }

    /// Drops the future and the tasks that it has spawned, because they may hold a reference to this front. It does not wait,
    /// because the caller may be a task of another runtime.
    fn end(&self) {
        drop(self.future().take());
        let runtime = self.runtime.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(runtime) = runtime.and_then(Arc::into_inner) {
            runtime.shutdown_background();
        }
    }

    /// Polls the front, and returns true if it has ended. A panic ends it too.
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

    /// Drives the front until a task can be polled or another thread takes over. With `whole_turn`, the front's own tasks
    /// run first.
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
            // tokio keeps the wakers of futures that yield, or have used up their budget, until the end of a turn. It would drop
            // them here, and these futures would never be polled again.
            yield_now().await;
        });
    }
}

impl Drop for Front {
    fn drop(&mut self) {
        self.end();
    }
}
