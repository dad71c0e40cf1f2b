//! The response to Lambda, and the report of a batch.

use std::collections::HashSet;
use std::time::SystemTime;

use aws_lambda_events::sqs::{BatchItemFailure, SqsBatchResponse};
use redrive_observers::BatchReport;
use redrive_sqs::queue_name;

use crate::message::record::Record;
use crate::telemetry::message_report::MessageOutcome;
use redrive_engine::{Outcome, Settlement};

/// Returns the partial batch response: failed ids in the order of the records, each once.
/// <https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html>
pub(crate) fn response(records: &[Record<'_>], settled: &[Settlement]) -> SqsBatchResponse {
    let mut seen = HashSet::new();
    let failed =
        records.iter().zip(settled).filter(|(_, settled)| !settled.is_over()).map(|(record, _)| record.id());
    let mut response = SqsBatchResponse::default();
    response.batch_item_failures = failed
        .filter(|id| seen.insert(*id))
        .map(|id| {
            let mut failure = BatchItemFailure::default();
            failure.item_identifier = id.to_owned();
            failure
        })
        .collect();
    response
}

/// Returns the report of a batch. `began` is its start by the wall clock, which the messages' timestamps use too.
pub(crate) fn report(
    records: &[Record<'_>],
    settled: &[Settlement],
    began: SystemTime,
    has_client: bool,
) -> BatchReport {
    let mut report = BatchReport::default();
    report.queue = records.first().map_or("", |record| queue_name(record.source())).to_owned();
    report.records = records.len() as u64;
    for (record, settled) in records.iter().zip(settled) {
        report.max_attempt = report.max_attempt.max(record.attempt());
        report.worker_durations.extend(settled.ran.filter(|ran| !ran.is_shared).map(|ran| ran.took));
        let is_done = matches!(settled.outcome, Outcome::Done);
        let outcome = if is_done { MessageOutcome::Succeeded } else { MessageOutcome::of(settled) };
        *counter(&mut report, outcome, settled) += 1;
        let is_lost = if outcome == MessageOutcome::Succeeded {
            if let (Some(ran), Some(sent_at)) = (settled.ran, record.sent_at()) {
                let response_time = (began + ran.ended).duration_since(sent_at);
                report.response_times.push(response_time.unwrap_or_default());
            }
            // `Unrecorded`: the store did not record the success.
            !is_done
        } else {
            match outcome {
                MessageOutcome::DeadLettered if settled.is_confirmed() => report.dead_lettered += 1,
                MessageOutcome::Retried if settled.is_delayed() => report.retried += 1,
                _ => {}
            }
            report.stuck += u64::from(matches!(settled.outcome, Outcome::Stuck));
            matches!(settled.outcome, Outcome::LeaseLost)
        };
        report.lease_lost += u64::from(is_lost || settled.is_lost);
        report.settle_errors += u64::from(has_client && settled.has_settle_error());
    }
    report
}

/// Returns the counter for the result of a message.
fn counter<'a>(report: &'a mut BatchReport, outcome: MessageOutcome, settled: &Settlement) -> &'a mut u64 {
    match outcome {
        MessageOutcome::Succeeded => &mut report.succeeded,
        MessageOutcome::Discarded => &mut report.discarded,
        MessageOutcome::Replayed => &mut report.replayed,
        // A deferral is not an error, even on the last delivery.
        _ if settled.outcome.is_deferral() => &mut report.deferred,
        _ if settled.outcome.is_outage() => &mut report.outages,
        MessageOutcome::NotStarted => &mut report.not_started,
        MessageOutcome::Retried | MessageOutcome::DeadLettered | MessageOutcome::Deferred => {
            &mut report.worker_errors
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;
    use crate::failure::Failure;
    use crate::unit_testing::Sample;
    use redrive_engine::{NextStep, Ran, State};

    fn settled(outcome: Outcome, action: NextStep, confirmed: bool) -> Settlement {
        let ran =
            Some(Ran { took: Duration::from_millis(5), ended: Duration::from_millis(20), is_shared: false });
        let has_letter = confirmed && matches!(action, NextStep::DeadLetter { .. });
        let state = match action {
            NextStep::Ack => State::Gone,
            _ if has_letter => State::Gone,
            _ if confirmed => State::Back,
            _ => State::Left,
        };
        Settlement { outcome, action, state, has_letter, ran, ..Settlement::default() }
    }

    fn failed() -> Settlement {
        settled(Outcome::TimedOut, NextStep::Retry { after: Duration::from_secs(2) }, true)
    }

    fn records(samples: &[Sample]) -> Vec<Record<'static>> {
        samples.iter().enumerate().map(|(at, sample)| sample.record(at)).collect()
    }

    fn json(samples: &[Sample], settled: &[Settlement]) -> String {
        serde_json::to_string(&response(&records(samples), settled)).unwrap()
    }

    #[test]
    fn the_response_is_exactly_what_lambda_reads() {
        assert_eq!(json(&[], &[]), r#"{"batchItemFailures":[]}"#);
        let done = || settled(Outcome::Done, NextStep::Ack, false);
        assert_eq!(json(&[Sample::default()], &[done()]), r#"{"batchItemFailures":[]}"#);
        assert_eq!(
            json(&[Sample::default(); 3], &[failed(), done(), failed()]),
            r#"{"batchItemFailures":[{"itemIdentifier":"id-0"},{"itemIdentifier":"id-2"}]}"#
        );
    }

    #[test]
    fn a_repeated_id_is_reported_once_and_stays_failed_if_one_of_them_failed() {
        let twin = Sample { id: Some("twin"), ..Sample::default() };
        let expected = r#"{"batchItemFailures":[{"itemIdentifier":"twin"}]}"#;
        assert_eq!(json(&[twin; 2], &[failed(), failed()]), expected);
        assert_eq!(json(&[twin; 2], &[settled(Outcome::Done, NextStep::Ack, false), failed()]), expected);
    }

    #[test]
    fn a_letter_counts_only_when_it_is_confirmed() {
        let letter = |confirmed| {
            let action = NextStep::DeadLetter { reason: "rejected".into(), or_retry: Duration::from_secs(2) };
            settled(Outcome::Failed(Failure::reject("no").reduce(None)), action, confirmed)
        };
        let settled = [letter(true), letter(false)];
        let records = records(&[Sample::default(); 2]);
        let report = report(&records, &settled, SystemTime::now(), true);
        assert_eq!((report.dead_lettered, report.worker_errors, report.settle_errors), (1, 2, 1));
        assert_eq!((report.queue.as_str(), report.records, report.max_attempt), ("orders", 2, 1));
        assert_eq!(report.worker_durations, [Duration::from_millis(5); 2]);
        assert_eq!(response(&records, &settled).batch_item_failures.len(), 1);
    }

    #[test]
    fn messages_are_counted_by_outcome_and_by_confirmation() {
        let retry = || NextStep::Retry { after: Duration::from_secs(2) };
        let letter = || NextStep::DeadLetter { reason: "x".into(), or_retry: Duration::ZERO };
        let release = || NextStep::Release { after: Duration::ZERO };
        let failed = |failure: Failure| Outcome::Failed(failure.reduce(None));
        let error = || failed(Failure::from("down"));
        let defer = || failed(Failure::defer(Duration::ZERO));
        let discard = || failed(Failure::discard("late"));
        // Succeeded, errors, retried, dead-lettered, deferred, discarded, not started, unsettled.
        let table = [
            (Outcome::Done, NextStep::Ack, false, [1, 0, 0, 0, 0, 0, 0, 0]),
            (error(), retry(), true, [0, 1, 1, 0, 0, 0, 0, 0]),
            (error(), retry(), false, [0, 1, 0, 0, 0, 0, 0, 1]),
            (error(), NextStep::ByRedrivePolicy, true, [0, 1, 0, 1, 0, 0, 0, 0]),
            (error(), NextStep::ByRedrivePolicy, false, [0, 1, 0, 0, 0, 0, 0, 1]),
            (error(), letter(), true, [0, 1, 0, 1, 0, 0, 0, 0]),
            (error(), letter(), false, [0, 1, 0, 0, 0, 0, 0, 1]),
            (defer(), retry(), true, [0, 0, 0, 0, 1, 0, 0, 0]),
            (defer(), retry(), false, [0, 0, 0, 0, 1, 0, 0, 1]),
            (discard(), NextStep::Ack, false, [0, 0, 0, 0, 0, 1, 0, 0]),
            (Outcome::NotStarted, release(), true, [0, 0, 0, 0, 0, 0, 1, 0]),
            (Outcome::NotStarted, release(), false, [0, 0, 0, 0, 0, 0, 1, 1]),
            (Outcome::NotStarted, letter(), true, [0, 1, 0, 1, 0, 0, 0, 0]),
            (Outcome::NotStarted, NextStep::ByRedrivePolicy, true, [0, 1, 0, 1, 0, 0, 0, 0]),
            (Outcome::Stuck, NextStep::Leave, false, [0, 1, 0, 0, 0, 0, 0, 0]),
        ];
        for (outcome, action, confirmed, expected) in table {
            let case = format!("{outcome:?}, {action:?}, {confirmed}");
            // The second message reveals a counter that does not add up.
            let again = Settlement { ran: None, ..settled(defer(), retry(), true) };
            let records = records(&[Sample::default(); 2]);
            let report =
                report(&records, &[settled(outcome, action, confirmed), again], SystemTime::now(), true);
            let counts = [
                report.succeeded,
                report.worker_errors,
                report.retried,
                report.dead_lettered,
                report.deferred - 1,
                report.discarded,
                report.not_started,
                report.settle_errors,
            ];
            assert_eq!(counts, expected, "{case}");
        }
        let records = records(&[Sample::default()]);
        let without_a_client = report(&records, &[failed_unconfirmed()], SystemTime::now(), false);
        assert_eq!(without_a_client.settle_errors, 0);
    }

    fn failed_unconfirmed() -> Settlement {
        settled(Outcome::TimedOut, NextStep::Retry { after: Duration::from_secs(2) }, false)
    }

    #[test]
    fn a_lease_is_lost_by_a_message_its_record_or_its_worker_and_counts_once() {
        let lost = |outcome, is_lost| {
            let settled = Settlement { is_lost, ..settled(outcome, NextStep::Ack, false) };
            report(&records(&[Sample::default()]), &[settled], SystemTime::now(), true).lease_lost
        };
        assert_eq!([lost(Outcome::Done, false), lost(Outcome::Done, true)], [0, 1]);
        assert_eq!([lost(Outcome::Unrecorded, false), lost(Outcome::Unrecorded, true)], [1, 1]);
        assert_eq!([lost(Outcome::LeaseLost, false), lost(Outcome::LeaseLost, true)], [1, 1]);
        assert_eq!([lost(Outcome::TimedOut, false), lost(Outcome::Stuck, false)], [0, 0]);
    }

    #[test]
    fn a_response_time_is_never_negative() {
        let began = SystemTime::UNIX_EPOCH + Duration::from_secs(100);
        let sent = |sent| Sample { sent: Some(sent), ..Sample::default() };
        let done = || settled(Outcome::Done, NextStep::Ack, false);
        let records = records(&[sent("90000"), sent("200000")]);
        let report = report(&records, &[done(), done()], began, true);
        assert_eq!(report.response_times, [Duration::from_millis(10_020), Duration::ZERO]);
    }

    fn any_settled() -> impl Strategy<Value = Settlement> {
        let letter = || NextStep::DeadLetter { reason: "x".into(), or_retry: Duration::ZERO };
        let retry = || NextStep::Retry { after: Duration::from_secs(2) };
        (0..11, any::<bool>()).prop_map(move |(kind, confirmed)| match kind {
            0 => settled(Outcome::Done, NextStep::Ack, false),
            1 => settled(Outcome::Failed(Failure::from("x").reduce(None)), retry(), confirmed),
            2 => settled(Outcome::Failed(Failure::reject("x").reduce(None)), letter(), confirmed),
            3 => settled(Outcome::Failed(Failure::defer(Duration::ZERO).reduce(None)), retry(), confirmed),
            4 => settled(Outcome::Failed(Failure::discard("x").reduce(None)), NextStep::Ack, false),
            5 => settled(Outcome::NotStarted, NextStep::Release { after: Duration::ZERO }, confirmed),
            6 => settled(Outcome::NotStarted, letter(), confirmed),
            7 => settled(Outcome::TimedOut, NextStep::ByRedrivePolicy, confirmed),
            8 => settled(Outcome::Failed(Failure::outage("x").reduce(None)), retry(), confirmed),
            9 => settled(Outcome::BreakerOpen, NextStep::Release { after: Duration::ZERO }, confirmed),
            _ => settled(Outcome::Stuck, NextStep::Leave, false),
        })
    }

    proptest! {
        #[test]
        fn every_record_is_counted_once_and_only_what_is_over_is_left_out(
            settled in prop::collection::vec(any_settled(), 0..30),
        ) {
            let records = records(&vec![Sample::default(); settled.len()]);
            let report = report(&records, &settled, SystemTime::now(), true);
            let all = report.succeeded + report.worker_errors + report.deferred + report.discarded + report.not_started;
            let outages = settled.iter().filter(|settled| settled.outcome.is_outage()).count() as u64;
            prop_assert_eq!((all + outages, report.outages), (records.len() as u64, outages));
            let over = settled.iter().filter(|settled| settled.is_over()).count();
            prop_assert_eq!(response(&records, &settled).batch_item_failures.len(), records.len() - over);
            prop_assert!(report.retried + report.dead_lettered <= report.worker_errors + report.deferred + report.outages);
        }
    }
}
