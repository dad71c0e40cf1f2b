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
    assert_eq!(ran.stderr.matches(" stays: a fault (InvalidMessageContents)").count(), 2, "{}", ran.stderr);
    assert!(ran.stderr.ends_with("redrive: 2 letters were not sent\n"), "{}", ran.stderr);
    assert_eq!(proxy.entries(&["DeleteMessageBatch"]), [("DeleteMessageBatch".to_owned(), 3)]);
    assert_eq!((counts(&aws, ORDERS), counts(&aws, DEAD)), ((3, 0), (2, 0)));
    let all = [bodies(&aws, ORDERS), bodies(&aws, DEAD)].concat();
    assert_eq!(super::letters::distinct(&all), 5);
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
        "redrive: possible duplicate: letter {} was sent as {} but not deleted: a fault (ReceiptHandleIsInvalid)\n",
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
