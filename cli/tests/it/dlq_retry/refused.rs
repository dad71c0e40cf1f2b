//! AWS refuses to hand letters out for a moment: what was begun goes on.

use super::letters::{DEAD, ORDERS, counts, write};
use crate::proxy::{Fate, Proxy};
use crate::support::{Aws, Ran, command_at};

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

fn run(proxy: &Proxy, arguments: &[&str]) -> Ran {
    Ran::new(&command_at(&proxy.url, &[arguments, &["--queue", ORDERS]].concat()).output().unwrap())
}

#[test]
fn a_retry_outlasts_refused_receives_and_says_so_once() {
    let fates = [
        (MANY, Fate::Refused(400, "ThrottlingException"), "AWS throttles the requests"),
        (MANY, Fate::Refused(400, "RequestThrottled"), "AWS throttles the requests"),
        (FEW, Fate::Refused(403, "OverLimit"), "too many messages are in flight"),
        (MANY, Fate::Refused(503, "ServiceUnavailable"), "AWS had an error of its own"),
        (MANY, Fate::HungUp, "no connection"),
    ];
    // Side by side, since the pauses are real ones.
    std::thread::scope(|scope| {
        for (calls, fate, expected) in fates {
            scope.spawn(move || {
                let aws = Aws::with_orders(false);
                write(&aws, 15, &["panic"]);
                let proxy = refusing(&aws, 1, calls, fate);
                let ran = run(&proxy, &["dlq", "retry", "--yes"]);
                assert_eq!(ran.stdout, "15 sent from orders-dead to orders\n", "{}", ran.stderr);
                assert_eq!((ran.code, ran.stderr.matches("trying again").count()), (0, 1), "{}", ran.stderr);
                let begin = "redrive: trying again for up to 1m: could not receive from orders-dead: ";
                assert!(ran.stderr.starts_with(begin) && ran.stderr.contains(expected), "{}", ran.stderr);
                assert_eq!((counts(&aws, ORDERS), counts(&aws, DEAD)), ((15, 0), (0, 0)));
            });
        }
    });
}

#[test]
fn a_list_an_export_and_a_delete_outlast_them_too() {
    std::thread::scope(|scope| {
        for (verb, more, left) in [
            ("list", &["--json"][..], 3),
            ("export", &["-"], 3),
            ("delete", &["--all", "--yes", "--json"], 0),
        ] {
            scope.spawn(move || {
                let aws = Aws::with_orders(false);
                write(&aws, 3, &["panic"]);
                let proxy = refusing(&aws, 0, MANY, Fate::Refused(400, "ThrottlingException"));
                let ran = run(&proxy, &[&["dlq", verb], more].concat());
                assert_eq!((ran.code, ran.stdout.matches("\"message_id\"").count()), (0, 3), "{ran:?}");
                assert!(ran.stderr.starts_with("redrive: trying again for up to 1m: "), "{}", ran.stderr);
                assert_eq!(counts(&aws, DEAD), (left, 0));
            });
        }
    });
}

#[test]
fn what_no_pause_mends_ends_the_run_at_once_and_says_what_was_moved() {
    let aws = Aws::with_orders(false);
    write(&aws, 15, &["panic"]);
    let proxy = refusing(&aws, 1, FEW, Fate::Refused(403, "AccessDeniedException"));
    let ran = run(&proxy, &["dlq", "retry", "--yes"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, "10 sent from orders-dead to orders\n"));
    let expected = "redrive: could not receive from orders-dead: not allowed: your credentials need sqs:ReceiveMessage \
                    (a fault of the test); 10 letters were sent before, and the next run goes on with those that are left\n";
    assert_eq!(ran.stderr, expected);
    assert_eq!((counts(&aws, ORDERS), counts(&aws, DEAD)), ((10, 0), (5, 0)));
}
