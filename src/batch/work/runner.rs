//! Runs the user's code: decoding, the handler, and the closures that classify failures.

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

use super::{Job, SLOW, ran, start_runner};
use crate::batch::Outcome;
use crate::hook::{Delivery, Next};
use crate::message::FromMessage;
use crate::panic::{catch, panic_text};
use crate::record::Record;
use crate::{Failure, Handler, log};

/// A runner's claim on a slot. Dropping it frees the slot, however the runner ends.
pub(super) struct Claim<H> {
    job: Arc<Job<H>>,
    slot: usize,
}

impl<H> Claim<H> {
    pub(super) fn new(job: &Arc<Job<H>>, slot: usize) -> Self {
        Self { job: Arc::clone(job), slot }
    }
}

impl<H> Drop for Claim<H> {
    fn drop(&mut self) {
        let dropped = || match std::thread::panicking() {
            true => Outcome::panicked("a panic while it was canceled"),
            false => Outcome::TimedOut,
        };
        self.job.queue.free_slot(self.slot, dropped);
    }
}

/// The outcome of a message, when its handler started, and whether it waited.
struct Handled {
    outcome: Outcome,
    started: Option<Instant>,
    has_waited: bool,
}

pub(super) async fn run<H, M>(claim: Claim<H>)
where
    H: Handler<M>,
    M: FromMessage,
{
    let job = &*claim.job;
    let mut now = Instant::now();
    let mut polled_since = now;
    while let Some(mut lane) = job.queue.next_lane(now) {
        while !lane.is_empty() {
            if !job.queue.begin(claim.slot, lane.clone(), now) {
                return;
            }
            let at = lane.start;
            lane.start += 1;
            let handled = handle(&claim, &job.records.list()[job.order[at]], now).await;
            now = Instant::now();
            let goes_on = handled.outcome.lets_the_lane_go_on();
            let ran = handled.started.map(|started| ran(started, now, job.terms.began));
            job.queue.finish(claim.slot, handled.outcome, ran);
            if handled.has_waited {
                polled_since = now;
            }
            if job.tasks.has_threads() && now.duration_since(polled_since) > SLOW {
                // The other messages need not wait for this runner, nor other tasks for its thread.
                start_runner::<H, M>(&claim.job);
                job.tasks.add_thread();
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

/// Handles one message. When it first waits, another runner may take the next message.
async fn handle<H, M>(claim: &Claim<H>, record: &Record<'_>, begun: Instant) -> Handled
where
    H: Handler<M>,
    M: FromMessage,
{
    let job = &*claim.job;
    let limit = job.terms.time_limit.and_then(|limit| begun.checked_add(limit));
    let limited = limit.map(|limit| record.until(limit.into_std()));
    let record = limited.as_ref().unwrap_or(record);
    let handled = async { job.handle(record).instrument(log::message_span(&job.terms.span, record)).await };
    let mut handled = pin!(Some(AssertUnwindSafe(handled).catch_unwind()));
    let mut has_waited = false;
    let ended = poll_fn(|context| {
        let is_awaited = !has_waited || job.queue.resume(claim.slot);
        if is_awaited
            && let Some(handled) = handled.as_mut().as_pin_mut()
            && let Poll::Ready(ended) = handled.poll(context)
        {
            return Poll::Ready(ended.map_err(panic_text));
        }
        if !is_awaited || job.queue.wait(claim.slot, context.waker()) {
            // Dropping the handler's future runs user code.
            let dropped = catch(|| handled.set(None));
            return Poll::Ready(dropped.map(|()| (Outcome::TimedOut, Some(begun))));
        }
        if !std::mem::replace(&mut has_waited, true) {
            start_runner::<H, M>(&claim.job);
        }
        Poll::Pending
    });
    let (outcome, started) = ended.await.unwrap_or_else(|text| {
        // The timers of a runtime that has been shut down panic, which is no fault of the message.
        (Outcome::Panicked { text, again: job.tasks.has_lost_its_context() }, Some(begun))
    });
    Handled { outcome, started, has_waited }
}

impl<H> Job<H> {
    /// Calls the handler within the hooks, and says when it started.
    async fn handle<M>(&self, record: &Record<'_>) -> (Outcome, Option<Instant>)
    where
        H: Handler<M>,
        M: FromMessage,
    {
        let (hooks, judge) = (&self.terms.hooks, &self.terms.judge);
        let mut started = None;
        let called = self.call(record, &mut started);
        let result = if hooks.is_empty() {
            called.await
        } else {
            hooks.around(&Delivery::new(&[record]), Next::new(called)).await
        };
        let outcome = match result {
            Ok(()) => Outcome::Done,
            Err(failure) => Outcome::Failed(judge.failed(failure, record.attempt())),
        };
        (outcome, started)
    }

    async fn call<M>(&self, record: &Record<'_>, started: &mut Option<Instant>) -> Result<(), Failure>
    where
        H: Handler<M>,
        M: FromMessage,
    {
        let body = match &self.terms.bodies {
            Some(bodies) => bodies.body(record).await?,
            None => None,
        };
        let message = match &body {
            Some(body) => M::from_message(&record.with_body(body)),
            None => M::from_message(record),
        };
        let message = message.map_err(Failure::malformed)?;
        *started = Some(Instant::now());
        self.handler.call(message).await
    }
}
