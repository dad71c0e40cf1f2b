//! Many messages to a server that fails 1 % of the entries and loses 1 % of the answers.
#![allow(missing_docs, clippy::unwrap_used, clippy::disallowed_methods, reason = "tests")]

use std::sync::{Arc, Mutex};

use aws_sdk_sqs::config::{BehaviorVersion, Config, Credentials, Region};
use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use futures_util::stream::{self, StreamExt};
use redrive_send::Sender;
use serde_json::{Value, json};

/// Counts how often it has accepted each message.
#[derive(Default)]
struct Counts {
    accepted: Vec<u8>,
    calls: usize,
    entries: usize,
}

async fn send_message_batch(State(counts): State<Arc<Mutex<Counts>>>, body: String) -> Response {
    let request: Value = serde_json::from_str(&body).unwrap();
    let mut counts = counts.lock().unwrap();
    counts.calls += 1;
    let is_lost = fastrand::u8(..100) == 0;
    let (mut successful, mut failed) = (Vec::new(), Vec::new());
    for entry in request["Entries"].as_array().unwrap() {
        counts.entries += 1;
        let number: usize = entry["MessageBody"].as_str().unwrap().parse().unwrap();
        if fastrand::u8(..100) == 0 {
            failed.push(json!({ "Id": entry["Id"], "Code": "InternalError", "SenderFault": false }));
            continue;
        }
        counts.accepted[number] = counts.accepted[number].saturating_add(1);
        successful
            .push(json!({ "Id": entry["Id"], "MessageId": number.to_string(), "MD5OfMessageBody": "" }));
    }
    if is_lost {
        return StatusCode::BAD_GATEWAY.into_response();
    }
    let answer = json!({ "Successful": successful, "Failed": failed }).to_string();
    ([("content-type", "application/x-amz-json-1.0")], answer).into_response()
}

/// REDRIVE_MESSAGES=1000000 sends more.
#[tokio::test]
async fn no_message_is_lost_over_failing_entries_and_lost_answers() {
    let messages: usize = std::env::var("REDRIVE_MESSAGES").map_or(20_000, |text| text.parse().unwrap());
    let counts = Arc::new(Mutex::new(Counts { accepted: vec![0; messages], ..Counts::default() }));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let router = Router::new().route("/", post(send_message_batch)).with_state(Arc::clone(&counts));
    let server = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });

    let config = Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("eu-west-1"))
        .endpoint_url(&url)
        .credentials_provider(Credentials::new("test", "test", None, None, "test"))
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .build();
    let sender = Sender::new(aws_sdk_sqs::Client::from_conf(config), format!("{url}/123456789012/orders"));

    let mut results = std::pin::pin!(sender.send_stream(stream::iter(0..messages)));
    let (mut next, mut perhaps_twice, mut after_a_tenth) = (0, 0, 0);
    while let Some(result) = results.next().await {
        let sent = result.unwrap();
        assert_eq!(sent.message_id, next.to_string(), "in order");
        perhaps_twice += usize::from(sent.may_be_twice);
        next += 1;
        if next == messages / 10 {
            after_a_tenth = resident_kib();
        }
    }
    server.abort();
    let counts = counts.lock().unwrap();
    assert_eq!(next, messages);
    assert!(counts.accepted.iter().all(|&times| times > 0), "none is lost");
    let twice = counts.accepted.iter().filter(|&&times| times > 1).count();
    assert!(twice <= perhaps_twice && perhaps_twice <= messages / 50, "{twice} of {perhaps_twice}");
    let for_each_call = counts.entries as f64 / counts.calls as f64;
    assert!(for_each_call >= 9.5, "{for_each_call}");
    let at_the_end = resident_kib();
    println!(
        "{messages} messages, {twice} twice, {for_each_call:.2} entries a call, {after_a_tenth} KiB after a tenth, {at_the_end} KiB"
    );
    assert!(at_the_end < after_a_tenth * 11 / 10 + 4_096, "{after_a_tenth} to {at_the_end} KiB");
}

fn resident_kib() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or("0");
    line.trim().trim_end_matches(" kB").parse().unwrap_or_default()
}
