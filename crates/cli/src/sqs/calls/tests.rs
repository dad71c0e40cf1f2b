use std::cell::{Cell, RefCell};

use aws_sdk_sqs::operation::send_message_batch::SendMessageBatchError;
use proptest::prelude::*;
use tokio::time::Instant;

use super::*;
use crate::problem::INTERRUPT;

type CallAnswer = Answer<SendMessageBatchError>;

fn done(numbers: &[usize]) -> Vec<(String, Option<String>)> {
    numbers.iter().map(|number| (number.to_string(), None)).collect()
}

fn failed(numbers: &[usize], code: &str) -> Vec<BatchResultErrorEntry> {
    let entry = |number: &usize| {
        let entry = BatchResultErrorEntry::builder().id(number.to_string()).code(code);
        entry.sender_fault(true).build().unwrap()
    };
    numbers.iter().map(entry).collect()
}

/// Returns an error of the whole call.
fn of_the_call(status: u16, code: &str) -> SdkError<SendMessageBatchError, HttpResponse> {
    let error = aws_sdk_sqs::error::ErrorMetadata::builder().code(code).message("a fault").build();
    let response = HttpResponse::new(status.try_into().unwrap(), "".into());
    SdkError::service_error(SendMessageBatchError::generic(error), response)
}

/// Runs entries of these groups to the end.
async fn run(
    groups: &[Option<&str>],
    stop: Option<&Stop>,
    is_ready: impl Fn(usize) -> bool,
    call: impl AsyncFn(&[usize]) -> CallAnswer,
) -> Step {
    let pace = Pace::new(None);
    let mut calls = Calls::new("send".to_owned(), "sqs:SendMessage", &pace, stop);
    for (number, group) in groups.iter().enumerate() {
        calls.lanes.push(number, LaneMessage { group: group.map(str::to_owned), size: 1 });
    }
    let mut all = Step::default();
    while let Some(step) = calls.next(&is_ready, &call).await {
        assert!(all.fatal.is_none(), "it is over");
        all.outcomes.extend(step.outcomes);
        all.fatal = step.fatal;
    }
    all.outcomes.extend(calls.finish());
    all.outcomes.sort_by_key(|(number, _)| *number);
    all
}

#[tokio::test(start_paused = true)]
async fn a_letter_whose_hold_ran_out_is_not_tried_again() {
    let calls = Cell::new(0);
    let call = async |open: &[usize]| {
        calls.set(calls.get() + 1);
        Ok((vec![], failed(open, "InternalError")))
    };
    let step = run(&[None, None], None, |number| number == 0 || calls.get() == 0, call).await;
    assert_eq!(calls.get(), TRIES);
    assert_eq!(step.outcomes[1], (1, Outcome::Failed("its visibility timeout ended".to_owned())));
    assert!(
        matches!(&step.outcomes[0].1, Outcome::Failed(why) if why.starts_with("AWS reported an internal error"))
    );
}

#[tokio::test(start_paused = true)]
async fn ctrl_c_ends_the_tries_unless_it_must_be_done_all_the_same() {
    let (stop, calls) = (Stop::default(), Cell::new(0));
    let call = async |_: &[usize]| {
        calls.set(calls.get() + 1);
        stop.request(INTERRUPT);
        Err(of_the_call(400, "RequestThrottled"))
    };
    let began = Instant::now();
    let step = run(&[Some("a"), Some("a")], Some(&stop), |_| true, call).await;
    assert_eq!((calls.get(), began.elapsed().as_millis()), (1, 0));
    assert_eq!(step.outcomes, [(0, Outcome::Failed("interrupted".to_owned())), (1, Outcome::NotTried)]);
    calls.set(0);
    let step = run(&[None], None, |_| true, call).await;
    assert_eq!((calls.get(), step.fatal.is_some()), (CALLS, true));
}

#[tokio::test(start_paused = true)]
async fn entries_that_go_one_by_one_wait_while_sqs_throttles() {
    let throttled = Cell::new(0);
    let call = async |open: &[usize]| match open {
        [_] if throttled.get() == CALLS - 1 => Ok((done(open), vec![])),
        [_] => {
            throttled.set(throttled.get() + 1);
            Err(of_the_call(400, "RequestThrottled"))
        }
        _ => Err(of_the_call(400, "InvalidMessageContents")),
    };
    let began = Instant::now();
    let step = run(&[None; 10], None, |_| true, call).await;
    assert!(step.fatal.is_none() && step.outcomes.iter().all(|(_, outcome)| *outcome == Outcome::Done(None)));
    assert!(began.elapsed().as_millis() >= 500 + 1_000 + 2_000, "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn the_third_call_in_a_row_without_a_clear_answer_is_the_last() {
    let call = async |_: &[usize]| Err(of_the_call(500, "InternalFailure"));
    let step = run(&[None; 40], None, |_| true, call).await;
    let perhaps = step.outcomes.iter().filter(|(_, outcome)| matches!(outcome, Outcome::Perhaps(_)));
    assert_eq!((perhaps.count(), step.fatal.is_some()), (30, true));
    assert_eq!(step.outcomes[30], (30, Outcome::NotTried));
}

/// SQS's answer for an entry, at each attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mood {
    Takes,
    Refuses,
    Throttles,
    Forgets,
    RefusesTheCall,
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    #[test]
    fn each_entry_has_one_outcome_and_overtakes_none_of_its_group(
        entries in prop::collection::vec(
            (
                prop::option::of("[ab]"),
                prop_oneof![
                    4 => Just(Mood::Takes),
                    1 => Just(Mood::Refuses),
                    1 => Just(Mood::Throttles),
                    1 => Just(Mood::Forgets),
                    1 => Just(Mood::RefusesTheCall),
                ],
            ),
            0..30,
        ),
    ) {
        let taken = RefCell::new(Vec::new());
        let call = async |open: &[usize]| {
            let mood = |number: &usize| entries[*number].1;
            if open.iter().any(|number| mood(number) == Mood::RefusesTheCall) {
                return Err(of_the_call(400, "InvalidMessageContents"));
            }
            let of = |wanted| open.iter().copied().filter(|number| mood(number) == wanted).collect::<Vec<_>>();
            taken.borrow_mut().extend(of(Mood::Takes));
            let refused = failed(&of(Mood::Refuses), "InvalidMessageContents");
            Ok((done(&of(Mood::Takes)), [refused, failed(&of(Mood::Throttles), "KmsThrottled")].concat()))
        };
        let groups: Vec<_> = entries.iter().map(|(group, _)| group.as_deref()).collect();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        let step = runtime.unwrap().block_on(run(&groups, None, |_| true, call));
        let taken = taken.into_inner();
        prop_assert!(step.fatal.is_none());
        prop_assert_eq!(step.outcomes.len(), entries.len());
        for (at, (number, outcome)) in step.outcomes.iter().enumerate() {
            prop_assert_eq!(at, *number);
            let (group, mood) = &entries[at];
            let is_behind = group.is_some()
                && entries[..at].iter().any(|(other, mood)| other == group && *mood != Mood::Takes);
            let is_done = !is_behind && *mood == Mood::Takes;
            prop_assert_eq!(matches!(outcome, Outcome::Done(_)), is_done);
            prop_assert_eq!(outcome == &Outcome::Behind, is_behind);
            prop_assert_eq!(matches!(outcome, Outcome::Perhaps(_)), !is_behind && *mood == Mood::Forgets);
            prop_assert_eq!(taken.iter().filter(|taken| **taken == at).count(), usize::from(is_done));
        }
        for group in ["a", "b"] {
            prop_assert!(taken.iter().filter(|taken| groups[**taken] == Some(group)).is_sorted());
        }
    }
}
