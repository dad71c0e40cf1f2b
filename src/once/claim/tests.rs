use proptest::prelude::*;

use super::*;
use crate::failure::Failure;

const fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

const fn left(seconds: u64) -> TimeLeft {
    TimeLeft { claim: secs(seconds), message: secs(seconds), patience: Duration::ZERO }
}

fn in_progress(left: u64) -> Claimed {
    Claimed::InProgress { left: secs(left), payload: None }
}

fn rejected() -> End {
    End::Rejected { reason: Some("no-stock".to_owned()), error: "sold out".to_owned() }
}

fn outcome(claimed: Claimed, payload: Option<&str>) -> Outcome {
    match after_claim(Ok(claimed), payload, false, left(60)) {
        Next::Ended(outcome) => outcome,
        next => panic!("{next:?}"),
    }
}

fn fault(outcome: Outcome) -> Box<ErrorSummary> {
    match outcome {
        Outcome::Failed(summary) => summary,
        outcome => panic!("{outcome:?}"),
    }
}

#[test]
fn a_handler_runs_only_for_a_claim_that_was_granted() {
    assert!(matches!(after_claim(Ok(Claimed::Granted), None, false, left(60)), Next::Run));
    let late = after_claim(Ok(Claimed::Granted), None, false, left(0));
    assert!(matches!(late, Next::Ended(Outcome::TimedOut)));
    let done = Claimed::Ended { end: End::Done, payload: None };
    assert!(matches!(outcome(done, None), Outcome::Replayed));
    let discarded = Claimed::Ended { end: End::Discarded, payload: None };
    assert!(matches!(outcome(discarded, None), Outcome::Replayed));
    let Next::Ended(unreachable) = after_claim(Err("no route".to_owned()), None, false, left(60)) else {
        panic!("it runs although the store did not answer");
    };
    let unreachable = fault(unreachable);
    assert_eq!(
        (unreachable.disposition, unreachable.code.as_deref()),
        (Disposition::Outage, Some("idempotency-store"))
    );
    assert_eq!(unreachable.error, "the idempotency store did not answer: no route");
}

#[test]
fn an_unanswered_claim_is_repeated_for_part_of_the_messages_time() {
    let patient = TimeLeft { patience: secs(1), ..left(60) };
    assert!(matches!(after_claim(Err("no route".to_owned()), None, false, patient), Next::TryAgain(_)));
    for (is_last, seconds, expected) in [
        (false, 20, 5),
        (false, 43_200, 30),
        (false, 0, 0),
        (true, 20, 14),
        (true, 43_200, 43_194),
        (true, 5, 0),
    ] {
        assert_eq!(patience(is_last, secs(seconds)), secs(expected), "{is_last} {seconds}");
    }
}

#[test]
fn a_rejected_message_is_rejected_again_for_the_same_reason_without_running() {
    let again = fault(outcome(Claimed::Ended { end: rejected(), payload: None }, None));
    assert_eq!(
        (again.disposition, again.code.as_deref(), &*again.error),
        (Disposition::Reject, Some("no-stock"), "sold out")
    );
}

#[test]
fn a_message_waits_for_the_lease_of_another_delivery_and_on_its_last_delivery_in_the_process() {
    let deferred = fault(outcome(in_progress(20), None));
    assert_eq!(
        (deferred.disposition, deferred.code.as_deref()),
        (Disposition::Defer(secs(21)), Some("in-progress"))
    );
    let on_last = |seconds| after_claim(Ok(in_progress(20)), None, true, left(seconds));
    assert!(matches!(on_last(22), Next::ClaimAfter(pause) if pause == secs(21)));
    assert!(matches!(on_last(21), Next::Ended(_)), "the deadline comes first");
}

#[test]
fn another_payload_under_the_same_key_is_dead_lettered_whether_the_first_has_ended_or_not() {
    let other = || Some("other".to_owned());
    let ended = Claimed::Ended { end: End::Done, payload: other() };
    for claimed in [ended.clone(), Claimed::InProgress { left: secs(9), payload: other() }] {
        let reused = fault(outcome(claimed, Some("own")));
        assert_eq!((reused.disposition, reused.code.as_deref()), (Disposition::Reject, Some("key-reused")));
    }
    for (payload, recorded) in [(Some("other"), other()), (None, other()), (Some("own"), None)] {
        let claimed = Claimed::Ended { end: End::Done, payload: recorded };
        assert!(matches!(outcome(claimed, payload), Outcome::Replayed), "{payload:?}");
    }
}

#[test]
fn what_the_handler_has_decided_is_final_and_everything_else_releases_the_key() {
    let failed = |failure: Failure| Outcome::Failed(failure.reduce(None));
    let end = |end| Some(Change::End { end, keep: secs(9) });
    let release = || Some(Change::Release);
    let reject = Failure::reject("sold out").with_reason("no-stock");
    for (outcome, expected) in [
        (Outcome::Done, end(End::Done)),
        (failed(Failure::discard("old")), end(End::Discarded)),
        (failed(reject), end(rejected())),
        (failed("down".into()), release()),
        (failed(Failure::retry_after(secs(1), "down")), release()),
        (failed(Failure::defer(secs(1))), release()),
        (failed(Failure::malformed("4x")), release()),
        (Outcome::panicked("oops"), release()),
        (Outcome::TimedOut, release()),
        (Outcome::Interrupted, release()),
        (Outcome::LeaseLost, release()),
        (Outcome::NotStarted, release()),
        (Outcome::Stuck, None),
        (Outcome::Replayed, None),
        (Outcome::Unrecorded, None),
    ] {
        assert_eq!(change_after(&outcome, secs(9)), expected, "{outcome:?}");
    }
}

proptest! {
    /// An effect that took place is not repeated by a retry, whatever the store answers.
    #[test]
    fn a_message_whose_handler_returned_ok_is_over(is_recorded: bool) {
        prop_assert!(after_change(Outcome::Done, is_recorded).lets_the_lane_go_on());
        let failed = after_change(Outcome::TimedOut, is_recorded);
        prop_assert!(matches!(failed, Outcome::TimedOut));
    }
}
