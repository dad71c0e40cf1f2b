//! Where the user's code runs: decoding, the handler, and what is asked of the user about its failures.

use std::any::Any;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::runtime::Handle;
use tokio::task::coop::consume_budget;
use tokio::time::{Instant, timeout};
use tracing::{Instrument, Span};

use super::board::Board;
use super::ran;
use crate::batch::Outcome;
use crate::judge::Judge;
use crate::message::FromMessage;
use crate::record::Record;
use crate::records::Records;
use crate::{Failure, Handler, log};

/// Everything that the runners of a round share.
pub(super) struct Job<H> {
    pub(super) records: Arc<Records>,
    pub(super) order: Arc<[usize]>,
    pub(super) handler: Arc<H>,
    pub(super) workers: Handle,
    pub(super) time_limit: Option<Duration>,
    pub(super) judge: Judge,
    pub(super) began: Instant,
    pub(super) span: Span,
    pub(super) board: Board,
}

/// Sets one more runner to work, if there is work for one.
pub(super) fn hire<H, M>(job: &Arc<Job<H>>)
where
    H: Handler<M>,
    M: FromMessage,
{
    let Some(seat) = job.board.seat() else { return };
    let seat = Seat { job: Arc::clone(job), seat };
    job.board.note(job.workers.spawn(run(seat)).abort_handle());
}

/// A runner's place at the board; it is given up whatever becomes of the runner.
struct Seat<H> {
    job: Arc<Job<H>>,
    seat: usize,
}

impl<H> Drop for Seat<H> {
    fn drop(&mut self) {
        let cut_off = || match std::thread::panicking() {
            true => Outcome::Panicked("a panic while it was cancelled".to_owned()),
            false => Outcome::TimedOut,
        };
        self.job.board.leave(self.seat, cut_off, self.job.began);
    }
}

async fn run<H, M>(seat: Seat<H>)
where
    H: Handler<M>,
    M: FromMessage,
{
    let job = &*seat.job;
    let mut now = Instant::now();
    while let Some(lane) = job.board.next_lane(now) {
        for &index in &job.order[lane] {
            if !job.board.begin(seat.seat, index, now) {
                return;
            }
            let (outcome, started) = handle(&seat, &job.records.list()[index], now).await;
            now = Instant::now();
            let goes_on = outcome.lets_the_lane_go_on();
            let ran = started.map(|started| ran(started, now, job.began));
            job.board.finish(seat.seat, outcome, ran);
            consume_budget().await;
            if !goes_on {
                break;
            }
        }
    }
}

/// What came of a message, and when its handler started, if it did.
type Handled = (Outcome, Option<Instant>);

/// One message. The first time that it has to wait, somebody else may take the next.
async fn handle<H, M>(seat: &Seat<H>, record: &Record<'_>, begun: Instant) -> Handled
where
    H: Handler<M>,
    M: FromMessage,
{
    let job = &*seat.job;
    let handled = async { job.handle(record).instrument(log::message_span(&job.span, record)).await };
    let mut handled = pin!(AssertUnwindSafe(handled).catch_unwind());
    let mut waits = false;
    let handled = poll_fn(|context| {
        let polled = handled.as_mut().poll(context);
        if polled.is_pending() && !std::mem::replace(&mut waits, true) {
            hire(&seat.job);
        }
        polled
    });
    match handled.await {
        Ok(handled) => handled,
        Err(panic) => {
            let text = text_of(&*panic);
            // A panic's own value may panic when it is dropped.
            if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
                std::mem::forget(again);
            }
            (Outcome::Panicked(text), Some(begun))
        }
    }
}

impl<H> Job<H> {
    async fn handle<M>(&self, record: &Record<'_>) -> Handled
    where
        H: Handler<M>,
        M: FromMessage,
    {
        let attempt = record.attempt();
        let message = match M::from_message(record) {
            Ok(message) => message,
            Err(error) => {
                return (Outcome::Failed(self.judge.malformed(Failure::malformed(error), attempt)), None);
            }
        };
        let started = Instant::now();
        let handled = self.handler.call(message);
        let result = match self.time_limit {
            Some(limit) => timeout(limit, handled).await,
            None => Ok(handled.await),
        };
        let outcome = match result {
            Ok(Ok(())) => Outcome::Done,
            Ok(Err(failure)) => Outcome::Failed(self.judge.failed(failure, attempt)),
            Err(_elapsed) => Outcome::TimedOut,
        };
        (outcome, Some(started))
    }
}

fn text_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a panic without a text").chars().take(256).collect()
}
