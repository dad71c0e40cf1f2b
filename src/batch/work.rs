//! Lanes and a handler to outcomes: so many at a time, until time is up, whatever the handler does.
//!
//! A runner is a task that takes one message after the other from the board. Another one joins when a handler first has
//! to wait, or takes its time: a handler that needs neither costs no task of its own.

mod board;
mod runner;
mod tasks;

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use tracing::Span;

use self::board::Board;
use self::runner::run;
pub(crate) use self::tasks::Home;
use self::tasks::Tasks;
use crate::Handler;
use crate::batch::{Outcome, Ran};
use crate::judge::Judge;
use crate::message::FromMessage;
use crate::records::Records;

/// How long a cancelled handler may take to let go of its thread.
pub(crate) const GRACE: Duration = Duration::from_millis(50);
/// A message that takes longer is worth another runner: the ones at work may hold their threads.
const PATIENCE: Duration = Duration::from_millis(1);
/// Messages for which a runner more is worth waking a thread at once.
const SHARE: usize = 128;

/// How a batch is worked through.
#[derive(Debug)]
pub(crate) struct Terms {
    pub(crate) concurrency: usize,
    /// For each message.
    pub(crate) time_limit: Option<Duration>,
    pub(crate) judge: Judge,
    /// For all of them.
    pub(crate) until: Instant,
    /// When the batch began.
    pub(crate) began: Instant,
    /// What the spans of messages stand in.
    pub(crate) span: Span,
}

/// What came of a record, and of its handler if it ran.
#[derive(Debug)]
pub(crate) struct Worked {
    /// Its place in the order of the plan.
    pub(crate) at: usize,
    pub(crate) outcome: Outcome,
    pub(crate) ran: Option<Ran>,
}

/// Everything that the runners of a batch share.
struct Job<H> {
    records: Arc<Records>,
    order: Arc<[usize]>,
    handler: Arc<H>,
    terms: Terms,
    board: Board,
    tasks: Tasks,
}

/// A batch that is being worked through. No handler outlives it, also where nobody waits for it any more.
pub(crate) struct Work<H, M>
where
    H: Handler<M>,
    M: FromMessage,
{
    job: Arc<Job<H>>,
    message: std::marker::PhantomData<fn(M)>,
}

impl<H, M> Work<H, M>
where
    H: Handler<M>,
    M: FromMessage,
{
    pub(crate) fn new(
        records: &Arc<Records>,
        order: &Arc<[usize]>,
        handler: &Arc<H>,
        terms: Terms,
        home: &Home,
    ) -> Self {
        let board = Board::new(terms.concurrency.max(1), terms.until);
        let (records, order, handler) = (Arc::clone(records), Arc::clone(order), Arc::clone(handler));
        let job = Job { records, order, handler, terms, board, tasks: Tasks::new(home) };
        Self { job: Arc::new(job), message: std::marker::PhantomData }
    }

    /// Adds lanes, at any time.
    pub(crate) fn add(&self, lanes: Vec<Range<usize>>) {
        let more = (lanes.len() / SHARE).min(self.job.tasks.parallelism()).max(1);
        self.job.board.add(lanes);
        for runner in 0..more {
            self.hire();
            if runner > 0 {
                self.job.tasks.share();
            }
        }
    }

    fn hire(&self) {
        hire::<H, M>(&self.job);
    }

    /// Until the handlers that need not wait have ended, where that takes no waiting for other threads.
    pub(crate) async fn polled_in_line(&self) {
        self.job.tasks.polled_in_line().await;
    }

    /// Until something failed, or nothing runs.
    pub(crate) async fn changed(&self) {
        self.job.tasks.until(&self.job.board).await;
    }

    /// What came since this was last asked, and whether nothing more can come.
    pub(crate) fn take(&self) -> (Vec<Worked>, bool) {
        self.job.board.take()
    }

    /// Whether nothing runs or could.
    pub(crate) fn is_idle(&self) -> bool {
        self.job.board.is_idle()
    }

    /// Starts no more messages.
    pub(crate) fn stop(&self) {
        self.job.board.stop();
    }

    /// Starts no more messages and cancels those that run.
    pub(crate) fn close(&self) {
        self.job.board.close();
    }

    /// The messages that still run, given up.
    pub(crate) fn give_up(&self) -> Vec<Worked> {
        self.job.board.give_up(self.job.terms.began)
    }

    /// The lanes, and what is left of lanes, of which nothing was started.
    pub(crate) fn left(&self) -> Vec<Range<usize>> {
        self.job.board.left()
    }

    /// When to look again at how long messages take.
    pub(crate) fn look_at(&self, now: Instant) -> Option<Instant> {
        let (board, limit) = (&self.job.board, self.job.terms.time_limit);
        let limit = limit.and_then(|limit| Some(board.longest_at(now)? + limit));
        let slow = self.job.tasks.has_threads().then(|| board.slow_at(PATIENCE, now)).flatten();
        limit.into_iter().chain(slow.map(|(at, _)| at)).min()
    }

    /// Cancels messages that have had their time, and has another runner join where all take long.
    pub(crate) fn look(&self, now: Instant) {
        let board = &self.job.board;
        if let Some(limit) = self.job.terms.time_limit {
            board.cut_off(now.checked_sub(limit));
        }
        if self.job.tasks.has_threads() && board.slow_at(PATIENCE, now).is_some_and(|(_, is_now)| is_now) {
            self.hire();
        }
    }
}

impl<H, M> Drop for Work<H, M>
where
    H: Handler<M>,
    M: FromMessage,
{
    fn drop(&mut self) {
        self.job.board.close();
        self.job.tasks.clear();
    }
}

/// Sets one more runner to work, if there is work for one.
fn hire<H, M>(job: &Arc<Job<H>>)
where
    H: Handler<M>,
    M: FromMessage,
{
    if let Some(seat) = job.board.seat() {
        job.tasks.spawn(run(runner::Seat::new(job, seat)));
    }
}

fn ran(started: Instant, ended: Instant, began: Instant) -> Ran {
    Ran { took: ended.duration_since(started), ended: ended.duration_since(began) }
}
