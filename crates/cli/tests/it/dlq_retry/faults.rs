//! Failed calls: a letter stays if it was not sent, and is named if it may arrive twice.

use super::letters::{DEAD, ORDERS, with_letters};
use crate::proxy::{Call, Fate, Proxy};
use crate::support::{Aws, Ran, on, unread};

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
fn failures_are_reported_although_nobody_reads_stdout() {
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

/// More calls than the SDK makes by itself, which tries some errors again and others not.
const MANY: usize = 4;
const FEW: usize = 2;

/// Refuses so many calls in a row, from this one on.
fn refusing(aws: &Aws, from: usize, calls: usize, fate: Fate) -> Proxy {
    Proxy::start(&aws.url, move |call, before| match call.action.as_str() {
        "ReceiveMessage" if (from..from + calls).contains(&before) => fate.clone(),
        _ => Fate::Answered,
    })
}

#[test]
fn a_retry_outlasts_refused_receives_and_says_so_once() {
    let fates = [
        (MANY, Fate::Refused(400, "ThrottlingException"), "AWS throttles the requests"),
        (MANY, Fate::Refused(400, "RequestThrottled"), "AWS throttles the requests"),
        (FEW, Fate::Refused(403, "OverLimit"), "too many messages are in flight"),
        (MANY, Fate::Refused(503, "ServiceUnavailable"), "AWS reported an internal error"),
        (MANY, Fate::HungUp, "no connection"),
    ];
    // Side by side, since the pauses are real ones.
    std::thread::scope(|scope| {
        for (calls, fate, expected) in fates {
            scope.spawn(move || {
                let aws = with_letters(15, &["panic"]);
                let proxy = refusing(&aws, 1, calls, fate);
                proxy
                    .redrive("dlq retry --queue orders --yes")
                    .printed(0, "15 sent from orders-dead to orders\n")
                    .stderr_count("retrying", 1)
                    .stderr_starts("redrive: retrying for up to 1m: could not receive from orders-dead: ")
                    .stderr_has(expected);
                assert_eq!((aws.counts(ORDERS), aws.counts(DEAD)), ((15, 0), (0, 0)));
            });
        }
    });
}
