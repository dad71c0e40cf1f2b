//! Turns the records of a Lambda batch into its response: the shell around an engine for one batch.
#![expect(clippy::disallowed_methods, reason = "impure: it reads the clock, and random numbers")]

mod follow;

use std::borrow::Cow;
use std::future::Future;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, SystemTime};

use aws_lambda_events::sqs::SqsBatchResponse;
use futures_util::future::{join_all, try_join_all};
use tokio::sync::Notify;
use tokio::time::Instant;
use tracing::{Instrument, warn};

use crate::aws::{CloudWatch, Sqs};
use crate::error::Error;
use crate::message::bodies::AnyBodies;
use redrive_engine::decide::Policy;
use redrive_engine::{Secret, Settlement, Shared};
use redrive_event::Entry;

use crate::failure::classifier::FailureClassifier;
use crate::handler::hook::Hooks;
pub(crate) use crate::lambda::follow::make_call;
use crate::message::console_test;
use crate::message::invocation::Invocation;
use crate::message::record::{BatchContext, Record};
use crate::message::record_fn::RecordFn;
use crate::message::records::{Received, Records};
use crate::once::Rules;
use crate::runners::wall::Wall;
use crate::runners::{AnyHandler, Chunks, Host, OnceTerms, Terms, Work};
use crate::settings::{InvalidSetting, Settings};
use crate::telemetry::message_report::MessageReport;
use crate::telemetry::report::{report, response};
use crate::telemetry::{log, metrics};
use redrive_observers::BatchReport;

/// The user's closure that is called with every report.
pub(crate) type Observer = Arc<dyn Fn(&BatchReport) + Send + Sync>;

/// The wall clock of a simulation, in place of the machine's.
pub(crate) type WallClock = Arc<dyn Fn() -> SystemTime + Send + Sync>;

/// The last part of an invocation, in which no call to AWS may run: it is reserved for the response.
pub(crate) const FOR_THE_RESPONSE: Duration = Duration::from_millis(100);

/// The longest time that the answer waits for each hook and observer, as for a call to AWS.
const FOR_LISTENERS: Duration = Duration::from_secs(2);

/// The ARN of the queue that the settings apply to: the queue of the first batch.
pub(crate) type Source = OnceLock<String>;

/// The consumer's settings and clients, as a batch needs them.
#[derive(Clone, Copy)]
pub(crate) struct LambdaShell<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) sqs: Option<&'a Sqs>,
    pub(crate) cloudwatch: Option<&'a CloudWatch>,
    pub(crate) observers: &'a [Observer],
    pub(crate) classifier: &'a FailureClassifier,
    pub(crate) hooks: &'a Hooks,
    pub(crate) bodies: Option<&'a Arc<dyn AnyBodies>>,
    pub(crate) once: Option<&'a Rules>,
    pub(crate) chunks: Chunks,
    pub(crate) host: &'a Host,
    pub(crate) process: &'a Process,
    pub(crate) dependencies: Option<&'a RecordFn<Vec<String>>>,
    pub(crate) rate_keys: Option<&'a RecordFn<Option<String>>>,
    pub(crate) wall_clock: Option<&'a WallClock>,
    pub(crate) source: &'a Source,
    pub(crate) shutdown: Option<&'a Shutdown>,
    /// True for the messages of a test event, see `console_test.rs`.
    pub(crate) is_console_test: bool,
}

impl LambdaShell<'_> {
    fn wall(&self) -> SystemTime {
        self.wall_clock.map_or_else(|| self.process.wall.now(), |clock| clock())
    }

    /// Handles the records of all queues at the same time, each queue with its own settings.
    pub(crate) async fn run(
        &self,
        received: Received,
        invocation: &Invocation,
        handler: &Arc<dyn AnyHandler>,
    ) -> Result<SqsBatchResponse, Error> {
        self.settings.check_function()?;
        let (began, wall) = (Instant::now(), self.wall());
        let deadline = Instant::from_std(invocation.deadline());
        let left = deadline.saturating_duration_since(began);
        let until = deadline.checked_sub(self.settings.reserve_of(left)).unwrap_or(began);
        let context_of = |entry: &Entry<'_>| {
            // The queue that a test message names is only an example.
            if console_test::is_console_test(entry.receipt_handle()) {
                let context = self.batch_context(self.settings, until, invocation);
                return Ok(BatchContext { has_dead_letter_queue: false, ..context });
            }
            let settings = self.settings.of_queue(entry.source())?;
            settings.check_dead_letter_queue(entry.source())?;
            Ok(self.batch_context(&settings, until, invocation))
        };
        let (first, others) = Records::by_queue(received, context_of)?;
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

    pub(crate) fn batch_context(
        &self,
        settings: &Settings,
        until: Instant,
        invocation: &Invocation,
    ) -> BatchContext {
        BatchContext {
            max_receive_count: settings.max_receive_count.as_deref().copied(),
            has_dead_letter_queue: self.sqs.is_some() && settings.dead_letter_queue_url.is_some(),
            overrides: settings.overrides.unwrap_or_default(),
            origin_senders: settings.origin_senders.as_deref().cloned(),
            deadline: until.into_std(),
            invocation: invocation.clone(),
        }
    }

    /// Refuses messages of a second queue if the settings are for one queue. The process then ends, because the first queue may
    /// have been made up.
    fn claim(&self, records: &Records) -> Result<(), Error> {
        let (arn, settings) = (records.source(), self.settings);
        let Some(name) = settings.of_one_queue().filter(|_| settings.queues.is_empty() && !arn.is_empty())
        else {
            return Ok(());
        };
        if console_test::is_console_test_of(records.list()) {
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

    /// Handles the records of one queue, and reports the results to metrics, log, hooks and observers.
    async fn of_queue(
        &self,
        records: Records,
        (began, wall, until): (Instant, SystemTime, Instant),
        invocation: &Invocation,
        handler: &Arc<dyn AnyHandler>,
    ) -> Result<SqsBatchResponse, Error> {
        if console_test::is_untouched(records.list()) {
            log::sample(invocation, "the test message of SQS was answered without the handler");
            return Ok(SqsBatchResponse::default());
        }
        let is_console_test = console_test::is_console_test_of(records.list());
        // An event without records names no queue.
        let has_settings = !is_console_test && !records.list().is_empty();
        let settings = match has_settings {
            true => self.settings.of_queue(records.source())?,
            false => Cow::Borrowed(self.settings),
        };
        let (sqs, apart) = (self.sqs.filter(|_| !is_console_test), Process::default());
        let process = if is_console_test { &apart } else { self.process };
        let shell = LambdaShell { settings: &settings, sqs, process, is_console_test, ..*self };
        if is_console_test {
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
            let work = Work::new(handler, shell.terms(false), shell.host);
            let times = (began, until, settle_until);
            let settled = shell.follow(&work, &shared, invocation, times).await;
            let report = report(records, &settled, wall, shell.sqs.is_some());
            log::summary(&report);
            tokio::join!(
                shell.publish(&report, settle_until, false),
                shell.tell_hooks(records, &settled, wall, settle_until, false),
                log::failures(records, &settled, settle_until)
            );
            response(records, &settled)
        };
        Ok(handled.instrument(log::batch_span(invocation.request_id(), records.len())).await)
    }

    /// Calls the observers, and publishes the metrics of a Lambda batch. A worker publishes them once a minute instead.
    pub(crate) async fn publish(&self, report: &BatchReport, until: Instant, is_worker: bool) {
        if self.is_console_test {
            return;
        }
        let observed = join_all(self.observers.iter().map(|observer| {
            let (observer, report) = (Arc::clone(observer), report.clone());
            self.told("an observer", async move { observer(&report) }, until)
        }));
        let published = async {
            if !is_worker {
                metrics::publish(report, None, self.settings, self.cloudwatch, until).await;
            }
        };
        tokio::join!(published, observed);
    }

    /// Returns true if there is neither an observer nor a hook.
    pub(crate) fn nobody_listens(&self) -> bool {
        self.observers.is_empty() && self.hooks.nobody_listens()
    }

    pub(crate) async fn tell_hooks(
        &self,
        records: &[Record<'_>],
        settled: &[Settlement],
        began: SystemTime,
        until: Instant,
        is_worker: bool,
    ) {
        if self.is_console_test || self.hooks.nobody_listens() {
            return;
        }
        let until = until.min(Instant::now() + FOR_LISTENERS);
        let report = |(record, settled)| MessageReport::of(record, settled, began);
        let messages = records.iter().zip(settled).map(report).collect();
        let told = self.hooks.told(messages, until.into_std(), !is_worker);
        join_all(told.into_iter().map(|told| self.told("a hook", told, until))).await;
    }

    /// Flushes the hooks of a worker.
    pub(crate) async fn flush_hooks(&self) {
        let until = Instant::now() + FOR_LISTENERS;
        let flushed = self.hooks.told(Vec::new(), until.into_std(), true);
        join_all(flushed.into_iter().map(|flushed| self.told("a hook", flushed, until))).await;
    }

    /// Runs a hook or an observer within the span of the batch.
    async fn told(&self, who: &str, code: impl Future<Output = ()> + Send + 'static, until: Instant) {
        let until = until.min(Instant::now() + FOR_LISTENERS);
        if let Err(problem) = self.host.run(code.in_current_span(), until).await {
            warn!("{who} {problem}");
        }
    }

    /// Returns the terms for running handlers. A worker gets every outcome at once.
    pub(crate) fn terms(&self, tells_all: bool) -> Terms {
        Terms {
            concurrency: self.settings.concurrency(),
            time_limit: self.settings.time_limit.as_deref().copied(),
            classifier: self.classifier.clone(),
            hooks: self.hooks.clone(),
            bodies: self.bodies.cloned(),
            once: self.once.filter(|_| !self.is_console_test).map(|rules| OnceTerms {
                rules: rules.clone(),
                renewed: tells_all.then(|| self.settings.visibility_timeout()),
            }),
            chunks: self.chunks,
            // A worker runs several chunks at a time.
            fetches: if tells_all { 1 } else { self.settings.concurrency() },
            tells_all,
        }
    }

    /// Returns the rules for the messages of a queue.
    pub(crate) fn policy(&self, source: &str, has_dead_letter_queue: bool) -> Policy<'_> {
        let names_dependencies = self.dependencies.is_some();
        let has_store = self.once.is_some() && !self.is_console_test;
        Policy { names_dependencies, has_store, ..self.settings.policy(source, has_dead_letter_queue) }
    }
}

/// The state that the batches of a process share.
#[derive(Debug)]
pub(crate) struct Process {
    shared: Mutex<Shared>,
    wall: Wall,
    /// The start of the first batch by both clocks.
    started: OnceLock<(Instant, SystemTime)>,
}

impl Default for Process {
    fn default() -> Self {
        // The standard library seeds its hashes with random numbers of the system.
        let random = || RandomState::new().hash_one(());
        let secret = Secret::new(random(), random());
        Self { shared: Mutex::new(Shared::new(secret)), wall: Wall::new(), started: OnceLock::new() }
    }
}

impl Process {
    pub(crate) fn secret(&self) -> Secret {
        self.shared().secret
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the time since the epoch of the wall clock. The steady clock may stand still while Lambda has frozen the
    /// process, and the wall clock may be set back. A `simulated` clock may be ahead of both.
    fn since_epoch(&self, wall: SystemTime, simulated: Option<Duration>) -> Duration {
        let steady = Instant::now();
        let (started, first) = *self.started.get_or_init(|| (steady, wall));
        let passed =
            wall.duration_since(first).unwrap_or_default().max(steady.saturating_duration_since(started));
        let now = first.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default() + passed;
        now.max(simulated.unwrap_or_default())
    }
}

/// Ends a process that can handle no more batches, after it has answered the batches that it has received.
#[derive(Debug, Default)]
pub(crate) struct Shutdown {
    state: Mutex<Unanswered>,
    is_complete: Notify,
}

#[derive(Debug, Default)]
struct Unanswered {
    why: Option<Error>,
    unanswered: usize,
}

impl Shutdown {
    fn state(&self) -> MutexGuard<'_, Unanswered> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the shutdown; only the first reason is kept.
    fn begin(&self, why: Error) {
        self.state().why.get_or_insert(why);
    }

    /// Counts a batch that must be answered.
    pub(crate) fn received(&self) {
        self.state().unanswered += 1;
    }

    /// Counts an answered batch. During a shutdown this never returns, so that the process requests no other batch.
    pub(crate) async fn answered(&self) {
        let ends = {
            let mut state = self.state();
            state.unanswered -= 1;
            if state.why.is_some() && state.unanswered == 0 {
                self.is_complete.notify_one();
            }
            state.why.is_some()
        };
        if ends {
            std::future::pending().await
        }
    }

    /// Waits until a shutdown was started and every received batch was answered.
    pub(crate) async fn completed(&self) -> Error {
        loop {
            self.is_complete.notified().await;
            if let Some(why) = self.state().why.take() {
                return why;
            }
        }
    }
}
