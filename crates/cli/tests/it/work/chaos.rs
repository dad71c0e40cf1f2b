//! Kills the app and the worker in turn while they handle messages: each message is done at least once.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};

use aws_sdk_sqs::types::QueueAttributeName;
use serde_json::Value;

use super::http::Sidecar;
use super::{children, counts};
use crate::support::running::{Running, until};

const MESSAGES: usize = 300;
const ROUNDS: usize = 6;

/// Has messages with this body handled.
fn survive(it: &Sidecar, body: &str, work: impl Fn() -> Running, mut kill_app: impl FnMut(&Running)) {
    // Kills use up deliveries.
    let policy = it.aws.attribute("orders", "RedrivePolicy");
    let mut policy: Value = serde_json::from_str(&policy).expect("it is JSON");
    policy["maxReceiveCount"] = 1_000.into();
    let request = it.aws.sqs.set_queue_attributes().queue_url(it.aws.queue_url("orders"));
    let request = request.attributes(QueueAttributeName::RedrivePolicy, policy.to_string());
    it.aws.wait(request.send()).expect("it is set");
    let sent: BTreeSet<_> = (0..MESSAGES).map(|_| it.aws.send("orders", body)).collect();
    let done = || it.log().into_iter().collect::<BTreeSet<_>>();
    let after = |worker: Running| {
        drop(worker);
        // The leases of the killed worker end, and so do outages.
        it.aws.skip(3_600);
        work()
    };
    let mut worker = work();
    for round in 1..=ROUNDS {
        let enough = round * MESSAGES / (ROUNDS + 2);
        until("work goes on", || done().len() >= enough);
        worker = after(worker);
        until("work goes on", || done().len() >= enough + MESSAGES / (2 * (ROUNDS + 2)));
        kill_app(&worker);
        worker = after(worker);
    }
    until("all are done", || done() == sent);
    worker = after(worker);
    until("no message is left", || counts(&it.aws, "orders") == ("0".to_owned(), "0".to_owned()));
    assert_eq!(counts(&it.aws, "orders-dead").0, "0");
    drop(worker);
}

#[test]
fn no_message_is_lost_while_an_app_and_its_worker_are_killed() {
    let it = Sidecar::new("http");
    let body = "setTimeout(() => { log(request.headers['x-aws-sqsd-msgid']); answer(200); }, 50)";
    let mut app = Some(it.app());
    survive(
        &it,
        body,
        || it.work("--concurrency 8"),
        |_| {
            drop(app.take());
            app = Some(it.app());
        },
    );
}

#[test]
fn no_message_is_lost_while_programs_and_their_worker_are_killed() {
    let it = Sidecar::new("http");
    let work = || {
        let mut command = super::command(&it.aws, "orders", "--concurrency 8", it.folder.path());
        it.start(command.args(["--", "sh"]))
    };
    survive(&it, "sleep 0.05; echo $MessageId >> log", work, |worker| {
        for program in children(&worker.0.id().to_string()) {
            // It may have ended.
            let _ = Command::new("kill").args(["-KILL", &program]).stderr(Stdio::null()).status();
        }
    });
}
