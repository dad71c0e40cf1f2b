//! What AWS refuses: a letter stays if it was not sent, and is named if it may be twice.

use super::letters::{DEAD, ORDERS, with_letters};
use crate::proxy::{Call, Fate, Proxy};
use crate::support::{Aws, Ran, at_first, on, unread};

fn retry(aws: &Aws, more: &str, fate: impl Fn(&Call, usize) -> Fate + Send + Sync + 'static) -> (Ran, Proxy) {
    let proxy = Proxy::start(&aws.url, fate);
    (proxy.redrive(&format!("dlq retry --queue orders --yes {more}")), proxy)
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
