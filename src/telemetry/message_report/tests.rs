use super::*;
use crate::failure::Failure;
use crate::telemetry::report::report;
use crate::unit_testing::Sample;
use redrive_engine::State;

const AFTER: Duration = Duration::from_secs(2);

fn retry() -> NextStep {
    NextStep::Retry { after: AFTER }
}

fn letter() -> NextStep {
    NextStep::DeadLetter { reason: "x".into(), or_retry: AFTER }
}

fn release() -> NextStep {
    NextStep::Release { after: AFTER }
}

fn failed(failure: Failure) -> Outcome {
    Outcome::Failed(failure.reduce(None))
}

fn settled(outcome: Outcome, action: NextStep, answer: Answer) -> Settlement {
    let has_letter = matches!(action, NextStep::DeadLetter { .. }) && answer == Answer::Confirmed;
    let state = match answer {
        _ if has_letter => State::Gone,
        Answer::Confirmed | Answer::OnlyTheDelay => State::Back,
        Answer::Refused => State::Left,
    };
    Settlement { outcome, action, state, has_letter, ..Settlement::default() }
}

fn reported(settled: &Settlement) -> MessageReport {
    MessageReport::of(&Sample::default().record(0), settled, SystemTime::UNIX_EPOCH)
}

/// The answers of SQS to the calls for a message.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Answer {
    Confirmed,
    Refused,
    /// The letter was refused.
    OnlyTheDelay,
}

use Answer::{Confirmed, OnlyTheDelay, Refused};
use MessageOutcome::{DeadLettered, Deferred, Discarded, NotStarted, Retried, Succeeded};

#[test]
fn outcome_delay_confirmation_and_error_agree() {
    let error = || failed(Failure::from("down"));
    let defer = || failed(Failure::defer(AFTER));
    let panic = || Outcome::panicked("a bug");
    let (back, never) = (Some(AFTER), None);
    let table = [
        (Outcome::Done, NextStep::Ack, Refused, (Succeeded, never, false, "")),
        (failed(Failure::discard("late")), NextStep::Ack, Refused, (Discarded, never, false, "late")),
        (error(), retry(), Confirmed, (Retried, back, true, "down")),
        (error(), retry(), Refused, (Retried, never, false, "down")),
        (error(), letter(), Confirmed, (DeadLettered, never, true, "down")),
        (error(), letter(), OnlyTheDelay, (Retried, back, true, "down")),
        (error(), letter(), Refused, (Retried, never, false, "down")),
        (error(), NextStep::ByRedrivePolicy, Confirmed, (DeadLettered, never, true, "down")),
        (error(), NextStep::ByRedrivePolicy, Refused, (DeadLettered, never, false, "down")),
        (panic(), letter(), Confirmed, (DeadLettered, never, true, "a bug")),
        (panic(), retry(), Refused, (Retried, never, false, "a bug")),
        (Outcome::TimedOut, retry(), Confirmed, (Retried, back, true, "the handler ran out of time")),
        (Outcome::Stuck, NextStep::Leave, Refused, (Retried, never, false, Outcome::Stuck.describe().error)),
        (defer(), retry(), Confirmed, (Deferred, back, true, "")),
        (defer(), retry(), Refused, (Deferred, never, false, "")),
        (defer(), letter(), Confirmed, (DeadLettered, never, true, "")),
        (defer(), letter(), OnlyTheDelay, (Deferred, back, true, "")),
        (defer(), NextStep::ByRedrivePolicy, Refused, (DeadLettered, never, false, "")),
        (Outcome::NotStarted, release(), Confirmed, (NotStarted, back, true, "")),
        (Outcome::NotStarted, release(), Refused, (NotStarted, never, false, "")),
        (Outcome::NotStarted, NextStep::Leave, Refused, (NotStarted, never, false, "")),
        (Outcome::NotStarted, letter(), Confirmed, (DeadLettered, never, true, "")),
        (Outcome::NotStarted, letter(), OnlyTheDelay, (Retried, back, true, "")),
        (Outcome::NotStarted, NextStep::ByRedrivePolicy, Refused, (DeadLettered, never, false, "")),
    ];
    for (outcome, action, answer, expected) in table {
        let case = format!("{outcome:?}, {action:?}, {answer:?}");
        let message = reported(&settled(outcome, action, answer));
        let said = (message.outcome, message.back_after, message.confirmed, message.error.as_str());
        assert_eq!(said, expected, "{case}");
    }
}

/// Returns all possible results of a message, and some impossible ones.
fn all() -> impl Iterator<Item = Settlement> {
    let outcomes: [fn() -> Outcome; 8] = [
        || failed(Failure::from("x")),
        || failed(Failure::reject("x")),
        || failed(Failure::defer(AFTER)),
        || failed(Failure::malformed("x")),
        || Outcome::panicked("x"),
        || Outcome::TimedOut,
        || Outcome::Stuck,
        || Outcome::NotStarted,
    ];
    let actions: [fn() -> NextStep; 5] =
        [retry, letter, release, || NextStep::ByRedrivePolicy, || NextStep::Leave];
    let over =
        [|| Outcome::Done, || failed(Failure::discard("x"))].map(|of| settled(of(), NextStep::Ack, Refused));
    let open = outcomes.into_iter().flat_map(move |outcome| {
        actions.into_iter().flat_map(move |action| {
            [Confirmed, Refused, OnlyTheDelay].map(|answer| settled(outcome(), action(), answer))
        })
    });
    over.into_iter().chain(open)
}

#[test]
fn the_reports_of_messages_add_up_to_that_of_their_batch() {
    for settled in all() {
        let case = format!("{settled:?}");
        let message = reported(&settled);
        let batch = report(&[Sample::default().record(0)], &[settled], SystemTime::UNIX_EPOCH, true);
        let is = |outcome| u64::from(message.outcome == outcome);
        assert_eq!(batch.succeeded, is(Succeeded), "{case}");
        assert_eq!(batch.discarded, is(Discarded), "{case}");
        assert_eq!(batch.not_started, is(NotStarted), "{case}");
        let ended = is(Deferred) + is(Retried) + is(DeadLettered);
        assert_eq!(batch.deferred + batch.worker_errors, ended, "{case}");
        let confirmed = u64::from(message.confirmed);
        assert_eq!(batch.retried, is(Retried) * confirmed, "{case}");
        assert_eq!(batch.dead_lettered, is(DeadLettered) * confirmed, "{case}");
        assert!(is(Deferred) <= batch.deferred, "{case}");
    }
}
