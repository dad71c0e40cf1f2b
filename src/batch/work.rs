//! Lanes and a handler to outcomes: so many at a time, until time is up, whatever the handler does.
//!
//! A runner is a task on the workers that takes one message after the other from the board. A second one joins when
//! the first has to wait, or takes its time: a handler that needs neither costs no task of its own.

mod board;
mod runner;

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::time::{Instant, sleep, sleep_until, timeout_at};
use tracing::Span;

use self::board::Board;
use self::runner::{Job, hire};
use crate::Handler;
use crate::batch::{Outcome, Ran};
use crate::judge::Judge;
use crate::message::FromMessage;
use crate::records::Records;

/// How long a cancelled handler may take to let go of its thread.
const GRACE: Duration = Duration::from_millis(50);
/// After this long without an end another runner joins: the ones at work may hold their threads.
const PATIENCE: Duration = Duration::from_millis(1);
/// Messages for which a runner more is worth waking a thread at once.
const SHARE: usize = 128;

/// How a batch is worked through.
pub(crate) struct Terms<'a> {
    /// Where handlers run.
    pub(crate) workers: &'a Handle,
    pub(crate) concurrency: usize,
    /// For each message.
    pub(crate) time_limit: Option<Duration>,
    pub(crate) judge: &'a Judge,
    /// For all of them.
    pub(crate) until: Instant,
    /// When the batch began.
    pub(crate) began: Instant,
    /// What the spans of messages stand in.
    pub(crate) span: &'a Span,
}

/// What came of a record, and of its handler if it ran.
pub(crate) type Worked = (usize, Outcome, Option<Ran>);

/// A record that does not appear in the answer was not started.
pub(crate) async fn work<H, M>(
    records: &Arc<Records>,
    order: &Arc<[usize]>,
    lanes: Vec<Range<usize>>,
    handler: &Arc<H>,
    terms: &Terms<'_>,
) -> Vec<Worked>
where
    H: Handler<M>,
    M: FromMessage,
{
    let runners = (lanes.len() / SHARE).min(terms.workers.metrics().num_workers()).max(1);
    let round = Round(Arc::new(Job {
        records: Arc::clone(records),
        order: Arc::clone(order),
        handler: Arc::clone(handler),
        workers: terms.workers.clone(),
        time_limit: terms.time_limit,
        judge: terms.judge.clone(),
        began: terms.began,
        span: terms.span.clone(),
        board: Board::new(lanes, terms.concurrency.max(1), terms.until),
    }));
    (0..runners).for_each(|_| hire(&round.0));
    loop {
        tokio::select! {
            biased;
            () = round.0.board.deserted() => break,
            () = sleep_until(terms.until) => break,
            () = sleep(PATIENCE), if round.0.board.wants_runners() => hire(&round.0),
        }
    }
    // What a handler finished in the meantime counts; one that holds on to its thread is left behind.
    if round.0.board.close() {
        let _ = timeout_at(Instant::now() + GRACE, round.0.board.deserted()).await;
    }
    round.0.board.take(terms.began)
}

/// No handler outlives its batch, also where nobody waits for the batch any more.
struct Round<H>(Arc<Job<H>>);

impl<H> Drop for Round<H> {
    fn drop(&mut self) {
        self.0.board.close();
    }
}

fn ran(started: Instant, ended: Instant, began: Instant) -> Ran {
    Ran { took: ended.duration_since(started), ended: ended.duration_since(began) }
}
