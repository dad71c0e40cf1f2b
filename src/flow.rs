//! A batch of Lambda's from its records to its response: the shell around an engine that follows one batch.
#![expect(clippy::disallowed_methods, reason = "impure: it reads the clock, and random numbers")]

mod follow;
mod publish;
mod shutdown;

use std::borrow::Cow;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, SystemTime};

use aws_lambda_events::sqs::SqsBatchResponse;
use futures_util::future::try_join_all;
use tokio::time::Instant;
use tracing::Instrument;

use crate::aws::{CloudWatch, Sqs};
use crate::bodies::AnyBodies;
use crate::engine::Streak;
use crate::engine::decide::Policy;
use crate::error::Error;
use redrive_event::Entry;

pub(crate) use crate::flow::follow::make_call;
pub(crate) use crate::flow::shutdown::Shutdown;
use crate::hook::Hooks;
use crate::judge::Judge;
use crate::once::Rules;
use crate::record::Limits;
use crate::records::{Received, Records};
use crate::report::{report, response};
use crate::settings::{InvalidSetting, Settings};
use crate::work::{Chunks, Host, Input, OnceTerms, Terms, Work};
use crate::{BatchReport, Handler, Invocation, log, sample};

/// The user's closure that is called with every report.
pub(crate) type Observer = Arc<dyn Fn(&BatchReport) + Send + Sync>;

/// The last part of an invocation, in which no call to AWS may run: it is reserved for the response.
pub(crate) const FOR_THE_RESPONSE: Duration = Duration::from_millis(100);

/// The queue whose settings these are, once one of its batches has come.
pub(crate) type Source = OnceLock<String>;

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
    pub(crate) once: Option<&'a Rules>,
    pub(crate) chunks: Chunks,
    pub(crate) host: &'a Host,
    pub(crate) streak: &'a Mutex<Streak>,
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
            // The queue of a test message is an example.
            if sample::is_sample(entry.receipt_handle()) {
                let limits = self.limits(self.settings, until, invocation);
                return Ok(Limits { has_dead_letter_queue: false, ..limits });
            }
            let settings = self.settings.of_queue(entry.source())?;
            settings.check_dead_letter_queue(entry.source())?;
            Ok(self.limits(&settings, until, invocation))
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

    pub(crate) fn limits(&self, settings: &Settings, until: Instant, invocation: &Invocation) -> Limits {
        Limits {
            max_receive_count: settings.max_receive_count.as_deref().copied(),
            has_dead_letter_queue: self.sqs.is_some() && settings.dead_letter_queue_url.is_some(),
            overrides: settings.overrides.unwrap_or_default(),
            origin_senders: settings.origin_senders.as_deref().cloned(),
            deadline: until.into_std(),
            invocation: invocation.clone(),
        }
    }

    /// Refuses messages of a second queue where the settings are those of one. The process then ends, since the first may have
    /// been one that somebody made up.
    fn claim(&self, records: &Records) -> Result<(), Error> {
        let (arn, settings) = (records.source(), self.settings);
        let Some(name) = settings.of_one_queue().filter(|_| settings.queues.is_empty() && !arn.is_empty())
        else {
            return Ok(());
        };
        if sample::is_sample_of(records.list()) {
            return Ok(());
        }
        let first = self.source.get_or_init(|| arn.to_owned());
        if first == arn {
            return Ok(());
        }
        let refusal = InvalidSetting::second_source(arn, first, name);
        self.shutdown.iter().for_each(|shutdown| shutdown.begin(refusal.clone().into()));
        Err(refusal.into())
    }

    /// Handles the records of one queue, and tells those who want to know.
    async fn of_queue<H, M>(
        &self,
        records: Records,
        (began, wall, until): (Instant, SystemTime, Instant),
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
        if is_sample {
            log::sample(
                invocation,
                "a test message, which is in no queue, is neither delayed, dead-lettered nor counted",
            );
        }
        let shared = Arc::new(records);
        let records = shared.list();
        let deadline = Instant::from_std(invocation.deadline());
        let settle_until = deadline.checked_sub(FOR_THE_RESPONSE).unwrap_or(deadline);
        let handled = async {
            log::unexpected_attempts(records, settings.max_receive_count.as_deref().copied());
            let work = Work::new(handler, flow.terms(false), flow.host);
            let times = (began, until, settle_until);
            let settled = flow.follow(&work, &shared, invocation, times).await;
            let report = report(records, &settled, wall, flow.sqs.is_some());
            log::summary(&report);
            tokio::join!(
                flow.publish(&report, settle_until, false),
                flow.tell_hooks(records, &settled, wall, settle_until, false),
                log::failures(records, &settled, settle_until)
            );
            response(records, &settled)
        };
        Ok(handled.instrument(log::batch_span(invocation.request_id(), records.len())).await)
    }

    /// How handlers run. A worker is told of every outcome at once.
    pub(crate) fn terms(&self, tells_all: bool) -> Terms {
        Terms {
            concurrency: self.settings.concurrency(),
            time_limit: self.settings.time_limit.as_deref().copied(),
            judge: self.judge.clone(),
            hooks: self.hooks.clone(),
            bodies: self.bodies.cloned(),
            once: self.once.filter(|_| !self.is_sample).map(|rules| OnceTerms {
                rules: rules.clone(),
                renewed: tells_all.then(|| self.settings.visibility_timeout()),
            }),
            chunks: self.chunks,
            // A worker runs several chunks at a time.
            fetches: if tells_all { 1 } else { self.settings.concurrency() },
            tells_all,
        }
    }

    /// The rules for messages of a queue.
    pub(crate) fn policy(&self, source: &str, has_dead_letter_queue: bool) -> Policy<'_> {
        Policy::of(self.settings, source, has_dead_letter_queue)
    }
}

#[cfg(test)]
mod tests;
