//! What AWS refuses: a letter stays if it was not sent, and is named if it may be twice.

use std::time::Duration;

use super::letters::{DEAD, ORDERS, bodies, distinct, take, with_letters};
use crate::proxy::{Call, Fate, Proxy};
use crate::support::{Aws, Ran, at_first, on, unread};

fn retry(aws: &Aws, more: &str, fate: impl Fn(&Call, usize) -> Fate + Send + Sync + 'static) -> (Ran, Proxy) {
    let proxy = Proxy::start(&aws.url, fate);
    (proxy.redrive(&format!("dlq retry --queue orders --yes {more}")), proxy)
}

#[test]
fn a_letter_that_could_not_be_sent_stays_and_is_visible_again() {
    let aws = with_letters(5, &["rejected"]);
    let fate = on("SendMessageBatch", Fate::EntriesFail(vec![1, 3], "InvalidMessageContents"));
    let (ran, proxy) = retry(&aws, "", fate);
    ran.printed(1, "3 sent from orders-dead to orders, 2 failed\n")
        .stderr_count(
            " stays: the body or an attribute holds a character that SQS does not accept (a fault)",
            2,
        )
        .stderr_ends("redrive: 2 letters were not sent\n");
    assert_eq!(proxy.sizes("DeleteMessageBatch"), [3]);
    assert_eq!((aws.counts(ORDERS), aws.counts(DEAD)), ((3, 0), (2, 0)));
    let all = [bodies(&aws, ORDERS), bodies(&aws, DEAD)].concat();
    assert_eq!(distinct(&all), 5);
}

#[test]
fn why_one_entry_failed_is_said_in_the_words_of_a_failed_call() {
    for (code, expected) in [
        ("AccessDenied", "not allowed: your credentials need sqs:SendMessage (a fault)"),
        ("KmsAccessDenied", "need kms:Decrypt and kms:GenerateDataKey"),
        ("AWS.SimpleQueueService.InvalidMessageContents", "a character that SQS does not accept (a fault)"),
    ] {
        let aws = with_letters(1, &["rejected"]);
        let (ran, _proxy) = retry(&aws, "", on("SendMessageBatch", Fate::EntriesFail(vec![0], code)));
        ran.ended(1).stderr_has(expected);
    }
}

#[test]
fn an_entry_that_is_throttled_is_tried_again_whoever_is_to_blame() {
    let aws = with_letters(3, &["rejected"]);
    let (ran, _proxy) = retry(&aws, "", |call, before| match call.action.as_str() {
        "SendMessageBatch" | "DeleteMessageBatch" if before < 2 => Fate::EntriesFail(vec![0], "KmsThrottled"),
        _ => Fate::Answered,
    });
    ran.printed(0, "3 sent from orders-dead to orders\n");
    assert_eq!((aws.counts(ORDERS), aws.counts(DEAD)), ((3, 0), (0, 0)));
}

#[test]
fn a_batch_that_is_refused_for_one_letters_sake_goes_one_by_one() {
    let aws = with_letters(12, &["rejected"]);
    for code in ["InvalidMessageContents", "BatchRequestTooLong"] {
        let (ran, proxy) = retry(&aws, "", move |call, _| {
            let entries = call.input["Entries"].as_array().into_iter().flatten();
            let has_seven = entries.into_iter().any(|entry| entry["MessageBody"] == "7");
            match has_seven {
                true => Fate::Refused(400, code),
                false => Fate::Answered,
            }
        });
        ran.ended(1);
        let [first, last] = ran.stderr.lines().collect::<Vec<_>>()[..] else { panic!("{}", ran.stderr) };
        assert!(first.contains(" stays: could not send to orders: "), "{first}");
        assert_eq!(last, "redrive: 1 letter was not sent");
        assert_eq!(aws.counts(DEAD), (1, 0));
        let sends = proxy.sizes("SendMessageBatch");
        assert!(sends.len() == 1 || sends.iter().filter(|size| **size == 1).count() == 10, "{sends:?}");
    }
    assert_eq!(distinct(&bodies(&aws, ORDERS)), 11);
}

#[test]
fn without_the_key_of_the_queue_no_letter_is_tried_by_itself() {
    let aws = with_letters(12, &["rejected"]);
    let (ran, proxy) = retry(&aws, "", on("SendMessageBatch", Fate::Refused(400, "KmsAccessDenied")));
    ran.ended(1)
        .stderr_has("the queue's key cannot be used")
        .stderr_ends("; nothing was sent; run it again for the rest\n");
    assert_eq!(proxy.entries(&["SendMessageBatch"]).len(), 1);
    assert_eq!(aws.counts(DEAD), (12, 0));
}

#[test]
fn a_letter_that_the_answer_to_its_send_leaves_out_stays_and_may_have_been_sent() {
    let aws = with_letters(3, &["rejected"]);
    let (ran, proxy) = retry(&aws, "--json", on("SendMessageBatch", Fate::EntriesUnmentioned(vec![1])));
    ran.ended(1)
        .stdout_count("\"perhaps-sent\"", 1)
        .stdout_count("\"sent\"", 2)
        .stderr_has(" stays: SQS did not report a result for it; it may have been sent anyway\n")
        .stderr_ends("redrive: 1 letter was not sent, 1 message may arrive twice\n");
    assert_eq!(proxy.sizes("DeleteMessageBatch"), [2]);
    assert_eq!((aws.counts(ORDERS), aws.counts(DEAD)), ((3, 0), (1, 0)));
}

#[test]
fn a_letter_that_the_answer_to_its_delete_leaves_out_is_a_possible_duplicate() {
    let aws = with_letters(3, &["rejected"]);
    let (ran, _proxy) = retry(&aws, "", on("DeleteMessageBatch", Fate::EntriesUnmentioned(vec![0])));
    ran.printed(1, "2 sent from orders-dead to orders, 1 sent but not deleted\n")
        .stderr_has(" but not deleted: SQS did not report a result for it\n")
        .stderr_ends("redrive: 1 message may arrive twice\n");
}

#[test]
fn without_permission_to_send_nothing_is_deleted_and_one_line_says_what_is_missing() {
    let aws = with_letters(3, &["rejected"]);
    let (ran, proxy) = retry(&aws, "", on("SendMessageBatch", Fate::Refused(403, "AccessDeniedException")));
    ran.ended(1).stderr_has("your credentials need sqs:SendMessage");
    assert_eq!(proxy.entries(&["SendMessageBatch", "DeleteMessageBatch"]).len(), 1, "one try, no delete");
    assert_eq!((aws.counts(ORDERS), aws.counts(DEAD)), ((0, 0), (3, 0)));
}

#[test]
fn a_letter_that_was_sent_but_not_deleted_is_named_as_a_possible_duplicate() {
    let aws = with_letters(3, &["rejected"]);
    let fate = on("DeleteMessageBatch", Fate::EntriesFail(vec![2], "ReceiptHandleIsInvalid"));
    let (ran, _proxy) = retry(&aws, "", fate);
    ran.printed(1, "2 sent from orders-dead to orders, 1 sent but not deleted\n");
    let dead = take(&aws, DEAD);
    let sent = take(&aws, ORDERS);
    assert_eq!((dead.len(), sent.len()), (1, 3));
    let twin = sent.iter().find(|message| message.body == dead[0].body).unwrap();
    let expected = format!(
        "redrive: possible duplicate: letter {} was sent as {} but not deleted: the receipt handle has expired, and another consumer may have the message: \
         list again\n",
        dead[0].message_id.as_deref().unwrap(),
        twin.message_id.as_deref().unwrap(),
    );
    ran.stderr_starts(&expected).stderr_ends("redrive: 1 message may arrive twice\n");
}

#[test]
fn without_permission_to_delete_no_second_batch_is_sent() {
    let aws = with_letters(25, &["rejected"]);
    let (ran, proxy) =
        retry(&aws, "--json", on("DeleteMessageBatch", Fate::Refused(403, "AccessDeniedException")));
    ran.ended(1)
        .stderr_has("your credentials need sqs:DeleteMessage")
        .stderr_has("10 messages may arrive twice");
    ran.stdout_count("\"possible-duplicate\"", 10);
    assert_eq!(proxy.sizes("SendMessageBatch"), [10]);
    assert_eq!((aws.counts(ORDERS), aws.counts(DEAD)), ((10, 0), (25, 0)));
}

#[test]
fn a_send_whose_answer_is_lost_is_not_repeated_and_leaves_the_letters() {
    let aws = with_letters(3, &["rejected"]);
    let (ran, proxy) = retry(&aws, "", at_first(1, "SendMessageBatch", Fate::AnswerLost));
    ran.ended(1).stderr_count("it may have been sent anyway", 3).stderr_has("3 messages may arrive twice");
    assert_eq!((proxy.sizes("SendMessageBatch"), proxy.sizes("DeleteMessageBatch")), (vec![3], vec![]));
    assert_eq!((aws.counts(ORDERS), aws.counts(DEAD)), ((3, 0), (3, 0)));
}

#[test]
fn a_send_that_ends_in_an_error_of_the_service_may_have_been_done_and_the_next_batch_goes() {
    let aws = with_letters(12, &["rejected"]);
    let (ran, proxy) =
        retry(&aws, "--json", at_first(1, "SendMessageBatch", Fate::Refused(500, "InternalFailure")));
    ran.ended(1).stdout_count("\"perhaps-sent\"", 10).stderr_count("it may have been sent anyway", 10);
    assert_eq!(proxy.entries(&["SendMessageBatch"]).len(), 2);
    assert_eq!((aws.counts(ORDERS), aws.counts(DEAD)), ((2, 0), (10, 0)));
}

#[test]
fn what_failed_is_told_though_nobody_reads_stdout() {
    for more in ["", "--json"] {
        let aws = with_letters(2, &["rejected"]);
        let fate = on("DeleteMessageBatch", Fate::EntriesFail(vec![0, 1], "ReceiptHandleIsInvalid"));
        let proxy = Proxy::start(&aws.url, fate);
        unread(&proxy.url, &format!("dlq retry --queue orders --yes {more}"))
            .ended(1)
            .stderr_count("possible duplicate: letter ", 2)
            .stderr_ends("redrive: 2 messages may arrive twice\n");
    }
}

#[test]
fn all_letters_move_though_nobody_reads_stdout() {
    for more in ["", "--json"] {
        let aws = with_letters(25, &["rejected"]);
        unread(&aws.url, &format!("dlq retry --queue orders --yes {more}")).told(0, "");
        assert_eq!((aws.counts(ORDERS), aws.counts(DEAD)), ((25, 0), (0, 0)));
    }
    let aws = with_letters(25, &["rejected"]);
    let proxy = Proxy::listening(&aws.url);
    unread(&proxy.url, "dlq retry --queue orders --dry-run --json").ended(0);
    assert_eq!(proxy.entries(&["ReceiveMessage"]).len(), 1, "what was only to be read ends");
}

#[test]
fn throttled_calls_are_tried_again_more_slowly() {
    let aws = with_letters(3, &["rejected"]);
    let (ran, proxy) = retry(&aws, "", |call, before| match call.action.as_str() {
        "SendMessageBatch" if before < 4 => Fate::Refused(400, "RequestThrottled"),
        "DeleteMessageBatch" if before < 1 => Fate::Refused(400, "RequestThrottled"),
        _ => Fate::Answered,
    });
    ran.printed(0, "3 sent from orders-dead to orders\n");
    assert_eq!(proxy.entries(&["SendMessageBatch"]).len(), 5);
    assert_eq!((aws.counts(ORDERS), aws.counts(DEAD)), ((3, 0), (0, 0)));
}

#[test]
fn a_service_that_fails_for_a_moment_costs_nothing() {
    let aws = with_letters(12, &["rejected"]);
    let (ran, _proxy) = retry(&aws, "", |call, before| match call.action.as_str() {
        "DeleteMessageBatch" | "ReceiveMessage" if before == 0 => Fate::Refused(500, "InternalFailure"),
        "SendMessageBatch" => Fate::Delayed(Duration::from_millis(50)),
        _ => Fate::Answered,
    });
    ran.told(0, "");
    assert_eq!((aws.counts(ORDERS), aws.counts(DEAD)), ((12, 0), (0, 0)));
}

#[test]
fn letters_that_cannot_be_made_visible_again_are_told_of() {
    let aws = with_letters(3, &["rejected"]);
    let fate = on("ChangeMessageVisibilityBatch", Fate::Refused(403, "AccessDeniedException"));
    let (ran, _proxy) = retry(&aws, "--where 'reason = panic'", fate);
    ran.stderr_has("3 letters stay hidden for up to 60 s");
}
