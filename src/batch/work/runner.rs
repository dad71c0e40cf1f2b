//! Where the user's code runs: decoding, the handler, and what is asked of the user about its failures.

use std::future::{Future, poll_fn};
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use futures_util::FutureExt;
use tokio::task::coop::consume_budget;
use tokio::task::yield_now;
use tokio::time::Instant;
use tracing::Instrument;

use super::{Job, PATIENCE, hire, ran};
use crate::batch::Outcome;
use crate::message::FromMessage;
use crate::panic::{caught, words};
use crate::record::Record;
use crate::{Failure, Handler, log};

/// A runner's place at the board; it is given up whatever becomes of the runner.
pub(super) struct Seat<H> {
    job: Arc<Job<H>>,
    number: usize,
}

impl<H> Seat<H> {
    pub(super) fn new(job: &Arc<Job<H>>, number: usize) -> Self {
        Self { job: Arc::clone(job), number }
    }
}

impl<H> Drop for Seat<H> {
    fn drop(&mut self) {
        let dropped = || match std::thread::panicking() {
            true => Outcome::panicked("a panic while it was cancelled"),
            false => Outcome::TimedOut,
        };
        self.job.board.leave(self.number, dropped, self.job.terms.began);
    }
}

/// What came of a message, when its handler started, if it did, and whether it had to wait.
struct Handled {
    outcome: Outcome,
    started: Option<Instant>,
    has_waited: bool,
}

pub(super) async fn run<H, M>(seat: Seat<H>)
where
    H: Handler<M>,
    M: FromMessage,
{
    let job = &*seat.job;
    let mut now = Instant::now();
    let mut polled_since = now;
    while let Some(mut lane) = job.board.next_lane(now) {
        while !lane.is_empty() {
            if !job.board.begin(seat.number, lane.clone(), now) {
                return;
            }
            let at = lane.start;
            lane.start += 1;
            let handled = handle(&seat, &job.records.list()[job.order[at]], now).await;
            now = Instant::now();
            let goes_on = handled.outcome.lets_the_lane_go_on();
            let ran = handled.started.map(|started| ran(started, now, job.terms.began));
            job.board.finish(seat.number, handled.outcome, ran);
            if handled.has_waited {
                polled_since = now;
            }
            if job.tasks.has_threads() && now.duration_since(polled_since) > PATIENCE {
                // Others may run beside this one, and whoever polls it has more to do.
                hire::<H, M>(&seat.job);
                job.tasks.share();
                yield_now().await;
                now = Instant::now();
                polled_since = now;
            } else {
                consume_budget().await;
            }
            if !goes_on {
                break;
            }
        }
    }
}

/// One message. The first time that it has to wait, somebody else may take the next.
async fn handle<H, M>(seat: &Seat<H>, record: &Record<'_>, begun: Instant) -> Handled
where
    H: Handler<M>,
    M: FromMessage,
{
    let job = &*seat.job;
    let handled = async { job.handle(record).instrument(log::message_span(&job.terms.span, record)).await };
    let mut handled = pin!(Some(AssertUnwindSafe(handled).catch_unwind()));
    let mut has_waited = false;
    let ended = poll_fn(|context| {
        let is_wanted = !has_waited || job.board.resume(seat.number);
        if is_wanted
            && let Some(handled) = handled.as_mut().as_pin_mut()
            && let Poll::Ready(ended) = handled.poll(context)
        {
            return Poll::Ready(ended.map_err(words));
        }
        if !is_wanted || job.board.wait(seat.number, context.waker()) {
            // What is dropped is the user's.
            let dropped = caught(|| handled.set(None));
            return Poll::Ready(dropped.map(|()| (Outcome::TimedOut, Some(begun))));
        }
        if !std::mem::replace(&mut has_waited, true) {
            hire::<H, M>(&seat.job);
        }
        Poll::Pending
    });
    let (outcome, started) = ended.await.unwrap_or_else(|text| {
        // Timers of a runtime that is gone panic, which is no fault of a message.
        (Outcome::Panicked { text, again: job.tasks.has_lost_its_context() }, Some(begun))
    });
    Handled { outcome, started, has_waited }
}

impl<H> Job<H> {
    async fn handle<M>(&self, record: &Record<'_>) -> (Outcome, Option<Instant>)
    where
        H: Handler<M>,
        M: FromMessage,
    {
        let (attempt, judge) = (record.attempt(), &self.terms.judge);
        let message = match M::from_message(record) {
            Ok(message) => message,
            Err(error) => {
                return (Outcome::Failed(judge.malformed(Failure::malformed(error), attempt)), None);
            }
        };
        let started = Instant::now();
        let outcome = match self.handler.call(message).await {
            Ok(()) => Outcome::Done,
            Err(failure) => Outcome::Failed(judge.failed(failure, attempt)),
        };
        (outcome, Some(started))
    }
}
