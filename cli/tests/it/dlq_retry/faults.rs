//! What AWS refuses: a letter stays if it was not sent, and is named if it may be twice.

use std::time::Duration;

use super::letters::{DEAD, ORDERS, bodies, counts, write};
use crate::proxy::{Call, Fate, Proxy};
use crate::support::{Aws, Ran};

fn retry(
    aws: &Aws,
    more: &[&str],
    fate: impl Fn(&Call, usize) -> Fate + Send + Sync + 'static,
) -> (Ran, Proxy) {
    let proxy = Proxy::start(&aws.url, fate);
    let arguments = [&["dlq", "retry", "--queue", ORDERS, "--yes"], more].concat();
    (Ran::new(&crate::support::command_at(&proxy.url, &arguments).output().unwrap()), proxy)
}

fn on(action: &'static str, fate: Fate) -> impl Fn(&Call, usize) -> Fate {
    move |call, _| if call.action == action { fate.clone() } else { Fate::Answered }
}

#[test]
fn a_letter_that_could_not_be_sent_stays_and_is_visible_again() {
    let aws = Aws::with_orders(false);
    write(&aws, 5, &["rejected"]);
    let fate = on("SendMessageBatch", Fate::EntriesFail(vec![1, 3], "InvalidMessageContents"));
    let (ran, proxy) = retry(&aws, &[], fate);
    assert_eq!(ran.code, 1);
    assert_eq!(ran.stdout, "3 sent from orders-dead to orders, 2 failed\n");
    assert_eq!(
        ran.stderr
            .matches(" stays: the body or an attribute holds a character that SQS does not take (a fault)")
            .count(),
        2,
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.ends_with("redrive: 2 letters were not sent\n"), "{}", ran.stderr);
    assert_eq!(proxy.entries(&["DeleteMessageBatch"]), [("DeleteMessageBatch".to_owned(), 3)]);
    assert_eq!((counts(&aws, ORDERS), counts(&aws, DEAD)), ((3, 0), (2, 0)));
    let all = [bodies(&aws, ORDERS), bodies(&aws, DEAD)].concat();
    assert_eq!(super::letters::distinct(&all), 5);
}

#[test]
fn why_one_entry_failed_is_said_in_the_words_of_a_failed_call() {
    for (code, expected) in [
        ("AccessDenied", "not allowed: your credentials need sqs:SendMessage (a fault)"),
        ("KmsAccessDenied", "need kms:Decrypt and kms:GenerateDataKey"),
        ("AWS.SimpleQueueService.InvalidMessageContents", "a character that SQS does not take (a fault)"),
    ] {
        let aws = Aws::with_orders(false);
        write(&aws, 1, &["rejected"]);
        let (ran, _proxy) = retry(&aws, &[], on("SendMessageBatch", Fate::EntriesFail(vec![0], code)));
        assert!(ran.code == 1 && ran.stderr.contains(expected), "{}", ran.stderr);
    }
}

#[test]
fn an_entry_that_is_throttled_is_tried_again_whoever_is_to_blame() {
    let aws = Aws::with_orders(false);
    write(&aws, 3, &["rejected"]);
    let (ran, _proxy) = retry(&aws, &[], |call, before| match call.action.as_str() {
        "SendMessageBatch" | "DeleteMessageBatch" if before < 2 => Fate::EntriesFail(vec![0], "KmsThrottled"),
        _ => Fate::Answered,
    });
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "3 sent from orders-dead to orders\n"), "{}", ran.stderr);
    assert_eq!((counts(&aws, ORDERS), counts(&aws, DEAD)), ((3, 0), (0, 0)));
}

#[test]
fn a_batch_that_is_refused_for_one_letters_sake_goes_one_by_one() {
    let aws = Aws::with_orders(false);
    write(&aws, 12, &["rejected"]);
    for code in ["InvalidMessageContents", "BatchRequestTooLong"] {
        let (ran, proxy) = retry(&aws, &[], move |call, _| {
            let entries = call.input["Entries"].as_array().into_iter().flatten();
            let has_seven = entries.into_iter().any(|entry| entry["MessageBody"] == "7");
            match has_seven {
                true => Fate::Refused(400, code),
                false => Fate::Answered,
            }
        });
        assert_eq!(ran.code, 1, "{}", ran.stdout);
        let [first, last] = ran.stderr.lines().collect::<Vec<_>>()[..] else { panic!("{}", ran.stderr) };
        assert!(first.contains(" stays: could not send to orders: "), "{first}");
        assert_eq!(last, "redrive: 1 letter was not sent");
        assert_eq!(counts(&aws, DEAD), (1, 0));
        let sends = proxy.entries(&["SendMessageBatch"]);
        assert!(
            sends.len() == 1 || sends.iter().filter(|(_, entries)| *entries == 1).count() == 10,
            "{sends:?}"
        );
    }
    assert_eq!(super::letters::distinct(&bodies(&aws, ORDERS)), 11);
}

#[test]
fn without_the_key_of_the_queue_no_letter_is_tried_by_itself() {
    let aws = Aws::with_orders(false);
    write(&aws, 12, &["rejected"]);
    let (ran, proxy) = retry(&aws, &[], on("SendMessageBatch", Fate::Refused(400, "KmsAccessDenied")));
    assert!(ran.code == 1 && ran.stderr.contains("the queue's key cannot be used"), "{}", ran.stderr);
    assert!(ran.stderr.ends_with("; nothing was sent, and the next run goes on with those that are left\n"));
    assert_eq!(proxy.entries(&["SendMessageBatch"]).len(), 1);
    assert_eq!(counts(&aws, DEAD), (12, 0));
}

#[test]
fn a_letter_that_the_answer_to_its_send_leaves_out_stays_and_may_have_been_sent() {
    let aws = Aws::with_orders(false);
    write(&aws, 3, &["rejected"]);
    let (ran, proxy) = retry(&aws, &["--json"], on("SendMessageBatch", Fate::EntriesUnmentioned(vec![1])));
    assert_eq!(ran.code, 1, "{}", ran.stdout);
    assert_eq!(ran.stdout.matches("\"perhaps-sent\"").count(), 1, "{}", ran.stdout);
    assert_eq!(ran.stdout.matches("\"sent\"").count(), 2, "{}", ran.stdout);
    assert!(
        ran.stderr.contains(" stays: SQS says nothing of it; it may have been sent all the same\n"),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.ends_with("redrive: 1 letter was not sent, 1 message may arrive twice\n"));
    assert_eq!(proxy.entries(&["DeleteMessageBatch"]), [("DeleteMessageBatch".to_owned(), 2)]);
    assert_eq!((counts(&aws, ORDERS), counts(&aws, DEAD)), ((3, 0), (1, 0)));
}

#[test]
fn a_letter_that_the_answer_to_its_delete_leaves_out_is_a_possible_duplicate() {
    let aws = Aws::with_orders(false);
    write(&aws, 3, &["rejected"]);
    let (ran, _proxy) = retry(&aws, &[], on("DeleteMessageBatch", Fate::EntriesUnmentioned(vec![0])));
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (1, "2 sent from orders-dead to orders, 1 sent but not deleted\n")
    );
    assert!(ran.stderr.contains(" but not deleted: SQS says nothing of it\n"), "{}", ran.stderr);
    assert!(ran.stderr.ends_with("redrive: 1 message may arrive twice\n"), "{}", ran.stderr);
}

#[test]
fn without_permission_to_send_nothing_is_deleted_and_one_line_says_what_is_missing() {
    let aws = Aws::with_orders(false);
    write(&aws, 3, &["rejected"]);
    let (ran, proxy) = retry(&aws, &[], on("SendMessageBatch", Fate::Refused(403, "AccessDeniedException")));
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("your credentials need sqs:SendMessage"), "{}", ran.stderr);
    assert_eq!(proxy.entries(&["SendMessageBatch", "DeleteMessageBatch"]).len(), 1, "one try, no delete");
    assert_eq!((counts(&aws, ORDERS), counts(&aws, DEAD)), ((0, 0), (3, 0)));
}

#[test]
fn a_letter_that_was_sent_but_not_deleted_is_named_as_a_possible_duplicate() {
    let aws = Aws::with_orders(false);
    write(&aws, 3, &["rejected"]);
    let fate = on("DeleteMessageBatch", Fate::EntriesFail(vec![2], "ReceiptHandleIsInvalid"));
    let (ran, _proxy) = retry(&aws, &[], fate);
    assert_eq!(ran.code, 1);
    assert_eq!(ran.stdout, "2 sent from orders-dead to orders, 1 sent but not deleted\n");
    let dead = super::letters::take(&aws, DEAD);
    let sent = super::letters::take(&aws, ORDERS);
    assert_eq!((dead.len(), sent.len()), (1, 3));
    let twin = sent.iter().find(|message| message.body == dead[0].body).unwrap();
    let expected = format!(
        "redrive: possible duplicate: letter {} was sent as {} but not deleted: the hold on the message has run out, and someone else may have it: \
         list again\n",
        dead[0].message_id.as_deref().unwrap(),
        twin.message_id.as_deref().unwrap(),
    );
    assert!(ran.stderr.starts_with(&expected), "{}", ran.stderr);
    assert!(ran.stderr.ends_with("redrive: 1 message may arrive twice\n"), "{}", ran.stderr);
}

#[test]
fn without_permission_to_delete_no_second_batch_is_sent() {
    let aws = Aws::with_orders(false);
    write(&aws, 25, &["rejected"]);
    let (ran, proxy) =
        retry(&aws, &["--json"], on("DeleteMessageBatch", Fate::Refused(403, "AccessDeniedException")));
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("your credentials need sqs:DeleteMessage"), "{}", ran.stderr);
    assert!(ran.stderr.contains("10 messages may arrive twice"), "{}", ran.stderr);
    assert_eq!(ran.stdout.matches("\"possible-duplicate\"").count(), 10, "{}", ran.stdout);
    assert_eq!(proxy.entries(&["SendMessageBatch"]), [("SendMessageBatch".to_owned(), 10)]);
    assert_eq!((counts(&aws, ORDERS), counts(&aws, DEAD)), ((10, 0), (25, 0)));
}

#[test]
fn a_send_without_an_answer_leaves_the_letters_and_says_that_they_may_have_been_sent() {
    let aws = Aws::with_orders(false);
    write(&aws, 2, &["rejected"]);
    let (ran, proxy) = retry(&aws, &[], on("SendMessageBatch", Fate::AnswerLost));
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert_eq!(ran.stderr.matches("it may have been sent all the same").count(), 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("2 messages may arrive twice"), "{}", ran.stderr);
    assert_eq!(proxy.entries(&["DeleteMessageBatch"]), []);
    assert_eq!(counts(&aws, DEAD), (2, 0));
}

#[test]
fn a_send_whose_answer_is_lost_once_is_not_repeated() {
    let aws = Aws::with_orders(false);
    write(&aws, 3, &["rejected"]);
    let (ran, proxy) = retry(&aws, &[], |call, before| match call.action.as_str() {
        "SendMessageBatch" if before == 0 => Fate::AnswerLost,
        _ => Fate::Answered,
    });
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("3 messages may arrive twice"), "{}", ran.stderr);
    assert_eq!(proxy.entries(&["SendMessageBatch"]).len(), 1);
    assert_eq!((counts(&aws, ORDERS), counts(&aws, DEAD)), ((3, 0), (3, 0)));
}

#[test]
fn a_send_that_ends_in_an_error_of_the_service_may_have_been_done_and_the_next_batch_goes() {
    let aws = Aws::with_orders(false);
    write(&aws, 12, &["rejected"]);
    let (ran, proxy) = retry(&aws, &["--json"], |call, before| match call.action.as_str() {
        "SendMessageBatch" if before == 0 => Fate::Refused(500, "InternalFailure"),
        _ => Fate::Answered,
    });
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert_eq!(ran.stdout.matches("\"perhaps-sent\"").count(), 10, "{}", ran.stdout);
    assert_eq!(ran.stderr.matches("it may have been sent all the same").count(), 10, "{}", ran.stderr);
    assert_eq!(proxy.entries(&["SendMessageBatch"]).len(), 2);
    assert_eq!((counts(&aws, ORDERS), counts(&aws, DEAD)), ((2, 0), (10, 0)));
}

#[test]
fn what_failed_is_told_though_nobody_reads_stdout() {
    for more in [&[][..], &["--json"]] {
        let aws = Aws::with_orders(false);
        write(&aws, 2, &["rejected"]);
        let fate = on("DeleteMessageBatch", Fate::EntriesFail(vec![0, 1], "ReceiptHandleIsInvalid"));
        let proxy = Proxy::start(&aws.url, fate);
        let arguments = [&["dlq", "retry", "--queue", ORDERS, "--yes"], more].concat();
        let ran = crate::support::unread(&proxy.url, &arguments);
        assert_eq!(ran.code, 1, "{}", ran.stderr);
        assert_eq!(ran.stderr.matches("possible duplicate: letter ").count(), 2, "{}", ran.stderr);
        assert!(ran.stderr.ends_with("redrive: 2 messages may arrive twice\n"), "{}", ran.stderr);
    }
}

#[test]
fn all_letters_move_though_nobody_reads_stdout() {
    for more in [&[][..], &["--json"]] {
        let aws = Aws::with_orders(false);
        write(&aws, 25, &["rejected"]);
        let ran =
            crate::support::unread(&aws.url, &[&["dlq", "retry", "--queue", ORDERS, "--yes"], more].concat());
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
        assert_eq!((counts(&aws, ORDERS), counts(&aws, DEAD)), ((25, 0), (0, 0)));
    }
    let aws = Aws::with_orders(false);
    write(&aws, 25, &["rejected"]);
    let proxy = Proxy::listening(&aws.url);
    let dry = ["dlq", "retry", "--queue", ORDERS, "--dry-run", "--json"];
    assert_eq!(crate::support::unread(&proxy.url, &dry).code, 0);
    assert_eq!(proxy.entries(&["ReceiveMessage"]).len(), 1, "what was only to be read ends");
}

#[test]
fn throttled_calls_are_tried_again_more_slowly() {
    let aws = Aws::with_orders(false);
    write(&aws, 3, &["rejected"]);
    let (ran, proxy) = retry(&aws, &[], |call, before| match call.action.as_str() {
        "SendMessageBatch" if before < 4 => Fate::Refused(400, "RequestThrottled"),
        "DeleteMessageBatch" if before < 1 => Fate::Refused(400, "RequestThrottled"),
        _ => Fate::Answered,
    });
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "3 sent from orders-dead to orders\n"), "{}", ran.stderr);
    assert_eq!(proxy.entries(&["SendMessageBatch"]).len(), 5);
    assert_eq!((counts(&aws, ORDERS), counts(&aws, DEAD)), ((3, 0), (0, 0)));
}

#[test]
fn a_service_that_fails_for_a_moment_costs_nothing() {
    let aws = Aws::with_orders(false);
    write(&aws, 12, &["rejected"]);
    let (ran, _proxy) = retry(&aws, &[], |call, before| match call.action.as_str() {
        "DeleteMessageBatch" | "ReceiveMessage" if before == 0 => Fate::Refused(500, "InternalFailure"),
        "SendMessageBatch" => Fate::Delayed(Duration::from_millis(50)),
        _ => Fate::Answered,
    });
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{}", ran.stdout);
    assert_eq!((counts(&aws, ORDERS), counts(&aws, DEAD)), ((12, 0), (0, 0)));
}

#[test]
fn letters_that_cannot_be_made_visible_again_are_told_of() {
    let aws = Aws::with_orders(false);
    write(&aws, 3, &["rejected"]);
    let fate = on("ChangeMessageVisibilityBatch", Fate::Refused(403, "AccessDeniedException"));
    let (ran, _proxy) = retry(&aws, &["--where", "reason = panic"], fate);
    assert!(ran.stderr.contains("3 letters stay hidden for up to 60 s"), "{}", ran.stderr);
}
