//! The log: lines of JSON, a span for each batch and each message, and never a body.
#![expect(clippy::disallowed_methods, reason = "impure: it reads the clock")]

mod failure;

use redrive_observers::{lines::Lines, stdout};
use redrive_sqs::cut_to;
use tokio::task::yield_now;
use tokio::time::Instant;
use tracing::{Level, Span, error, error_span, info, warn};
use tracing_subscriber::filter::{LevelFilter, ParseError, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use self::failure::{describe, is_logged};
use crate::error::{Error, Kind};
use crate::failure::Failure;
use crate::message::invocation::Invocation;
use crate::message::record::Record;
use crate::settings::{Settings, names};
use redrive_engine::{Description, Outcome, Settlement};
use redrive_observers::BatchReport;

/// The target of redrive's lines in the log, for filters.
const TARGET: &str = "redrive::log";

/// Starts the log: JSON lines on standard output, unless the program has set up its own subscriber. `filter` is `REDRIVE_LOG`
/// (levels by target, such as `info,orders=debug`). Without it, `level` applies, which Lambda sets, or else `info`.
///
/// Lines are JSON even if `AWS_LAMBDA_LOG_FORMAT` is `Text`: that is also the default, and filters on fields, such as those of
/// the runbook, need JSON. Powertools for AWS Lambda does the same.
pub(crate) fn start(filter: Option<&str>, level: Option<&str>) -> Result<(), String> {
    let filter = match filter.filter(|filter| !filter.is_empty()) {
        Some(filter) => levels_by_target(filter)?,
        None => Targets::new().with_default(level.map_or(LevelFilter::INFO, lambdas_level)),
    };
    // Keeps redrive's spans under every filter, so that a handler's own lines name their message.
    let spans = filter.would_enable("redrive", &Level::ERROR);
    let filter = if spans { filter } else { filter.with_target("redrive", LevelFilter::ERROR) };
    // An error means that the program has set up its own subscriber.
    let _ = tracing_subscriber::registry().with(Lines(stdout::write)).with(filter).try_init();
    Ok(())
}

/// Parses a filter. Refuses a word that is not a level, because it would name a target and silence all others.
fn levels_by_target(filter: &str) -> Result<Targets, String> {
    let has_level = |part: &&str| part.contains('=') || part.parse::<LevelFilter>().is_ok();
    match filter.split(',').find(|part| !has_level(part)) {
        Some(word) => Err(format!("{word} is not a level")),
        None => filter.parse().map_err(|error: ParseError| error.to_string()),
    }
}

/// Converts a [log level of Lambda](https://docs.aws.amazon.com/lambda/latest/dg/monitoring-cloudwatchlogs-log-level.html).
fn lambdas_level(level: &str) -> LevelFilter {
    match level.to_ascii_uppercase().as_str() {
        "TRACE" => LevelFilter::TRACE,
        "DEBUG" => LevelFilter::DEBUG,
        "WARN" => LevelFilter::WARN,
        // No line has a level above ERROR.
        "ERROR" | "FATAL" => LevelFilter::ERROR,
        _ => LevelFilter::INFO,
    }
}

/// Warns, once at the start, of missing or dangerous settings.
pub(crate) fn settings(settings: &Settings) {
    let queues = settings.queues.iter().map(|(arn, own)| (Some(arn.as_str()), own));
    let all = settings.queues.is_empty().then_some((None, settings));
    for (queue, settings) in queues.chain(all) {
        if settings.dead_letter_queue_url.is_none() {
            warn!(
                target: TARGET,
                queue,
                "REDRIVE_DEAD_LETTER_QUEUE_URL is not set: messages that should be dead-lettered at once are retried instead"
            );
        }
        if settings.max_receive_count.is_none() {
            warn!(target: TARGET, queue, "REDRIVE_MAX_RECEIVE_COUNT is not set: no delivery is treated as the last");
        }
    }
    if cfg!(panic = "abort") {
        warn!(
            target: TARGET,
            "built with panic = \"abort\": a panic ends the process and the whole batch; set panic = \"unwind\""
        );
    }
}

/// Warns of variables that redrive does not read, because their names are misspelled.
pub(crate) fn misspelled(names: impl Iterator<Item = String>) {
    for name in names {
        if let Some(meant) = names::misspelled(&name) {
            warn!(target: TARGET, "{name} is not a variable of redrive; did you mean {meant}?");
        }
    }
}

/// Logs the error of a failed invocation. Lambda returns it to the caller, but does not log it.
pub(crate) fn refused(error: &Error, invocation: &Invocation) {
    let what = match error.0 {
        Kind::OtherEvent(_) => "invocation failed in the closure of on_other_event",
        _ => "invocation failed, no message was handled",
    };
    error!(target: TARGET, request_id = invocation.request_id(), error = %error, "{what}");
}

/// Logs what happens to a test message of Lambda's console.
pub(crate) fn sample(invocation: &Invocation, what: &str) {
    info!(target: TARGET, request_id = invocation.request_id(), "{what}");
}

/// Creates the span of a batch. Spans have the level ERROR, so that no filter removes them from the lines.
pub(crate) fn batch_span(request_id: Option<&str>, records: usize) -> Span {
    error_span!("batch", request_id, records)
}

/// Creates the span of a batch of one of several workers. The worker's own span never ends, so it is not the parent.
pub(crate) fn batch_span_of(queue: &str, records: usize) -> Span {
    error_span!(parent: None, "batch", queue, records)
}

/// The longest trace header in the log, in characters. AWS documents no limit.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessage.html>
const TRACE_HEADER: usize = 256;

/// The longest group id that SQS accepts, in characters.
const GROUP: usize = 128;

/// Creates the span of a handler. An OpenTelemetry layer can link its trace header.
pub(crate) fn message_span(batch: &Span, record: &Record<'_>) -> Span {
    error_span!(
        parent: batch,
        "message",
        message_id = record.id(),
        attempt = record.attempt(),
        group = record.group().map(|group| cut_to(group, GROUP)).as_deref(),
        trace_header = record.trace_header().map(|header| cut_to(header, TRACE_HEADER)).as_deref()
    )
}

/// The maximum number of message ids in the span of a bulk call.
const IDS: usize = 10;

/// Creates the span of a bulk call, with the number of its messages and the ids of the first ones.
pub(crate) fn bulk_span(batch: &Span, records: &[&Record<'_>]) -> Span {
    let ids: Vec<_> = records.iter().take(IDS).map(|record| record.id()).collect();
    error_span!(parent: batch, "messages", messages = records.len(), message_ids = ids.join(" "))
}

/// Logs that a bulk call failed after it had set the results of all its messages. These results stay.
pub(crate) fn unheeded(failure: &Failure) {
    let error = failure.to_string();
    error!(
        target: TARGET,
        error = &*cut_to(&error, 256),
        "a handler failed after it had set the outcome of all its messages; the outcomes stay"
    );
}

/// Logs that a message waits in the process for the store, because it has no other delivery.
pub(crate) fn waits_for_the_store(error: &str) {
    warn!(
        target: TARGET,
        error = &*cut_to(error, 256),
        "the idempotency store does not answer; the message waits for it, because this is its last delivery"
    );
}

/// Logs that the idempotency store has not recorded yet how a message ended.
pub(crate) fn not_recorded_yet(error: &str) {
    warn!(
        target: TARGET,
        error = &*cut_to(error, 256),
        "the idempotency store has not recorded how a message ended; redrive retries for as long as it has the message"
    );
}

/// Logs that the idempotency store did not record how a message ended.
pub(crate) fn unrecorded(error: &str) {
    warn!(target: TARGET, error = &*cut_to(error, 256), "the idempotency store did not record how a message ended");
}

/// Warns if a message has more deliveries than the setting allows, because the setting then differs from the redrive policy.
pub(crate) fn unexpected_attempts(records: &[Record<'_>], max_receive_count: Option<u32>) {
    let Some(max) = max_receive_count else { return };
    if let Some(record) = records.iter().find(|record| record.attempt() > max) {
        warn!(
            target: TARGET,
            message_id = record.id(),
            attempt = record.attempt(),
            max_receive_count = max,
            "received more often than REDRIVE_MAX_RECEIVE_COUNT allows: does it equal maxReceiveCount in the queue's \
             redrive policy?"
        );
    }
}

/// Warns about an override in a message's attributes that redrive ignores.
pub(crate) fn ignored_attribute(message_id: &str, warning: &str) {
    warn!(target: TARGET, message_id, warning, "an attribute of the message was ignored");
}

/// Warns that time ran out for most of a batch.
pub(crate) fn overloaded(unstarted: usize, all: usize) {
    warn!(
        target: TARGET,
        not_started = unstarted,
        messages = all,
        "time ran out for most of the batch; its messages return as this function has time for them. Lower the batch size, raise the concurrency or the function's timeout, or allow more deliveries"
    );
}

/// The longest name of a dependency in the log, in characters. A sender may have chosen it.
const DEPENDENCY: usize = 64;

/// Logs that a dependency is down.
pub(crate) fn is_down(dependency: &str, error: &str) {
    warn!(
        target: TARGET,
        dependency = &*cut_to(dependency, DEPENDENCY),
        error = &*cut_to(error, 256),
        "a dependency is down: messages that need it return to the queue, except one each minute"
    );
}

/// Logs that a dependency works again.
pub(crate) fn is_up(dependency: &str) {
    info!(target: TARGET, dependency = &*cut_to(dependency, DEPENDENCY), "a dependency works again");
}

/// Warns that a failure names a dependency which the message does not need.
pub(crate) fn is_not_needed(dependency: &str, needed: &[String]) {
    warn!(
        target: TARGET,
        on_dependency = &*cut_to(dependency, DEPENDENCY),
        depends_on = &*cut_to(&needed.join(", "), 256),
        "on_dependency names a dependency that depends_on does not name for the message, so no circuit breaker opens"
    );
}

/// Warns that a dead letter has no note.
pub(crate) fn letter_without_note(batch: &Span, record: &Record<'_>) {
    warn!(
        target: TARGET,
        parent: batch,
        message_id = record.id(),
        "the message has no room for the note, so its dead letter is sent without one"
    );
}

/// The number of lines after which other tasks may run.
const LINES: usize = 10;

/// Logs a line for each failed message, as long as there is time.
pub(crate) async fn failures(records: &[Record<'_>], settled: &[Settlement], until: Instant) {
    let failures = records.iter().zip(settled).filter(|(_, settled)| is_logged(settled));
    let mut failures = failures.enumerate();
    while let Some((at, (record, settled))) = failures.next() {
        if at % LINES == 0 {
            yield_now().await;
        }
        log_failure(record, settled);
        if Instant::now() >= until {
            let unlogged = failures.by_ref().count();
            if unlogged > 0 {
                warn!(target: TARGET, unlogged, "no time left to log the other failures of this batch");
            }
        }
    }
}

fn log_failure(record: &Record<'_>, settled: &Settlement) {
    let Description { error, exception, .. } = settled.outcome.describe();
    let ((becomes, seconds), reason) = (describe(settled), settled.reason());
    let (message_id, attempt, group, confirmed) =
        (record.id(), record.attempt(), record.group(), settled.is_confirmed());
    // A blocked thread is a fault of the function, not of the message.
    if matches!(settled.outcome, Outcome::Stuck) {
        let for_seconds = settled.ran.map(|ran| ran.took.as_secs_f64());
        error!(target: TARGET, message_id, attempt, group, error, exception, reason, for_seconds, "{becomes}");
    } else {
        warn!(
            target: TARGET,
            message_id,
            attempt,
            group,
            error,
            exception,
            reason,
            back_in_seconds = seconds,
            confirmed,
            "{becomes}"
        );
    }
}

/// Logs the counts of a batch in one line.
pub(crate) fn summary(report: &BatchReport) {
    info!(
        target: TARGET,
        queue = report.queue,
        succeeded = report.succeeded,
        worker_errors = report.worker_errors,
        stuck = report.stuck,
        retried = report.retried,
        dead_lettered = report.dead_lettered,
        deferred = report.deferred,
        discarded = report.discarded,
        replayed = report.replayed,
        outages = report.outages,
        not_started = report.not_started,
        settle_errors = report.settle_errors,
        max_attempt = report.max_attempt,
        "batch done"
    );
}
