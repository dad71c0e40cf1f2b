//! `redrive dlq` beside the function's log: a real stack on this machine, whose function gave a message up.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use aws_sdk_sqs::config::{BehaviorVersion, Credentials, Region};
use serde_json::Value;

use crate::support::running::{PATIENCE, Running, built, free_port, wait_for};

/// The demo's stack, with two deliveries to a message.
struct Stack {
    url: String,
    _running: Running,
}

impl Stack {
    fn start() -> Self {
        let port = free_port();
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let arguments = [
            "--port",
            &port.to_string(),
            "--stack",
            "shop",
            "--parameter",
            "MaxReceiveCount=2",
            "--parameter",
        ];
        let arguments = [&arguments[..], &["BatchingWindow=0"]].concat();
        let running = Running::start(&root, &built("orders"), &arguments);
        wait_for(port);
        Self { url: format!("http://127.0.0.1:{port}"), _running: running }
    }

    /// Sends an order; its message id.
    fn send(&self, gateway: &str) -> String {
        let config = aws_sdk_sqs::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::new("us-east-1"))
            .credentials_provider(Credentials::new("local", "local", None, None, "tests"))
            .http_client(aws_smithy_http_client::Builder::new().build_http())
            .endpoint_url(&self.url);
        let sqs = aws_sdk_sqs::Client::from_conf(config.build());
        let body =
            format!(r#"{{"order_id":"A-1","lines":[{{"sku":"tea","quantity":1}}],"gateway":"{gateway}"}}"#);
        let send =
            sqs.send_message().queue_url(format!("{}/000000000000/shop-orders", self.url)).message_body(body);
        let runtime = tokio::runtime::Runtime::new().expect("a runtime starts");
        runtime.block_on(send.send()).expect("it is sent").message_id.expect("SQS gives an id")
    }

    /// Exit code, stdout and stderr.
    fn dlq(&self, arguments: &[&str]) -> (i32, String, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_redrive"));
        let command = command.arg("dlq").args(arguments).args(["--endpoint-url", &self.url]);
        let output = command.env_remove("AWS_REGION").output().expect("the command runs");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("it is text");
        (output.status.code().expect("it ends by itself"), text(output.stdout), text(output.stderr))
    }

    fn wait_for_letters(&self, count: usize) {
        let begun = Instant::now();
        while self.dlq(&["list", "--stack", "shop", "--json"]).1.lines().count() < count {
            assert!(begun.elapsed() < PATIENCE, "the letters do not come");
            std::thread::sleep(Duration::from_millis(200));
        }
    }
}

#[test]
fn the_log_says_why_letters_without_a_note_failed() {
    let stack = Stack::start();
    let (down, refused) = (stack.send("down"), stack.send("refuses"));
    stack.wait_for_letters(2);

    let (code, without, stderr) = stack.dlq(&["list", "--stack", "shop"]);
    assert_eq!(code, 0, "{stderr}");
    assert!(without.contains("redrive-policy  no note; --logs looks for the error"), "{without}");
    assert!(without.contains("card-refused    450 cents: card refused"), "{without}");
    for which in [["--stack", "shop"], ["--function", "shop-orders"], ["--queue", "shop-orders"]] {
        let (code, with, stderr) = stack.dlq(&[&["list", "--logs"], &which[..]].concat());
        assert_eq!(code, 0, "{stderr}");
        let line = with.lines().find(|line| line.starts_with(&down)).expect("it has a line");
        assert!(line.contains("redrive-policy  the gateway is down "), "{which:?}: {with}");
    }
    let filtered = [
        "list",
        "--stack",
        "shop",
        "--logs",
        "--json",
        "--where",
        "error ~ gateway",
        "--where",
        "attempts = 2",
    ];
    let (code, json, stderr) = stack.dlq(&filtered);
    assert_eq!((code, json.lines().count()), (0, 1), "{stderr}");
    let json: Value = serde_json::from_str(&json).expect("it is JSON");
    assert_eq!((&json["message_id"], &json["reason"]), (&down.as_str().into(), &"redrive-policy".into()));
    assert!(json["request_id"].as_str().is_some_and(|id| id.len() == 36), "{json}");

    let (code, page, stderr) = stack.dlq(&["show", "--stack", "shop", &down]);
    assert_eq!((code, stderr.as_str()), (0, ""));
    let history = page.split("\nHistory\n").nth(1).expect("there is a history");
    for expected in [
        "attempt 1  message failed, to be retried",
        "the gateway is down",
        "back in 2 s, invocation ",
        " took ",
    ] {
        assert!(history.contains(expected), "{expected}: {page}");
    }
    assert!(
        history.contains("attempt 2  message failed on its last delivery, left to the redrive policy"),
        "{page}"
    );

    let (code, json, stderr) = stack.dlq(&["show", "--stack", "shop", &refused, "--json"]);
    assert_eq!(code, 0, "{stderr}");
    let json: Value = serde_json::from_str(&json).expect("it is JSON");
    let history = json["history"].as_array().expect("there is a history");
    assert_eq!(history.len(), 1, "{json}");
    assert_eq!((&history[0]["attempt"], &history[0]["reason"]), (&1.into(), &"card-refused".into()));
    assert!(history[0]["invocation_milliseconds"].as_f64().is_some_and(|took| took > 0.0), "{json}");

    let (code, _, stderr) = stack.dlq(&["list", "--stack", "shop", "--logs", "--log-group", "/none"]);
    assert_eq!(code, 1);
    assert_eq!(stderr, "redrive: there is no log group /none: give --log-group\n");
    let (code, page, stderr) = stack.dlq(&["show", "--stack", "shop", &down, "--log-group", "/none"]);
    assert_eq!(
        (code, stderr.as_str()),
        (0, "warning: no history: there is no log group /none: give --log-group\n")
    );
    assert!(page.contains("  message id there") || page.contains(&down), "{page}");
}
