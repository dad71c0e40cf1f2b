//! The threads of the executor: those that poll, and the watchdog that notices when one of them is kept.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::thread::Builder;
use std::time::{Duration, Instant};

use async_task::Runnable;
use tracing::error;

use super::Shared;
use super::run_queue::{Next, Start};
use super::state::ThreadId;

/// How often the watchdog looks. A thread that is kept is replaced after one to two of these.
const TICK: Duration = Duration::from_millis(20);
/// A poll of more than this is worth another thread, and the front has its turn after so long.
const LONG: Duration = Duration::from_millis(1);
/// What handlers have on the main thread, which many are written and tested on.
const STACK: usize = 8 * 1024 * 1024;

/// Starts the thread that the queue asks for, and the watchdog with the first of them.
pub(super) fn start(shared: &Arc<Shared>, start: Start) {
    if !shared.watched.swap(true, Ordering::Relaxed) {
        let watched = Arc::downgrade(shared);
        if let Err(error) = begin("redrive-watch", move || watch(&watched)) {
            shared.watched.store(false, Ordering::Relaxed);
            error!(%error, "the thread that watches over handlers could not be started");
        }
    }
    let Start::Thread(me) = start else { return };
    let its = Arc::clone(shared);
    if let Err(error) = begin("redrive-handlers", move || work(&its, me)) {
        shared.queue.not_started(me);
        error!(%error, "a thread for handlers could not be started");
    }
}

pub(super) fn begin(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    Builder::new().name(name.to_owned()).stack_size(STACK).spawn(work).map(drop)
}

/// What a thread does as long as there is anything to do.
pub(super) fn work(shared: &Arc<Shared>, me: ThreadId) {
    let mut left_front = Instant::now();
    let mut front_first = false;
    loop {
        match shared.queue.next(me, front_first) {
            Next::Poll(runnable) => {
                let began = Instant::now();
                poll(shared, runnable);
                shared.queue.polled(me);
                let now = Instant::now();
                if now.duration_since(began) > LONG {
                    start(shared, shared.queue.share());
                }
                front_first = now.duration_since(left_front) > LONG;
            }
            Next::Drive => {
                let Some(front) = &shared.front else { return };
                start(shared, shared.queue.cover());
                front.drive(&shared.queue, front_first);
                left_front = Instant::now();
                front_first = false;
            }
            Next::End => return,
        }
    }
}

/// As on a worker of the user's runtime: its timers and tasks, its budget, and no blocking on a runtime within.
fn poll(shared: &Shared, runnable: Runnable) {
    let polled = AssertUnwindSafe(|| {
        shared.context.block_on(async { runnable.run() });
    });
    // What is polled takes its own panics; a thread that is lost to one would be missed.
    if catch_unwind(polled).is_err() {
        error!("a panic outside of a handler");
    }
}

fn watch(watched: &Weak<Shared>) {
    while let Some(shared) = watched.upgrade() {
        start(&shared, shared.queue.look());
        drop(shared);
        std::thread::sleep(TICK);
    }
}
