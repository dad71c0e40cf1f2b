//! Runs the user's code: decoding, the handler, and the closures that classify failures.

use std::future::{Future, poll_fn};
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::Poll;

use futures_util::{FutureExt, TryFutureExt as _};
use tokio::task::coop::consume_budget;
use tokio::task::yield_now;
use tokio::time::{Duration, Instant};
use tracing::Instrument;

use super::once::OnceGuard;
use super::ready_queue::{ReadyQueue, What};
use super::{Begun, Job, SLOW, ran};
use crate::failure::Failure;
use crate::handler::Handler;
use crate::message::FromMessage;
use crate::message::bodies::Body;
use crate::message::record::Record;
use crate::telemetry::log;
use redrive_engine::{Outcome, Ran};
use redrive_executor::{catch, panic_text};

/// Makes one call of the handler after the other. Dropping it frees its slot, however it ends.
pub(crate) struct Runner {
    pub(super) job: Arc<Job>,
    pub(super) slot: usize,
    /// The last time that it made way for other tasks.
    polled_since: Instant,
}

impl Drop for Runner {
    fn drop(&mut self) {
        let dropped = match std::thread::panicking() {
            true => Outcome::panicked("a panic while it was canceled"),
            false => Outcome::TimedOut,
        };
        self.job.queue.free_slot(self.slot, dropped);
    }
}

impl Runner {
    /// Starts one more runner if there is a lane for it.
    pub(super) fn start(job: &Arc<Job>) {
        if let Some(slot) = job.queue.claim_slot() {
            let runner = Self { job: Arc::clone(job), slot, polled_since: Instant::now() };
            job.tasks.spawn(job.handler.run(runner));
        }
    }

    /// Notes that a thread has taken the runner. Returns the time.
    pub(super) fn started(&mut self) -> Instant {
        self.polled_since = Instant::now();
        self.polled_since
    }

    /// Polls user code until it ends or is canceled. When it first waits, another runner may take the next message. The error
    /// is the outcome of a panic or of the cancellation. The bool is true if the code has waited. Once a lease may have ended,
    /// the code waits until the engine has checked it.
    ///
    /// It creates the future itself, because a future that is passed by value is stored twice, and each runner's would have 10
    /// KB.
    pub(super) async fn call<F: Future>(
        &self,
        of: &Begun,
        code: impl FnOnce() -> F,
        times: &Times,
    ) -> (Result<F::Output, Outcome>, bool) {
        let job = &*self.job;
        let mut code = pin!(Some(AssertUnwindSafe(code()).catch_unwind()));
        let mut has_waited = false;
        let ended = poll_fn(|context| {
            let is_awaited = !has_waited || job.queue.resume(self.slot);
            let is_ours = of.is_ours();
            if is_awaited
                && is_ours
                && let Some(code) = code.as_mut().as_pin_mut()
                && let Poll::Ready(ended) = code.poll(context)
            {
                return Poll::Ready(ended.map(Ok).map_err(panic_text));
            }
            let wait = if is_ours { ReadyQueue::wait } else { ReadyQueue::wait_for_lease };
            if !is_awaited || wait(&job.queue, self.slot, context.waker()) {
                // Dropping the handler's future runs user code.
                return Poll::Ready(catch(|| code.set(None)).map(|()| Err(Outcome::TimedOut)));
            }
            if !std::mem::replace(&mut has_waited, true) {
                Self::start(&self.job);
            }
            Poll::Pending
        });
        let panicked = |text| Err(job.panicked(text, times.is_reading()));
        (ended.await.unwrap_or_else(panicked), has_waited)
    }

    /// Polls code until it ends, even if the message is canceled meanwhile. Returns `None` if the message is given up. Another
    /// runner may take the next message while it waits.
    pub(super) async fn until_given_up<T>(&self, code: impl Future<Output = T>) -> Option<T> {
        let mut code = pin!(code);
        let mut has_waited = false;
        let ended = poll_fn(|context| {
            if !self.job.queue.resume(self.slot) {
                return Poll::Ready(None);
            }
            if let Poll::Ready(ended) = code.as_mut().poll(context) {
                return Poll::Ready(Some(ended));
            }
            self.job.queue.pause(self.slot, context.waker());
            if !std::mem::replace(&mut has_waited, true) {
                Self::start(&self.job);
            }
            Poll::Pending
        });
        ended.await
    }

    /// Makes way for other tasks and runners after a call. Returns the time.
    pub(super) async fn make_way(&mut self, has_waited: bool, now: Instant) -> Instant {
        if has_waited {
            self.polled_since = now;
        }
        if let Some(executor) = self.job.tasks.executor()
            && now.duration_since(self.polled_since) > SLOW
        {
            // The other messages need not wait for this runner, nor other tasks for its thread.
            Self::start(&self.job);
            executor.add_thread();
            yield_now().await;
            self.started()
        } else {
            consume_budget().await;
            now
        }
    }
}

pub(super) async fn run<H, M>(handler: Arc<H>, mut runner: Runner)
where
    H: Handler<M>,
    M: FromMessage,
{
    let job = Arc::clone(&runner.job);
    let mut now = runner.started();
    while let Some((of, Some(lane))) = job.queue.next(now, |_, lanes| lanes.pop_front()) {
        for at in lane {
            if !job.queue.begin(runner.slot, &of, What::One(at), now, Duration::ZERO) {
                break;
            }
            let record = of.record(at);
            let limited = job.limited(record, now);
            let record = limited.as_ref().unwrap_or(record);
            let times = Times::default();
            let span = || log::message_span(&of.span, record);
            let guard = OnceGuard::new(&of);
            let handled = || async { job.handle(&*handler, record, &times, &guard).instrument(span()).await };
            let (handled, has_waited) = runner.call(&of, handled, &times).await;
            let mut outcome = handled.unwrap_or_else(|ended| ended);
            now = Instant::now();
            let ran = times.ran(now, of.began);
            if job.terms.once.is_some() {
                outcome = runner.record(guard, outcome).await;
                now = Instant::now();
            }
            let goes_on = outcome.lets_the_lane_go_on();
            if !job.queue.finish(runner.slot, outcome, ran) {
                return;
            }
            now = runner.make_way(has_waited, now).await;
            if !goes_on {
                break;
            }
        }
    }
}

impl Job {
    /// Returns the record with the time limit of a call that begins now, if there is one.
    pub(super) fn limited<'r>(&self, record: &'r Record<'_>, now: Instant) -> Option<Record<'r>> {
        let limit = self.terms.time_limit.and_then(|limit| now.checked_add(limit))?;
        Some(record.until(limit.into_std()))
    }

    /// Returns the outcome of a panic. After a shutdown of the runtime its timers panic, which the message did not cause.
    pub(super) fn panicked(&self, text: String, is_early: bool) -> Outcome {
        let executor = self.tasks.executor();
        let again = executor.is_some_and(|executor| executor.has_lost_its_context());
        Outcome::Panicked { text, again, is_early }
    }
}

impl Job {
    /// Calls the handler within the hooks.
    async fn handle<H, M>(
        &self,
        handler: &H,
        record: &Record<'_>,
        times: &Times,
        guard: &OnceGuard<'_>,
    ) -> Outcome
    where
        H: Handler<M>,
        M: FromMessage,
    {
        let result = self.terms.hooks.around(&[record], || self.call(handler, record, times, guard)).await;
        if let Some(outcome) = guard.ended() {
            return outcome;
        }
        match result {
            Ok(()) => Outcome::Done,
            Err(failure) => Outcome::Failed(self.terms.classifier.failed(failure, record.attempt())),
        }
    }

    async fn call<H, M>(
        &self,
        handler: &H,
        record: &Record<'_>,
        times: &Times,
        guard: &OnceGuard<'_>,
    ) -> Result<(), Failure>
    where
        H: Handler<M>,
        M: FromMessage,
    {
        let once = self.terms.once.as_ref();
        let (message, claim) = times
            .reads(async {
                // The body is dropped before the handler runs, which has its content.
                let body = match &self.terms.bodies {
                    Some(bodies) => bodies.body(record).await?,
                    None => None,
                };
                let body = body.as_ref().map(Body::as_str);
                let message: M = decode(record, body)?;
                let body = body.unwrap_or(record.body());
                let claim = once.map(|once| once.claim(record, &message, body)).transpose()?;
                Ok::<_, Failure>((message, claim))
            })
            .await?;
        let handler = || times.of(|| handler.call(message).map_err(Into::into));
        match once.zip(claim) {
            Some((once, claim)) => Box::pin(guard.run(self, once, (claim, record), handler)).await,
            None => handler().await,
        }
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

/// The time that a handler ran, without its hooks and the source of bodies, and whether its message is still being read.
#[derive(Default)]
pub(super) struct Times {
    called: OnceLock<Instant>,
    returned: OnceLock<Instant>,
    is_reading: AtomicBool,
}

impl Times {
    /// Fetches and decodes a message.
    async fn reads<T>(&self, reading: impl Future<Output = T>) -> T {
        self.is_reading.store(true, Ordering::Relaxed);
        let message = reading.await;
        self.is_reading.store(false, Ordering::Relaxed);
        message
    }

    /// Returns true if fetching or decoding has begun and has not returned.
    fn is_reading(&self) -> bool {
        self.is_reading.load(Ordering::Relaxed)
    }

    /// Measures a call of the handler, including code that `call` runs before it returns its future.
    pub(super) async fn of<R: Future>(&self, call: impl FnOnce() -> R) -> R::Output {
        self.called.get_or_init(Instant::now);
        let result = call().await;
        self.returned.get_or_init(Instant::now);
        result
    }

    /// Returns the time of the call, or `None` if the handler was not called. A handler that did not return ran until `now`.
    pub(super) fn ran(&self, now: Instant, began: Instant) -> Option<Ran> {
        let returned = self.returned.get().copied().unwrap_or(now);
        self.called.get().map(|&called| ran(called, returned, began))
    }
}
