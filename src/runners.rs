//! Runs the handler on the messages of lanes, with a limited concurrency and until time is up, whatever the handler does.
//!
//! A runner is a task that takes one message after the other from the ready queue. Another runner starts when a handler
//! first waits, or is slow: a handler that does neither costs no task of its own.
#![expect(clippy::disallowed_methods, reason = "impure: it reads the clock")]

mod chunk;
mod chunk_runner;
mod lease;
mod once;
mod ready_queue;
mod runner;
pub(crate) mod wall;

use std::future::Future;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::time::Instant;
use tracing::Span;

pub use self::chunk::Chunks;
pub(crate) use self::lease::Lease;
pub(crate) use self::once::OnceTerms;
use self::once::Recording;
pub(crate) use self::ready_queue::ReadyQueue;
use self::runner::Runner;
use crate::failure::classifier::FailureClassifier;
use crate::handler::Handler;
use crate::handler::bulk::Bulk;
use crate::handler::hook::Hooks;
use crate::message::FromMessage;
use crate::message::bodies::AnyBodies;
use crate::message::record::Record;
use crate::message::records::Records;
pub(crate) use redrive_engine::Worked;
use redrive_engine::keys::{BatchKey, MessageKey};
use redrive_engine::{GRACE, Ran};
pub(crate) use redrive_executor::Host;
use redrive_executor::Tasks;

/// The time after which a message counts as slow and another runner starts, because the handler may be blocking its thread.
const SLOW: Duration = Duration::from_millis(1);
/// The number of lanes for which one more thread is woken at once.
const LANES_PER_THREAD: usize = 128;

/// The argument of a handler: one message, which is any [`FromMessage`], or a [`Bulk`] of them.
///
/// You cannot implement this trait. Implement [`FromMessage`] instead.
#[diagnostic::on_unimplemented(
    message = "a handler cannot take `{Self}`",
    label = "not a message",
    note = "derive `serde::Deserialize` for the type of the body",
    note = "a handler takes one argument: a type that is `Deserialize`, `Message<T>` of one, `Text`, `Raw`, an own `FromMessage`, or a `Bulk` of these"
)]
#[expect(private_bounds, reason = "how a batch is run is nobody's business")]
pub trait Input: Runs {
    /// The type of one message.
    type Message: 'static;
}

impl<M: FromMessage> Input for M {
    type Message = M;
}

impl<M: FromMessage> Input for Bulk<M> {
    type Message = M;
}

/// Passes the messages of a batch to a handler.
pub(crate) trait Runs: Sized + Send + 'static {
    /// True if a call takes several messages.
    const IS_BULK: bool;

    /// Runs one lane after the other, until there is none.
    fn run<H: Handler<Self>>(handler: Arc<H>, runner: Runner) -> impl Future<Output = ()> + Send + 'static;
}

/// A [`Handler`] of any type. All else that runs a batch is compiled once, and not for each handler.
pub(crate) trait AnyHandler: Send + Sync {
    /// Returns true if a call takes several messages.
    fn is_bulk(&self) -> bool;

    /// Runs one lane after the other, until there is none.
    fn run(&self, runner: Runner) -> BoxFuture<'static, ()>;
}

/// A handler with the type of its messages.
pub(crate) type TypedHandler<H, M> = (Arc<H>, PhantomData<fn(M)>);

impl<H: Handler<M>, M: Input> AnyHandler for TypedHandler<H, M> {
    fn is_bulk(&self) -> bool {
        M::IS_BULK
    }

    fn run(&self, runner: Runner) -> BoxFuture<'static, ()> {
        Box::pin(M::run(Arc::clone(&self.0), runner))
    }
}

impl<M: FromMessage> Runs for M {
    const IS_BULK: bool = false;

    fn run<H: Handler<Self>>(handler: Arc<H>, runner: Runner) -> impl Future<Output = ()> + Send + 'static {
        runner::run(handler, runner)
    }
}

impl<M: FromMessage> Runs for Bulk<M> {
    const IS_BULK: bool = true;

    fn run<H: Handler<Self>>(handler: Arc<H>, runner: Runner) -> impl Future<Output = ()> + Send + 'static {
        chunk_runner::run(handler, runner)
    }
}

/// The terms for running handlers.
pub(crate) struct Terms {
    pub(crate) concurrency: usize,
    /// The time limit of each message.
    pub(crate) time_limit: Option<Duration>,
    pub(crate) classifier: FailureClassifier,
    pub(crate) hooks: Hooks,
    pub(crate) bodies: Option<Arc<dyn AnyBodies>>,
    pub(crate) once: Option<OnceTerms>,
    /// The limits of a bulk handler's calls.
    pub(crate) chunks: Chunks,
    /// The number of bodies of a chunk that are fetched at the same time.
    pub(crate) fetches: usize,
    /// True if each outcome is reported at once, and not failures only.
    pub(crate) tells_all: bool,
}

/// A batch that was begun.
pub(crate) struct Begun {
    pub(crate) key: BatchKey,
    pub(crate) records: Arc<Records>,
    /// The places of the records in the order in which they begin.
    pub(crate) order: Arc<[usize]>,
    pub(crate) began: Instant,
    /// The time at which handlers are cancelled.
    pub(crate) until: Instant,
    /// The parent of the messages' spans.
    pub(crate) span: Span,
    pub(crate) phase: Phase,
    /// The lease of a worker's messages. Lambda's have the deadline instead.
    pub(crate) lease: Option<Lease>,
}

/// The phase of a batch: open, stopped (starts no messages) or closed (cancels handlers). Changes under the lock of the queue.
#[derive(Debug, Default)]
pub(crate) struct Phase(AtomicU8);

impl Phase {
    const STOPPED: u8 = 1;
    const CLOSED: u8 = 2;

    fn reach(&self, phase: u8) {
        self.0.fetch_max(phase, Ordering::Relaxed);
    }

    fn is_open(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }

    fn is_closed(&self) -> bool {
        self.0.load(Ordering::Relaxed) == Self::CLOSED
    }
}

impl Begun {
    /// Returns true if its handlers may be polled, because its leases have not ended.
    fn is_ours(&self) -> bool {
        !self.lease.as_ref().is_some_and(Lease::has_ended)
    }

    /// Returns the record at this place in the order in which they begin.
    pub(crate) fn record(&self, at: usize) -> &Record<'_> {
        &self.records.list()[self.order[at]]
    }
}

/// The state that the runners share.
struct Job {
    handler: Arc<dyn AnyHandler>,
    terms: Terms,
    queue: ReadyQueue,
    tasks: Tasks,
    recording: Arc<Recording>,
}

/// The running handlers of a consumer. Dropping it cancels them.
pub(crate) struct Work(Arc<Job>);

impl Work {
    pub(crate) fn new(handler: &Arc<dyn AnyHandler>, terms: Terms, host: &Host) -> Self {
        let (handler, tasks) = (Arc::clone(handler), Tasks::new(host));
        let teller = tasks.executor().filter(|_| terms.tells_all).map(Arc::clone);
        let queue = ReadyQueue::new(terms.concurrency.max(1), terms.tells_all, teller);
        let recording = Arc::default();
        Self(Arc::new(Job { handler, terms, queue, tasks, recording }))
    }

    /// Adds lanes of a batch, which run after [`Self::start`]; may be called at any time.
    pub(crate) fn add(&self, of: &Arc<Begun>, lanes: Vec<Range<usize>>) {
        self.0.queue.add(of, lanes);
    }

    /// Starts runners for this many added lanes.
    pub(crate) fn start(&self, lanes: usize) {
        let executor = self.0.tasks.executor();
        let threads = executor.map_or(1, |executor| executor.parallelism());
        let runners = (lanes / LANES_PER_THREAD).min(threads).max(1);
        Runner::start(&self.0);
        for _ in 1..runners {
            Runner::start(&self.0);
            executor.iter().for_each(|executor| executor.add_thread());
        }
    }

    /// Waits until this thread has polled all handlers that are ready, if it is the one that polls them.
    pub(crate) async fn polled_inline(&self) {
        if let Some(executor) = self.0.tasks.executor() {
            executor.polled_inline().await;
        }
    }

    /// Waits until the queue has something to report.
    pub(crate) async fn changed(&self) {
        let queue = &self.0.queue;
        self.0.tasks.until(queue.changed(), || queue.has_changed()).await;
    }

    pub(crate) fn queue(&self) -> &ReadyQueue {
        &self.0.queue
    }

    /// Returns the next time to check how long messages take.
    pub(crate) fn check_at(&self, now: Instant) -> Option<Instant> {
        let limit = self.0.terms.time_limit;
        let queue = &self.0.queue;
        let ends = limit.and_then(|limit| queue.first_started_at(now)?.checked_add(limit));
        let overdue = limit.and_then(|limit| queue.first_cancelled_at()?.checked_add(limit + GRACE));
        ends.into_iter().chain(overdue).chain(self.slow_at(now).map(|(at, _)| at)).min()
    }

    /// Cancels messages that have exceeded their time limit, and starts another runner if all running messages are slow. Returns
    /// those that were cancelled before and still run.
    pub(crate) fn check(&self, now: Instant) -> Vec<MessageKey> {
        let started_before = |limit| now.checked_sub(limit);
        let limit = self.0.terms.time_limit;
        limit.and_then(started_before).iter().for_each(|since| self.0.queue.cancel_started_by(*since));
        let overdue = limit.and_then(|limit| started_before(limit + GRACE));
        let overdue = overdue.map_or_else(Vec::new, |since| self.0.queue.take_overdue(since));
        if self.slow_at(now).is_some_and(|(_, is_now)| is_now) {
            Runner::start(&self.0);
        }
        overdue
    }

    fn slow_at(&self, now: Instant) -> Option<(Instant, bool)> {
        self.0.tasks.executor().and_then(|_| self.0.queue.slow_at(SLOW, now))
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        self.0.queue.close();
        self.0.tasks.clear();
    }
}

fn ran(started: Instant, ended: Instant, began: Instant) -> Ran {
    Ran { took: ended.duration_since(started), ended: ended.duration_since(began), is_shared: false }
}
