//! Calls under every answer that SQS and the network may give.

use std::cell::RefCell;
use std::collections::BTreeSet;

use aws_sdk_sqs::error::ErrorMetadata;
use aws_sdk_sqs::types::{
    BatchResultErrorEntry, ChangeMessageVisibilityBatchRequestEntry, MessageAttributeValue,
    SendMessageBatchRequestEntry,
};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::http::StatusCode;
use proptest::prelude::*;
use redrive_sqs::DeadLetter;

use super::*;

/// An error code that blames the content of an entry.
const CONTENT: &str = "InvalidParameterValue";
const LONGEST: Duration = Duration::from_secs(20);

/// The answer to a call.
#[derive(Debug, Clone)]
enum Script {
    Lost,
    Nothing,
    Refused(&'static str, u16),
    /// The entries of this mask fail, the others succeed.
    Failed {
        code: &'static str,
        sender_fault: bool,
        mask: u16,
    },
    /// An answer that mentions no entry.
    Blank,
}

/// A call that was made, with the indices of its entries, and the indices of those that had their note.
#[derive(Debug)]
struct Made {
    indices: Vec<usize>,
    noted: BTreeSet<usize>,
    reply: Script,
}

impl Script {
    /// Returns the indices that SQS has carried out.
    fn done(&self, indices: &[usize]) -> BTreeSet<usize> {
        match self {
            Self::Failed { mask, .. } => {
                indices.iter().copied().filter(|index| mask & (1 << index) == 0).collect()
            }
            Self::Lost | Self::Nothing | Self::Refused(..) | Self::Blank => BTreeSet::new(),
        }
    }

    /// Returns true if this answer makes a letter leave out its note.
    fn blames(&self, index: usize, alone: bool) -> bool {
        match self {
            Self::Refused(code, 400) => alone && *code == CONTENT,
            Self::Failed { code, sender_fault: true, mask } => mask & (1 << index) != 0 && *code == CONTENT,
            _ => false,
        }
    }

    async fn answer(self, indices: &[usize]) -> Result<Answer, SdkError<ErrorMetadata, HttpResponse>> {
        let done = self.done(indices);
        let confirmed = done.iter().map(ToString::to_string).collect();
        match self {
            Self::Lost => Err(SdkError::dispatch_failure(ConnectorError::io("reset".into()))),
            Self::Nothing => std::future::pending().await,
            Self::Refused(code, status) => {
                let response = HttpResponse::new(StatusCode::try_from(status).unwrap(), "".into());
                Err(SdkError::service_error(ErrorMetadata::builder().code(code).build(), response))
            }
            Self::Blank => Ok(Answer { confirmed, failed: Vec::new() }),
            Self::Failed { code, sender_fault, .. } => {
                let failed = indices.iter().filter(|index| !done.contains(index)).map(|index| {
                    let entry = BatchResultErrorEntry::builder().id(index.to_string()).code(code);
                    entry.sender_fault(sender_fault).build().unwrap()
                });
                Ok(Answer { confirmed, failed: failed.collect() })
            }
        }
    }
}

fn letter(index: usize) -> SendMessageBatchRequestEntry {
    let note = MessageAttributeValue::builder().data_type("String").string_value("{}").build().unwrap();
    let entry = SendMessageBatchRequestEntry::builder().id(index.to_string()).message_body("tea");
    entry.message_attributes(DeadLetter::ATTRIBUTE, note).build().unwrap()
}

/// Sends this many letters. The script has the answers, and calls after its end succeed. Returns the places that are confirmed,
/// those that would be refused again, the calls, and the time.
fn run(letters: usize, order: Order, script: &[Script]) -> ([Vec<usize>; 2], Vec<Made>, Duration) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let made = RefCell::new(Vec::<Made>::new());
    let (ruled, took) = runtime.unwrap().block_on(async {
        let (endpoint, began) = (Endpoint::default(), Instant::now());
        let kind = CallKind { operation: "Test", endpoint: &endpoint, until: began + LONGEST, order };
        let call = |entries: Vec<SendMessageBatchRequestEntry>| {
            let index = |entry: &SendMessageBatchRequestEntry| entry.id.parse::<usize>().unwrap();
            let is_noted = |entry: &&SendMessageBatchRequestEntry| {
                entry.message_attributes.as_ref().is_some_and(|it| it.contains_key(DeadLetter::ATTRIBUTE))
            };
            let indices: Vec<_> = entries.iter().map(index).collect();
            let noted = entries.iter().filter(is_noted).map(index).collect();
            let everything_done = Script::Failed { code: "", sender_fault: false, mask: 0 };
            let reply = script.get(made.borrow().len()).cloned().unwrap_or(everything_done);
            made.borrow_mut().push(Made { indices: indices.clone(), noted, reply: reply.clone() });
            async move { reply.answer(&indices).await }
        };
        (send((0..letters).map(letter).collect(), kind, call).await, began.elapsed())
    });
    let places = |of: Confirmation| ruled.iter().filter(|it| it.1 == of).map(|it| it.0).collect();
    ([Confirmation::Done, Confirmation::Refused].map(places), made.into_inner(), took)
}

/// Sets visibility timeouts of these seconds. The script has the answers. Returns the time and the entries of each call, and
/// the places for which SQS surely did nothing.
fn delay(seconds: &[i32], script: &[Script]) -> (Vec<(Duration, Vec<usize>)>, Vec<usize>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let made = RefCell::new(Vec::new());
    let ruled = runtime.unwrap().block_on(async {
        let (endpoint, began) = (Endpoint::default(), Instant::now());
        let (until, order) = (began + LONGEST, Order::Free);
        let kind = CallKind { operation: "Test", endpoint: &endpoint, until, order };
        let call = |entries: Vec<ChangeMessageVisibilityBatchRequestEntry>| {
            let indices: Vec<usize> = entries.iter().map(|entry| entry.id.parse().unwrap()).collect();
            let everything_done = Script::Failed { code: "", sender_fault: false, mask: 0 };
            let reply = script.get(made.borrow().len()).cloned().unwrap_or(everything_done);
            made.borrow_mut().push((began.elapsed(), indices.clone()));
            async move { reply.answer(&indices).await }
        };
        let entry = |(index, seconds): (usize, &i32)| {
            let entry = ChangeMessageVisibilityBatchRequestEntry::builder().id(index.to_string());
            entry.receipt_handle("handle").visibility_timeout(*seconds).build().unwrap()
        };
        send(seconds.iter().enumerate().map(entry).collect(), kind, call).await
    });
    let untouched = ruled.iter().filter(|it| it.1 == Confirmation::NotDone).map(|it| it.0).collect();
    (made.into_inner(), untouched)
}

#[test]
fn a_visibility_timeout_is_not_set_again_once_the_message_may_be_visible() {
    let sent = |seconds: &[i32], script: &[Script]| delay(seconds, script).0.into_iter().map(|it| it.1);
    // Nobody knows whether SQS has carried it out.
    for unclear in [Script::Lost, Script::Blank, Script::Refused("InternalError", 500)] {
        let script = [unclear.clone(), unclear];
        assert_eq!(sent(&[0], &script).count(), 1, "{script:?}");
        assert!(sent(&[1], &script).count() > 1, "{script:?}");
        assert!(sent(&[0, 8], &script).skip(1).all(|entries| entries == [1]), "{script:?}");
    }
    let (calls, untouched) = delay(&[2, 4], &[Script::Nothing, Script::Nothing]);
    assert_eq!(calls.iter().map(|it| &*it.1).collect::<Vec<_>>(), [&[0, 1][..], &[1]], "the first took 2 s");
    assert!(untouched.is_empty());
    // SQS did nothing, and says so.
    for status in [400, 500] {
        let throttled = vec![Script::Refused("RequestThrottled", status); 2];
        let (calls, untouched) = delay(&[0], &throttled);
        assert_eq!((calls.len(), untouched), (2, vec![0]), "{status}");
    }
}

proptest! {
    #[test]
    fn no_call_for_a_message_is_sent_or_waited_for_once_it_may_be_visible(
        seconds in prop::collection::vec(0..6, 1..=10),
        script in prop::collection::vec(reply(), 0..12),
    ) {
        let (calls, _) = delay(&seconds, &script);
        let mut hidden: Vec<Option<Duration>> = vec![None; seconds.len()];
        for (number, (sent, entries)) in calls.iter().enumerate() {
            for &entry in entries {
                prop_assert!(hidden[entry].is_none_or(|until| *sent < until), "{:?}", calls);
                let is_clear = match script.get(number) {
                    Some(Script::Refused(code, status)) => *code == "RequestThrottled" || *status < 500,
                    Some(Script::Failed { .. }) | None => true,
                    Some(Script::Lost | Script::Nothing | Script::Blank) => false,
                };
                if !is_clear {
                    let until = *sent + Duration::from_secs(u64::try_from(seconds[entry]).unwrap());
                    hidden[entry].get_or_insert(until);
                }
            }
        }
    }
}

fn reply() -> impl Strategy<Value = Script> {
    let code = prop::sample::select(vec!["RequestThrottled", CONTENT, "AccessDenied"]);
    let failed = (code.clone(), any::<bool>(), 0_u16..1_024);
    prop_oneof![
        2 => Just(Script::Lost),
        1 => Just(Script::Nothing),
        3 => (code, prop::sample::select(vec![400, 403, 500])).prop_map(|(code, status)| Script::Refused(code, status)),
        4 => failed.prop_map(|(code, sender_fault, mask)| Script::Failed { code, sender_fault, mask }),
        1 => Just(Script::Blank),
    ]
}

proptest! {
    #[test]
    fn any_replies_leave_done_entries_known_and_unrepeated(
        letters in 1_usize..=10,
        fifo in any::<bool>(),
        script in prop::collection::vec(reply(), 0..40),
    ) {
        let order = if fifo { Order::Kept } else { Order::Free };
        let ([confirmed, refused], calls, took) = run(letters, order, &script);
        prop_assert!(took <= LONGEST, "{:?}", took);
        prop_assert!(calls.len() <= 4 + 4 * letters, "{} calls", calls.len());
        let (mut done, mut blamed) = (BTreeSet::new(), BTreeSet::new());
        for Made { indices, noted, reply } in &calls {
            prop_assert!(indices.iter().all(|index| !done.contains(index)), "sent twice: {:?}", calls);
            prop_assert!(indices.is_sorted(), "out of order: {:?}", calls);
            let without: BTreeSet<_> = indices.iter().copied().filter(|index| !noted.contains(index)).collect();
            prop_assert!(without.is_subset(&blamed), "a note is lost: {:?}", calls);
            done.extend(reply.done(indices));
            blamed.extend(indices.iter().copied().filter(|&index| reply.blames(index, indices.len() == 1)));
        }
        prop_assert!(refused.iter().all(|index| blamed.contains(index) && !done.contains(index)));
        prop_assert_eq!(confirmed.len(), done.len());
        prop_assert_eq!(confirmed.into_iter().collect::<BTreeSet<_>>(), done);
    }
}

#[test]
fn a_call_has_two_tries_and_after_a_loss_three() {
    for (script, calls, would_be_refused_again) in [
        (vec![Script::Blank; 9], 2, 0),
        (vec![Script::Refused("RequestThrottled", 400); 9], 2, 0),
        (vec![Script::Refused("AccessDenied", 403); 9], 2, 0),
        (vec![Script::Refused(CONTENT, 500); 9], 2, 0),
        (vec![Script::Nothing; 9], 2, 0),
        (vec![Script::Lost; 9], 3, 0),
        (vec![Script::Blank, Script::Lost, Script::Blank], 3, 0),
        // All of it, each of three alone, and again without its note.
        (vec![Script::Refused(CONTENT, 400); 9], 7, 3),
    ] {
        let ([confirmed, refused], made, _) = run(3, Order::Free, &script);
        let expected = (0, would_be_refused_again, calls);
        assert_eq!((confirmed.len(), refused.len(), made.len()), expected, "{script:?}");
    }
}
