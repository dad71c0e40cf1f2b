//! The alarms of redrive's own template on queues that are idle for hours.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};

use aws_sdk_sqs::types::QueueAttributeName::ApproximateNumberOfMessages;
use serde_json::Value;

use crate::support::running::{Running, built, free_port, root, signal, until, wait_for};
use crate::support::{client, skip};

const HOUR: u64 = 3_600;
const REFUSED: &str = r#"{"order_id":"A-1","lines":[{"sku":"tea","quantity":1}],"gateway":"refuses"}"#;

#[test]
fn alarms_stay_ok_without_data_and_go_off_at_the_first_letter_after_hours() {
    let port = free_port();
    let (host, url) = (format!("127.0.0.1:{port}"), format!("http://127.0.0.1:{port}"));
    let mut running = Running::start(&root(), &built("orders"), &format!("--port {port} --stack shop"));
    let stdout = BufReader::new(running.0.stdout.take().expect("stdout is piped"));
    wait_for(port);
    let sqs = client(&url, "us-east-1");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime starts");
    let queue = |name: &str| format!("{url}/000000000000/shop-{name}");
    let letters = || {
        let read = sqs.get_queue_attributes().queue_url(queue("orders-dead"));
        let read = runtime.block_on(read.attribute_names(ApproximateNumberOfMessages).send());
        read.expect("the queue is there").attributes.expect("it has a count")[&ApproximateNumberOfMessages]
            .clone()
    };
    skip(&host, 8 * HOUR);
    for _ in 0..2 {
        let sent = sqs.send_message().queue_url(queue("orders")).message_body(REFUSED);
        runtime.block_on(sent.send()).expect("it is sent");
        until("a letter", || letters() == "1");
        skip(&host, 300);
        let purge = sqs.purge_queue().queue_url(queue("orders-dead"));
        runtime.block_on(purge.send()).expect("it is purged");
        skip(&host, 8 * HOUR);
    }
    signal("-INT", &running.0);
    let events: Vec<Value> = stdout
        .lines()
        .map(|line| serde_json::from_str(&line.expect("it is text")).expect("each line is JSON"))
        .collect();
    let mut states: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for event in events.iter().filter(|event| event["kind"] == "alarm") {
        let text = |key: &str| event[key].as_str().unwrap_or_default();
        states.entry(text("name")).or_default().push(text("state"));
    }
    let twice = ["OK", "ALARM", "OK", "ALARM", "OK"];
    let expected = [
        ("shop-DeadLetter", &twice[..]),
        ("shop-DeadLettered", &twice),
        ("shop-FunctionErrors", &["OK"]),
        ("shop-Outage", &["OK"]),
        ("shop-QueueAge", &["OK"]),
        ("shop-Throttles", &["OK"]),
        ("shop-WorkerErrors", &["OK"]),
    ];
    assert_eq!(states, expected.map(|(name, states)| (name, states.to_vec())).into());
}
