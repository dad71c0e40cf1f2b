//! The executor's threads: those that poll tasks, and the watchdog that notices when one of them is blocked.
#![expect(clippy::disallowed_methods, reason = "impure: it reads the clock")]

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::thread::Builder;
use std::time::{Duration, Instant};

use async_task::Runnable;
use tracing::error;

use super::Shared;
use super::run_queue::{Next, Start, ThreadId};

/// The watchdog's interval. A blocked thread is replaced after one to two of these.
const TICK: Duration = Duration::from_millis(20);
/// Duration of a poll, or of the polls since the front was driven, after which another thread is added. The front waits no longer
/// than this between polls.
const LONG_POLL: Duration = Duration::from_millis(1);
/// Stack size in bytes: that of a main thread, on which many handlers are written and tested.
const STACK: usize = 8 * 1024 * 1024;

/// Target of this module's log lines.
const TARGET: &str = "redrive::executor";

/// Starts the thread that the queue asks for, and on the first call the watchdog.
pub(super) fn start(shared: &Arc<Shared>, start: Start) {
    if !shared.watched.swap(true, Ordering::Relaxed) {
        let watched = Arc::downgrade(shared);
        if let Err(error) = spawn_thread("redrive-watch", move || watch(&watched)) {
            shared.watched.store(false, Ordering::Relaxed);
            error!(target: TARGET, %error, "could not start the thread that watches for blocked handlers");
        }
    }
    let Start::Thread(me) = start else { return };
    let its = Arc::clone(shared);
    if let Err(error) = spawn_thread("redrive-handlers", move || work(&its, me)) {
        shared.queue.not_started(me);
        error!(target: TARGET, %error, "could not start a thread for handlers");
    }
}

pub(super) fn spawn_thread(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    Builder::new().name(name.to_owned()).stack_size(STACK).spawn(work).map(drop)
}

/// Runs a thread until the queue is closed.
pub(super) fn work(shared: &Arc<Shared>, me: ThreadId) {
    let mut left_front = Instant::now();
    let mut front_first = false;
    loop {
        match shared.queue.next(me, front_first) {
            Next::Poll(runnable) => {
                let began = Instant::now();
                poll(shared, runnable);
                let drives = shared.queue.polled(me);
                let now = Instant::now();
                front_first = drives && now.duration_since(left_front) > LONG_POLL;
                if front_first || now.duration_since(began) > LONG_POLL {
                    start(shared, shared.queue.add_thread());
                }
            }
            Next::Drop(runnable) => caught(|| {
                let _entered = shared.context.enter();
                drop(runnable);
            }),
            Next::Drive => {
                let Some(front) = &shared.front else { return };
                let needed = shared.queue.ensure_thread();
                // The watchdog starts with the first task.
                if needed != Start::Nothing {
                    start(shared, needed);
                }
                front.drive(&shared.queue, front_first);
                left_front = Instant::now();
                front_first = false;
            }
            Next::End => return,
        }
    }
}

/// Polls a task as a worker of the user's runtime would: with its timers, tasks and budget, and no nested `block_on`.
fn poll(shared: &Shared, runnable: Runnable) {
    caught(|| {
        shared.context.block_on(async { runnable.run() });
    });
}

/// Keeps the thread if a task panics, although tasks should catch their own panics.
fn caught(work: impl FnOnce()) {
    if catch_unwind(AssertUnwindSafe(work)).is_err() {
        error!(target: TARGET, "a task panicked outside of a handler");
    }
}

fn watch(watched: &Weak<Shared>) {
    while let Some(shared) = watched.upgrade() {
        start(&shared, shared.queue.check_threads());
        drop(shared);
        std::thread::sleep(TICK);
    }
}
