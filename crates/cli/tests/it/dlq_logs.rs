//! `redrive dlq` with the function's log: a real stack on this machine, whose function failed a message.

use std::collections::BTreeSet;

use serde_json::json;

use crate::letters::{note, text};
use crate::proxy::{Fate, Proxy};
use crate::support::running::{Running, built, free_port, root, until, wait_for};
use crate::support::{Aws, Ran, client, command};

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
    stack
        .dlq("list --stack shop --logs --log-group /none")
        .ended(0)
        .stderr_has(format!("warning: the log was not read: {told}"))
        .stdout_has(&down)
        .stdout_has("450 cents: card refused");
    stack
        .dlq(&format!("show --stack shop {down} --log-group /none"))
        .told(0, format!("warning: no history: {told}"))
        .stdout_has(&down);
}

/// A log that has a line about this message, whatever its name, and no function that the queue feeds.
fn with_log(aws: &Aws, id: &str) -> Proxy {
    let line = json!({ "message": "message failed", "message_id": id, "attempt": 3, "error": "the gateway is down" });
    let at =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("it is later").as_millis();
    let events = json!({ "events": [{ "message": line.to_string(), "timestamp": at as u64 }] });
    Proxy::start(&aws.url, move |call, _| match call.action.ends_with("FilterLogEvents") {
        true => Fate::Answers(events.clone()),
        false => Fate::Answered,
    })
}

/// The log groups that were read.
fn groups(proxy: &Proxy) -> BTreeSet<String> {
    let calls = proxy.calls();
    let read = calls.iter().filter(|call| call.action.ends_with("FilterLogEvents"));
    read.map(|call| call.input["logGroupName"].as_str().expect("it is named").to_owned()).collect()
}

#[test]
fn the_log_group_is_that_of_the_function_which_a_note_names() {
    let aws = Aws::with_orders(false);
    let silent = aws.sent_here("one", []);
    aws.sent_here("of another consumer", []);
    let noted = aws.letter_with("two", [("redrive.dead-letter", note("m1", "rejected", "no"))]);
    let proxy = with_log(&aws, &silent);
    proxy
        .redrive("dlq list --queue orders --logs")
        .ended(0)
        .stdout_has("sent      the gateway is down")
        .stdout_has("sent      nothing in the log");
    let shown = proxy.redrive(&format!("dlq show --queue orders {noted}"));
    assert_eq!((shown.code, shown.stderr.as_str()), (0, ""), "{shown:?}");
    assert_eq!(groups(&proxy), BTreeSet::from(["/aws/lambda/shop-orders".to_owned()]));

    let proxy = with_log(&aws, &silent);
    proxy.redrive("dlq list --queue orders --logs --log-group /mine").stdout_has("the gateway is down");
    proxy.redrive(&format!("dlq show --queue orders {noted} --log-group /mine")).told(0, "");
    assert_eq!(groups(&proxy), BTreeSet::from(["/mine".to_owned()]));

    proxy.redrive(&format!("dlq show --queue orders {silent}")).told(
        0,
        "warning: no history: the queue feeds no function, and no note names one: pass --log-group\n",
    );
}

#[test]
fn a_log_group_is_required_if_notes_name_no_single_valid_function() {
    for (functions, said) in [
        (["a", "b"], "the notes name several functions (a, b): pass --log-group\n"),
        (["../x", ""], "the queue feeds no function, and no note names one: pass --log-group\n"),
    ] {
        let aws = Aws::with_orders(false);
        for function in functions {
            let note = json!({
                "reason": "rejected", "failed_at": "2026-11-21T07:50:00Z", "attempts": 1, "message_id": function,
                "source": "arn:aws:sqs:eu-west-1:123456789012:orders", "function": function,
            });
            aws.letter_with("x", [("redrive.dead-letter", text(&note.to_string()))]);
        }
        let proxy = with_log(&aws, "x");
        let ran = proxy.redrive("dlq list --queue orders --logs");
        ran.ended(0).stderr_has(format!("warning: the log was not read: {said}"));
        assert_eq!(groups(&proxy), BTreeSet::new());
    }
}
