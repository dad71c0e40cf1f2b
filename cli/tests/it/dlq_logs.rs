//! `redrive dlq` beside the function's log: a real stack on this machine, whose function gave a message up.

use crate::support::running::{Running, built, free_port, root, until, wait_for};
use crate::support::{Ran, client, command};

/// The demo's stack, with two deliveries to a message.
struct Stack {
    url: String,
    _running: Running,
}

impl Stack {
    fn start() -> Self {
        let port = free_port();
        let line =
            format!("--port {port} --stack shop --parameter MaxReceiveCount=2 --parameter BatchingWindow=0");
        let running = Running::start(&root(), &built("orders"), &line);
        wait_for(port);
        Self { url: format!("http://127.0.0.1:{port}"), _running: running }
    }

    /// Sends an order; its message id.
    fn send(&self, gateway: &str) -> String {
        let sqs = client(&self.url, "us-east-1");
        let body =
            format!(r#"{{"order_id":"A-1","lines":[{{"sku":"tea","quantity":1}}],"gateway":"{gateway}"}}"#);
        let send =
            sqs.send_message().queue_url(format!("{}/000000000000/shop-orders", self.url)).message_body(body);
        let runtime = tokio::runtime::Runtime::new().expect("a runtime starts");
        runtime.block_on(send.send()).expect("it is sent").message_id.expect("SQS gives an id")
    }

    fn dlq(&self, line: &str) -> Ran {
        Ran::of(command(&format!("dlq {line} --endpoint-url {}", self.url)).env_remove("AWS_REGION"))
    }

    fn wait_for_letters(&self, count: usize) {
        until("the letters", || self.dlq("list --stack shop --json").stdout.lines().count() >= count);
    }
}

#[test]
fn the_log_says_why_letters_without_a_note_failed() {
    let stack = Stack::start();
    let (down, refused) = (stack.send("down"), stack.send("refuses"));
    stack.wait_for_letters(2);

    stack
        .dlq("list --stack shop")
        .ended(0)
        .stdout_has("redrive-policy  no note; --logs looks for the error")
        .stdout_has("card-refused    450 cents: card refused");
    for which in ["--stack shop", "--function shop-orders", "--queue shop-orders"] {
        let with = stack.dlq(&format!("list --logs {which}"));
        let line = with.ended(0).stdout.lines().find(|line| line.starts_with(&down)).expect("it has a line");
        assert!(line.contains("redrive-policy  the gateway is down "), "{which:?}: {with:?}");
    }
    let conditions = "--where 'error ~ gateway' --where 'attempts = 2'";
    let json = stack.dlq(&format!("list --stack shop --logs --json {conditions}")).ended(0).json();
    assert_eq!((&json["message_id"], &json["reason"]), (&down.as_str().into(), &"redrive-policy".into()));
    assert!(json["request_id"].as_str().is_some_and(|id| id.len() == 36), "{json}");

    let shown = stack.dlq(&format!("show --stack shop {down}"));
    let history = shown.told(0, "").stdout.split("\nHistory\n").nth(1).expect("there is a history");
    for expected in [
        "attempt 1  message failed, to be retried",
        "the gateway is down",
        "back in 2 s, invocation ",
        " took ",
        "attempt 2  message failed on its last delivery, left to the redrive policy",
    ] {
        assert!(history.contains(expected), "{expected}: {history}");
    }

    let json = stack.dlq(&format!("show --stack shop {refused} --json")).ended(0).json();
    let history = json["history"].as_array().expect("there is a history");
    assert_eq!(history.len(), 1, "{json}");
    assert_eq!((&history[0]["attempt"], &history[0]["reason"]), (&1.into(), &"card-refused".into()));
    assert!(history[0]["invocation_milliseconds"].as_f64().is_some_and(|took| took > 0.0), "{json}");

    let told = "there is no log group /none: pass --log-group\n";
    stack.dlq("list --stack shop --logs --log-group /none").told(1, format!("redrive: {told}"));
    stack
        .dlq(&format!("show --stack shop {down} --log-group /none"))
        .told(0, format!("warning: no history: {told}"))
        .stdout_has(&down);
}
