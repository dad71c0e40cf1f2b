//! redrive's handler: it hands messages to the runtime, and settles them by its answer.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use hyper::header::{HeaderMap, HeaderValue};
use redrive::tools::{ExitMeaning, ForeignError, receipt_handle};
use redrive::{BoxError, Bulk, Failure, FromMessage, Handler, Record};
use tokio::sync::Mutex as AsyncMutex;

use crate::classify::ClassifyRules;
use crate::event::{Key, Records};
use crate::exchange::{Answer, ErrorReport, Offer};
use crate::lambda::DEADLINE;
use crate::process::{NoAnswer, NotReady, Process, Program};
use crate::response::failed_messages;

/// Processes in a row that may end while they work on messages. Then the layer's process ends too, as after ten panics.
const MOST_CRASHES: u32 = 10;

/// A message of the batch. Its key finds its record, which the runtime gets as Lambda sent it.
#[derive(Debug)]
pub(crate) struct Delivery {
    key: Key,
    attempt: u32,
    /// True if the message runs after any number of crashes: on its last delivery, if that is not known, or if it may be in front
    /// of such a message in its group.
    must_run: bool,
    deadline: Instant,
}

impl FromMessage for Delivery {
    fn from_message(record: &Record<'_>) -> Result<Self, BoxError> {
        let key =
            Key { message_id: record.id().to_owned(), receipt_handle: receipt_handle(record).to_owned() };
        let must_run =
            record.is_last_attempt() || record.max_attempts().is_none() || record.group().is_some();
        Ok(Self { key, attempt: record.attempt(), must_run, deadline: record.deadline() })
    }
}

/// Clones share the runtime.
#[derive(Debug, Clone)]
pub(crate) struct Function {
    program: Program,
    rules: ClassifyRules,
    runtime: Arc<AsyncMutex<Runtime>>,
    batch: Arc<Mutex<BatchContext>>,
}

#[derive(Debug, Default)]
struct Runtime {
    /// `None` after the process was killed, until the next event.
    process: Option<Process>,
    /// Crashes since the last answer. An error counts as an answer, because a process that can report it works.
    crashes: u32,
}

/// Headers and records that the messages of an invocation share.
#[derive(Debug, Default)]
struct BatchContext {
    headers: HeaderMap,
    records: Records,
}

impl Function {
    pub(crate) fn new(program: Program, rules: ClassifyRules) -> Self {
        Self { program, rules, runtime: Arc::default(), batch: Arc::default() }
    }

    /// Takes the process that Lambda's init has started.
    pub(crate) async fn begin_with(&self, process: Process) {
        self.runtime.lock().await.process = Some(process);
    }

    /// Sets the batch that redrive handles next.
    pub(crate) fn begin(&self, headers: HeaderMap, records: Records) {
        *self.batch() = BatchContext { headers, records };
    }

    /// Returns the reason why this process should end, if there is one.
    pub(crate) async fn exhausted(&self) -> Option<String> {
        if self.program.has_lost_extension() {
            return Some("the function's process ended, and an extension inside of it".to_owned());
        }
        let crashes = self.runtime.lock().await.crashes;
        (crashes >= MOST_CRASHES)
            .then(|| format!("the function's process ended or failed to start {crashes} times in a row"))
    }

    /// Hands an event to the runtime whose answer Lambda gets.
    ///
    /// # Errors
    /// Lambda has received no answer.
    pub(crate) async fn pass(&self, offer: Offer) -> Result<(), NoAnswer> {
        let mut runtime = self.runtime.lock().await;
        let mut process = self.process(&mut runtime).await.map_err(NoAnswer::NotReady)?;
        let report = match process.pass(offer).await? {
            Answer::Passed => {
                runtime.process = Some(process);
                return Ok(());
            }
            Answer::Error(report) | Answer::InitError(report) => report,
            Answer::Response(_) => ErrorReport::unanswered(),
        };
        Err(NoAnswer::NotReady(NotReady::InitError(report)))
    }

    /// Returns a process that waits for an event: the current one, or a new one.
    async fn process(&self, runtime: &mut Runtime) -> Result<Process, NotReady> {
        // It counts as a failed start until the process is ready, even if redrive cancels the wait.
        runtime.crashes += 1;
        if let Some(process) = &mut runtime.process
            && let Err(not_ready) = process.ready().await
        {
            tracing::warn!(
                error = %not_ready.report().message,
                "the function's process ended between two events: redrive starts it again"
            );
            runtime.process = None;
        }
        if runtime.process.is_none() {
            runtime.process = Some(self.program.start(false).await.map_err(|error| {
                let report =
                    ErrorReport { kind: "Runtime.InvalidEntrypoint".to_owned(), message: error.to_string() };
                NotReady::InitError(report)
            })?);
        }
        // A start that outlasts this wait continues: the next messages find the process here.
        let process = runtime.process.as_mut().expect("it was set above");
        if let Err(not_ready) = process.ready().await {
            runtime.process = None;
            return Err(not_ready);
        }
        runtime.crashes -= 1;
        Ok(runtime.process.take().expect("it was set above"))
    }

    fn batch(&self) -> std::sync::MutexGuard<'_, BatchContext> {
        self.batch.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Builds the event for these messages.
    fn offer(&self, messages: &Bulk<Delivery>) -> Offer {
        let batch = self.batch();
        let event = batch.records.event(messages.iter().map(|message| &message.key));
        let mut headers = batch.headers.clone();
        if let Some(deadline) = messages.iter().map(|message| message.deadline).min() {
            headers.insert(DEADLINE, HeaderValue::from(epoch_ms(deadline)));
        }
        Offer { headers, event }
    }

    /// Settles failed messages by the rules.
    fn fail(&self, report: &ErrorReport, messages: impl Iterator<Item = redrive::Item<Delivery>>) {
        let ErrorReport { kind, message } = report;
        let meaning = self.rules.meaning(kind, message);
        messages.for_each(|item| {
            let attempt = item.attempt;
            settle(item, meaning.result(ForeignError::new(kind, message.as_str()), attempt));
        });
    }

    fn settle_by_response(&self, response: &Bytes, messages: Bulk<Delivery>) {
        let ids: Vec<_> = messages.iter().map(|message| message.key.message_id.clone()).collect();
        let known: BTreeSet<_> = ids.iter().map(String::as_str).collect();
        match failed_messages(response, &known) {
            Ok(failed) => {
                let message = "the function reported the message in batchItemFailures".to_owned();
                let report = ErrorReport { kind: "BatchItemFailure".to_owned(), message };
                let (failed, done): (Vec<_>, Vec<_>) =
                    messages.into_iter().partition(|item| failed.contains(&item.key.message_id));
                done.into_iter().for_each(redrive::Item::done);
                self.fail(&report, failed.into_iter());
            }
            Err(message) => {
                let report = ErrorReport { kind: "InvalidResponse".to_owned(), message };
                self.fail(&report, messages.into_iter());
            }
        }
    }
}

impl Handler<Bulk<Delivery>> for Function {
    type Error = Failure;

    async fn call(&self, messages: Bulk<Delivery>) -> Result<(), Failure> {
        let mut runtime = self.runtime.lock().await;
        let outage = |report: ErrorReport| {
            ExitMeaning::Outage.result(ForeignError::new(&report.kind, report.message), 1)
        };
        if runtime.crashes >= MOST_CRASHES && !messages.iter().any(|message| message.must_run) {
            // The environment may be at fault: the message returns to the queue, for another environment.
            let error =
                ForeignError::new("Runtime.ExitError", "not started: the function's process ended too often");
            return ExitMeaning::Return.result(error, 1);
        }
        // If redrive cancels the call, the process ends with it.
        let mut process = match self.process(&mut runtime).await {
            Ok(process) => process,
            Err(not_ready) => return outage(not_ready.report()),
        };
        match process.invoke(self.offer(&messages)).await {
            Ok(Answer::Response(response)) => self.settle_by_response(&response, messages),
            Ok(Answer::Error(report) | Answer::InitError(report)) => self.fail(&report, messages.into_iter()),
            // The process reported the error to Lambda before it asked for the event.
            Ok(Answer::Passed) => return outage(NotReady::Passed.report()),
            Err(NoAnswer::NotReady(not_ready)) => return outage(not_ready.report()),
            Err(NoAnswer::Exited(end)) => {
                runtime.crashes += 1;
                self.fail(&end.report(), messages.into_iter());
                return Ok(());
            }
        }
        (runtime.process, runtime.crashes) = (Some(process), 0);
        Ok(())
    }
}

fn settle(item: redrive::Item<Delivery>, result: Result<(), Failure>) {
    match result {
        Ok(()) => item.done(),
        Err(failure) => item.fail(failure),
    }
}

/// Converts a time to milliseconds since the epoch.
fn epoch_ms(at: Instant) -> u64 {
    let left = at.saturating_duration_since(Instant::now());
    let at = SystemTime::now() + left;
    u64::try_from(at.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis()).unwrap_or(u64::MAX)
}
