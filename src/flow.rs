//! A batch from its records to its response. Each outcome is decided on and settled as soon as it is known; only messages
//! that were not started wait for the end. A batch ends at a deadline, or when nothing is left to run.
#![expect(clippy::disallowed_methods, reason = "impure: it reads the clock, and random numbers")]

mod shutdown;
mod progress;
mod publish;
mod settling;
mod source;
mod streak;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use aws_lambda_events::sqs::SqsBatchResponse;
use futures_util::future::try_join_all;
use tokio::time::{Instant, sleep_until};
use tracing::Instrument;

use crate::aws::{CloudWatch, Sqs};
use crate::batch::decide::Policy;
use crate::batch::plan::plan;
use crate::batch::report::{report, response};
use crate::batch::work::{Chunks, GRACE, Host, Input, ReadyQueue, Terms, Work};
use crate::bodies::AnyBodies;
use crate::error::{Error, Kind};
use crate::event::Entry;
use crate::flow::progress::{Progress, Step};
use crate::flow::settling::Settling;
pub(crate) use crate::flow::shutdown::Shutdown;
pub(crate) use crate::flow::source::Source;
pub(crate) use crate::flow::streak::Streak;
use crate::hook::Hooks;
use crate::judge::Judge;
use crate::record::Limits;
use crate::records::{Received, Records};
use crate::settings::Settings;
use crate::{BatchReport, Handler, Invocation, log, sample};

/// The user's closure that is called with every report.
pub(crate) type Observer = Arc<dyn Fn(&BatchReport) + Send + Sync>;

/// The last part of an invocation, in which no call to AWS may run: it is reserved for the response.
pub(crate) const FOR_THE_RESPONSE: Duration = Duration::from_millis(100);

/// The consumer's settings and clients, as a batch needs them.
#[derive(Clone, Copy)]
pub(crate) struct Flow<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) sqs: Option<&'a Sqs>,
    pub(crate) cloudwatch: Option<&'a CloudWatch>,
    pub(crate) observer: Option<&'a Observer>,
    pub(crate) judge: &'a Judge,
    pub(crate) hooks: &'a Hooks,
    pub(crate) bodies: Option<&'a Arc<dyn AnyBodies>>,
    pub(crate) chunks: Chunks,
    pub(crate) host: &'a Host,
    pub(crate) streak: &'a Streak,
    pub(crate) source: &'a Source,
    pub(crate) shutdown: Option<&'a Shutdown>,
    /// The messages are those of a test event, see `sample.rs`.
    pub(crate) is_sample: bool,
}

impl Flow<'_> {
    /// Handles the records of each queue with that queue's settings, at the same time.
    pub(crate) async fn run<H, M>(
        &self,
        received: Received,
        invocation: &Invocation,
        handler: &Arc<H>,
    ) -> Result<SqsBatchResponse, Error>
    where
        H: Handler<M>,
        M: Input,
    {
        let (began, wall) = (Instant::now(), SystemTime::now());
        let deadline = Instant::from_std(invocation.deadline());
        let left = deadline.saturating_duration_since(began);
        let until = deadline.checked_sub(self.settings.reserve_of(left)).unwrap_or(began);
        let limits = |entry: &Entry<'_>| {
            let settings = self.settings_of(entry)?;
            Ok(Limits {
                max_receive_count: settings.max_receive_count,
                has_dead_letter_queue: self.sqs.is_some()
                    && settings.dead_letter_queue_url.is_some()
                    && !sample::is_sample(entry.receipt_handle()),
                overrides: settings.overrides.unwrap_or_default(),
                origin_senders: settings.origin_senders.clone(),
                deadline: until.into_std(),
                invocation: invocation.clone(),
            })
        };
        let (first, others) = Records::by_queue(received, limits)?;
        std::iter::once(&first).chain(&others).try_for_each(|records| self.claim(records))?;
        let of_queue = |records| self.of_queue(records, (began, wall, until), invocation, handler);
        if others.is_empty() {
            return of_queue(first).await;
        }
        let responses = try_join_all(std::iter::once(first).chain(others).map(of_queue)).await?;
        let mut response = SqsBatchResponse::default();
        response.batch_item_failures =
            responses.into_iter().flat_map(|response| response.batch_item_failures).collect();
        Ok(response)
    }

    /// Handles the records of one queue.
    async fn of_queue<H, M>(
        &self,
        records: Records,
        times: (Instant, SystemTime, Instant),
        invocation: &Invocation,
        handler: &Arc<H>,
    ) -> Result<SqsBatchResponse, Error>
    where
        H: Handler<M>,
        M: Input,
    {
        if sample::is_untouched(records.list()) {
            log::sample(invocation, "the test message of SQS was answered without the handler");
            return Ok(SqsBatchResponse::default());
        }
        let is_sample = sample::is_sample_of(records.list());
        // An event without records is from no queue.
        let has_settings = !is_sample && !records.list().is_empty();
        let settings = match has_settings {
            true => self.settings.of_queue(records.source())?,
            false => Cow::Borrowed(self.settings),
        };
        let flow = Flow { settings: &settings, sqs: self.sqs.filter(|_| !is_sample), is_sample, ..*self };
        Ok(flow.batch(records, times, invocation, handler).await)
    }

    async fn batch<H, M>(
        &self,
        records: Records,
        (began, wall, until): (Instant, SystemTime, Instant),
        invocation: &Invocation,
        handler: &Arc<H>,
    ) -> SqsBatchResponse
    where
        H: Handler<M>,
        M: Input,
    {
        let shared = Arc::new(records);
        let records = shared.list();
        if self.is_sample {
            log::sample(
                invocation,
                "a test message, which is in no queue, is neither delayed, dead-lettered nor counted",
            );
        }
        let span = log::batch_span(invocation.request_id(), records.len());
        let terms = Terms {
            concurrency: self.settings.concurrency(),
            time_limit: self.settings.time_limit,
            judge: self.judge.clone(),
            hooks: self.hooks.clone(),
            bodies: self.bodies.cloned(),
            chunks: self.chunks,
            until,
            began,
            span: span.clone(),
        };
        let deadline = Instant::from_std(invocation.deadline());
        let settle_until = deadline.checked_sub(FOR_THE_RESPONSE).unwrap_or(deadline);
        let plan = plan(records);
        let has_dead_letter_queue =
            records.first().is_some_and(|record| record.limits().has_dead_letter_queue);
        let policy = Policy::of(self.settings, shared.source(), has_dead_letter_queue);
        let mut batch = Progress::new(records, &plan, policy, invocation, self.streak);
        async {
            log::unexpected_attempts(records, self.settings.max_receive_count);
            let work = Work::new(&shared, &plan.order, handler, terms, self.host);
            work.add(plan.lanes);
            self.follow(&work, &mut batch, (began, until, settle_until)).await;
            let report = report(records, &batch.settled, wall, self.sqs.is_some());
            log::summary(&report);
            tokio::join!(
                self.publish(&report, settle_until),
                self.tell_hooks(records, &batch.settled, wall, settle_until),
                log::failures(records, &batch.settled, settle_until)
            );
        }
        .instrument(span.clone())
        .await;
        response(records, &batch.settled)
    }

    /// Runs the batch until every message that was started has ended and is settled, or time is up.
    async fn follow<H, M>(
        &self,
        work: &Work<H, M>,
        batch: &mut Progress<'_>,
        (began, until, settle_until): (Instant, Instant, Instant),
    ) where
        H: Handler<M>,
        M: Input,
    {
        let url = self.settings.dead_letter_queue_url.as_deref();
        let mut settling = Settling::new(self.sqs, url, began, settle_until);
        // Set when no more messages are started: the time at which running handlers are given up.
        let mut closed: Option<Instant> = None;
        let mut is_over = false;
        work.polled_inline().await;
        loop {
            let now = Instant::now();
            let (worked, is_idle) = work.queue().take();
            batch.note(worked);
            if let Some(shutdown) = self.shutdown
                && self.streak.is_too_long()
            {
                shutdown.begin(Error(Kind::Panics));
                work.queue().stop();
            }
            if let Some(given_up_at) = closed
                && !is_over
                && (is_idle || now >= given_up_at)
            {
                is_over = true;
                self.end(work.queue(), batch);
            }
            for step in std::mem::take(&mut batch.steps) {
                match step {
                    Step::GoOn(rest) => work.add(vec![rest]),
                    Step::Letter { .. } | Step::Change(_) => settling.add(&step, now),
                }
            }
            let is_quiet = is_over || (is_idle && work.queue().is_idle());
            settling.send(batch, now, is_quiet);
            if is_quiet && settling.is_done() {
                if is_over {
                    return;
                }
                // Only messages that could not be started are left.
                closed = Some(now);
                batch.close();
                work.queue().close();
                continue;
            }
            let open = closed.is_none().then_some(until);
            let close_by = closed.filter(|_| !is_over);
            let check_at = work.check_at(now).filter(|_| closed.is_none());
            let next = [open, close_by, check_at, settling.due_at()].into_iter().flatten().min();
            tokio::select! {
                biased;
                () = work.changed(), if !is_quiet => {}
                () = settling.answered(batch), if settling.is_under_way() => {}
                () = sleep_until(next.unwrap_or(settle_until)) => {
                    let now = Instant::now();
                    if closed.is_none() && now >= until {
                        closed = Some(now + GRACE);
                        batch.close();
                        work.queue().close();
                    } else if closed.is_none() {
                        work.check(now);
                    }
                }
            }
        }
    }

    /// Gives up the messages that still run, and releases those that were not started.
    fn end(&self, queue: &ReadyQueue, batch: &mut Progress<'_>) {
        batch.note(queue.take().0);
        let (given_up, left) = (queue.give_up(), queue.not_started());
        let all_have_run = given_up.is_empty() && left.is_empty();
        if let Some(shutdown) = self.shutdown
            && !all_have_run
            && self.host.is_exhausted()
        {
            shutdown.begin(Error(Kind::Blocked));
            batch.end_process();
        }
        batch.note(given_up);
        left.into_iter().for_each(|rest| batch.release(rest));
    }
}

#[cfg(test)]
mod tests;
