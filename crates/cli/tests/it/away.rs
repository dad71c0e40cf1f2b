//! An app that is away for a minute. Its name is the first in the alphabet, so that other tests run while it waits.

use crate::support::running::signal;
use crate::work::http::Sidecar;
use crate::work::{counts, exit_code};

#[test]
fn while_the_app_is_away_messages_stay_in_the_queue() {
    let it = Sidecar::new("http");
    let app = it.app();
    let worker = it.work("--concurrency 1");
    it.aws.send("orders", "log('first'); answer(200)");
    it.until_logged(1);
    drop(app);
    for _ in 0..20 {
        it.aws.send("orders", "answer(200)");
    }
    it.until_said("stdout", "a dependency is down", 1);
    let (visible, _) = counts(&it.aws, "orders");
    assert!(visible.parse::<u32>().is_ok_and(|visible| visible >= 15), "{visible} are visible");
    signal("-TERM", &worker.0);
    assert_eq!(exit_code(worker), Some(0));
}
