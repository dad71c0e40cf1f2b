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

use super::times::Times;
use super::{Input, Job, SLOW, start_runner};
use crate::engine::Outcome;
use crate::hook::{Delivery, Next};
use crate::message::FromMessage;
use crate::panic::{catch, panic_text};
use crate::record::Record;
use crate::{Failure, Handler, log};

/// A runner's claim on a slot. Dropping it frees the slot, however the runner ends.
pub(crate) struct Claim<H> {
    pub(super) job: Arc<Job<H>>,
    pub(super) slot: usize,
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

/// Makes way for other tasks and runners between two calls.
pub(super) struct Pace {
    polled_since: Instant,
}

impl Pace {
    pub(super) const fn new(now: Instant) -> Self {
        Self { polled_since: now }
    }

    /// A call has ended; returns the time.
    pub(super) async fn ended<H, M>(&mut self, job: &Arc<Job<H>>, has_waited: bool, now: Instant) -> Instant
    where
        H: Handler<M>,
        M: Input,
    {
        if has_waited {
            self.polled_since = now;
        }
        if job.tasks.has_threads() && now.duration_since(self.polled_since) > SLOW {
            // The other messages need not wait for this runner, nor other tasks for its thread.
            start_runner::<H, M>(job);
            job.tasks.add_thread();
            yield_now().await;
            self.polled_since = Instant::now();
            self.polled_since
        } else {
            consume_budget().await;
            now
        }
    }
}

pub(super) async fn run<H, M>(claim: Claim<H>)
where
    H: Handler<M>,
    M: FromMessage,
{
    let job = &*claim.job;
    let mut now = Instant::now();
    let mut pace = Pace::new(now);
    while let Some(mut lane) = job.queue.next_lane(now) {
        while !lane.rest.is_empty() {
            let (of, at) = (&lane.of, lane.rest.start);
            if !job.queue.begin(claim.slot, of, at, now) {
                break;
            }
            lane.rest.start += 1;
            let record = of.record(at);
            let limited = job.limited(record, now);
            let record = limited.as_ref().unwrap_or(record);
            let times = Times::default();
            let span = || log::message_span(&of.span, record);
            let handled = async { job.handle(record, &times).instrument(span()).await };
            let (called, has_waited) = call::<H, M, _>(&claim, handled).await;
            let outcome = match called {
                Called::Returned(outcome) => outcome,
                Called::Panicked { text, again } => {
                    Outcome::Panicked { text, again, is_early: times.is_reading() }
                }
                Called::Canceled => Outcome::TimedOut,
            };
            now = Instant::now();
            let goes_on = outcome.lets_the_lane_go_on();
            if !job.queue.finish(claim.slot, outcome, times.ran(now, of.began)) {
                return;
            }
            now = pace.ended::<H, M>(&claim.job, has_waited, now).await;
            if !goes_on {
                break;
            }
        }
    }
}

/// How a call of user code ended.
pub(super) enum Called<T> {
    Returned(T),
    Panicked {
        text: String,
        /// The timers of a runtime that has been shut down panic, which is no fault of the message.
        again: bool,
    },
    Canceled,
}

/// Polls user code until it ends or is canceled, and says whether it has waited. When it first waits, another runner may
/// take the next message.
pub(super) async fn call<H, M, T>(claim: &Claim<H>, code: impl Future<Output = T>) -> (Called<T>, bool)
where
    H: Handler<M>,
    M: Input,
{
    let job = &*claim.job;
    let mut code = pin!(Some(AssertUnwindSafe(code).catch_unwind()));
    let mut has_waited = false;
    let ended = poll_fn(|context| {
        let is_awaited = !has_waited || job.queue.resume(claim.slot);
        if is_awaited
            && let Some(code) = code.as_mut().as_pin_mut()
            && let Poll::Ready(ended) = code.poll(context)
        {
            return Poll::Ready(ended.map(Called::Returned).map_err(panic_text));
        }
        if !is_awaited || job.queue.wait(claim.slot, context.waker()) {
            // Dropping the handler's future runs user code.
            return Poll::Ready(catch(|| code.set(None)).map(|()| Called::Canceled));
        }
        if !std::mem::replace(&mut has_waited, true) {
            start_runner::<H, M>(&claim.job);
        }
        Poll::Pending
    });
    let called =
        ended.await.unwrap_or_else(|text| Called::Panicked { text, again: job.tasks.has_lost_its_context() });
    (called, has_waited)
}

impl<H> Job<H> {
    /// The record with the time limit of a call that begins now, if there is one.
    pub(super) fn limited<'r>(&self, record: &'r Record<'_>, now: Instant) -> Option<Record<'r>> {
        let limit = self.terms.time_limit.and_then(|limit| now.checked_add(limit))?;
        Some(record.until(limit.into_std()))
    }

    /// Calls the handler within the hooks.
    async fn handle<M>(&self, record: &Record<'_>, times: &Times) -> Outcome
    where
        H: Handler<M>,
        M: FromMessage,
    {
        let (hooks, judge) = (&self.terms.hooks, &self.terms.judge);
        let called = self.call(record, times);
        let result = if hooks.is_empty() {
            called.await
        } else {
            hooks.around(&Delivery::new(&[record]), Next::new(called)).await
        };
        match result {
            Ok(()) => Outcome::Done,
            Err(failure) => Outcome::Failed(judge.failed(failure, record.attempt())),
        }
    }

    async fn call<M>(&self, record: &Record<'_>, times: &Times) -> Result<(), Failure>
    where
        H: Handler<M>,
        M: FromMessage,
    {
        let message = times.reads(async {
            match &self.terms.bodies {
                // The body is dropped before the handler runs, which has its content.
                Some(bodies) => decode(record, bodies.body(record).await?.as_deref()),
                None => decode(record, None),
            }
        });
        let message = message.await?;
        times.of(|| self.handler.call(message)).await
    }
}

/// Decodes a message from the body that was fetched for it, or its own.
pub(super) fn decode<M: FromMessage>(record: &Record<'_>, body: Option<&str>) -> Result<M, Failure> {
    let message = match body {
        Some(body) => M::from_message(&record.with_body(body)),
        None => M::from_message(record),
    };
    message.map_err(Failure::malformed)
}
