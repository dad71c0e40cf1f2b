use std::cell::Cell;
use std::time::Duration;

use aws_sdk_sqs::config::{BehaviorVersion, Config};
use aws_sdk_sqs::operation::send_message_batch::SendMessageBatchError;
use tokio::time::Instant;

use super::*;

const MINUTE: Duration = Duration::from_secs(60);

fn hold() -> Hold {
    let config = Config::builder().behavior_version(BehaviorVersion::latest()).build();
    Hold::new(Client::from_conf(config), "http://127.0.0.1:1/q".to_owned(), MINUTE, MINUTE)
}

/// SQS is to blame for each entry.
fn refused(open: &[usize]) -> Vec<BatchResultErrorEntry> {
    let entry = |index: &usize| {
        let entry = BatchResultErrorEntry::builder().id(index.to_string()).code("InternalError");
        entry.sender_fault(false).build().unwrap()
    };
    open.iter().map(entry).collect()
}

async fn tries(hold: &Hold, stops: bool, holds: impl Fn(usize) -> bool, calls: &Cell<u32>) -> Answers {
    let pace = Pace::new(None);
    let call = async |open: &[usize]| {
        calls.set(calls.get() + 1);
        Ok((vec![], refused(open)))
    };
    let terms = Terms { pace: &pace, hold, stops };
    all::<SendMessageBatchError>(vec![0, 1], "send", "sqs:SendMessage", &terms, holds, call).await
}

#[tokio::test(start_paused = true)]
async fn a_letter_whose_hold_ran_out_is_not_tried_again() {
    let calls = Cell::new(0);
    let answers = tries(&hold(), true, |index| index == 0 || calls.get() == 0, &calls).await;
    assert_eq!(calls.get(), TRIES);
    let expected = Failed { reason: "the hold on it ran out".to_owned(), perhaps_done: false };
    assert_eq!(answers.failed[0], (1, expected));
    assert_eq!((answers.failed[1].0, answers.failed.len()), (0, 2));
}

#[tokio::test(start_paused = true)]
async fn ctrl_c_ends_the_tries_of_a_send_and_not_those_of_a_delete_behind_it() {
    let hold = hold();
    hold.stop();
    let (began, calls) = (Instant::now(), Cell::new(0));
    let answers = tries(&hold, true, |_| true, &calls).await;
    assert_eq!((calls.get(), began.elapsed(), answers.failed.len()), (1, Duration::ZERO, 2));
    let calls = Cell::new(0);
    tries(&hold, false, |_| true, &calls).await;
    assert_eq!(calls.get(), TRIES);
}

/// An error of the whole call.
fn of_the_call(status: u16, code: &str) -> SdkError<SendMessageBatchError, HttpResponse> {
    let error = aws_sdk_sqs::error::ErrorMetadata::builder().code(code).message("a fault").build();
    let response = HttpResponse::new(status.try_into().unwrap(), "".into());
    SdkError::service_error(SendMessageBatchError::generic(error), response)
}

#[tokio::test]
async fn what_concerns_all_ends_the_tries_one_by_one() {
    let (hold, pace, calls) = (hold(), Pace::new(None), Cell::new(0));
    let call = async |open: &[usize]| {
        calls.set(calls.get() + 1);
        match open {
            [0] => Ok((vec![("0".to_owned(), None)], vec![])),
            [_] => Err(of_the_call(403, "AccessDenied")),
            _ => Err(of_the_call(400, "InvalidMessageContents")),
        }
    };
    let terms = Terms { pace: &pace, hold: &hold, stops: true };
    let answers =
        all::<SendMessageBatchError>(vec![0, 1, 2], "send", "sqs:SendMessage", &terms, |_| true, call).await;
    assert_eq!((calls.get(), answers.done), (3, vec![(0, None)]));
    let failed: Vec<_> = answers.failed.iter().map(|(index, _)| *index).collect();
    assert_eq!(failed, [1, 2]);
    assert!(answers.failed.iter().all(|(_, failed)| failed.reason.contains("need sqs:SendMessage")));
    assert!(answers.fatal.is_some());
}

#[tokio::test(start_paused = true)]
async fn the_third_call_in_a_row_without_a_clear_answer_ends_the_run() {
    let (hold, pace) = (hold(), Pace::new(None));
    let terms = Terms { pace: &pace, hold: &hold, stops: true };
    let call = async |_: &[usize]| Err(of_the_call(500, "InternalFailure"));
    let mut ends = vec![];
    for _ in 0..3 {
        let answers = all::<SendMessageBatchError>(vec![0], "send", "p", &terms, |_| true, call).await;
        assert!(answers.failed[0].1.perhaps_done);
        ends.push(answers.fatal.is_some());
    }
    assert_eq!(ends, [false, false, true]);
}
