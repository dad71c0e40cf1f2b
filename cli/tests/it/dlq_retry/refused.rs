//! AWS refuses to hand letters out for a moment: what was begun goes on.

use super::letters::{DEAD, ORDERS, with_letters};
use crate::proxy::{Fate, Proxy};
use crate::support::Aws;

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

#[test]
fn a_list_an_export_and_a_delete_outlast_them_too() {
    std::thread::scope(|scope| {
        for (verb, left) in [("list --json", 3), ("export -", 3), ("delete --all --yes --json", 0)] {
            scope.spawn(move || {
                let aws = with_letters(3, &["panic"]);
                let proxy = refusing(&aws, 0, MANY, Fate::Refused(400, "ThrottlingException"));
                proxy
                    .redrive(&format!("dlq {verb} --queue orders"))
                    .ended(0)
                    .stdout_count("\"message_id\"", 3)
                    .stderr_starts("redrive: retrying for up to 1m: ");
                assert_eq!(aws.counts(DEAD), (left, 0));
            });
        }
    });
}
