//! Tests against an agent on loopback that answers as AWS's page says.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::http::StatusCode;
use axum::routing::put;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::JoinSet;

use super::*;

type Answer = Box<dyn FnMut(bool) -> (StatusCode, String) + Send>;

struct FakeAgent {
    uri: String,
    requests: UnboundedReceiver<Value>,
    _serving: JoinSet<()>,
}

/// Returns the real agent's answer to a request that it grants.
fn granted(protects: bool) -> (StatusCode, String) {
    let expires = protects.then_some("2026-11-23T01:29:16Z");
    let protection =
        json!({ "ExpirationDate": expires, "ProtectionEnabled": protects, "TaskArn": "arn:aws:ecs:…" });
    (StatusCode::OK, json!({ "protection": protection }).to_string())
}

async fn agent(answer: impl FnMut(bool) -> (StatusCode, String) + Send + 'static) -> FakeAgent {
    let (sender, requests) = unbounded_channel();
    let answer: Arc<Mutex<Answer>> = Arc::new(Mutex::new(Box::new(answer)));
    let route = put(move |body: String| async move {
        let request: Value = serde_json::from_str(&body).unwrap();
        let protects = request["ProtectionEnabled"].as_bool().unwrap();
        let _ = sender.send(request);
        let mut answer = answer.lock().unwrap();
        answer(protects)
    });
    let router = Router::new().route("/api/container-1/task-protection/v1/state", route);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let uri = format!("http://{}/api/container-1", listener.local_addr().unwrap());
    let mut serving = JoinSet::new();
    serving.spawn(async { axum::serve(listener, router).await.unwrap() });
    FakeAgent { uri, requests, _serving: serving }
}

impl FakeAgent {
    async fn next(&mut self) -> Value {
        // Longer than a renewal takes, for a paused clock.
        timeout(Duration::from_secs(4_000), self.requests.recv()).await.expect("a call").unwrap()
    }

    fn nothing_more(&mut self) {
        assert!(self.requests.try_recv().is_err());
    }
}

fn protect() -> Value {
    json!({ "ProtectionEnabled": true, "ExpiresInMinutes": 60 })
}

fn release() -> Value {
    json!({ "ProtectionEnabled": false })
}

#[tokio::test]
async fn a_task_with_messages_is_protected_once_and_released_at_its_end() {
    let mut agent = agent(granted).await;
    let protection = Protection::start(&agent.uri).unwrap();
    let mut worker = protection.share();
    for in_hand in [0, 1, 2, 1, 10, 0, 3] {
        worker.in_hand(in_hand);
    }
    assert_eq!(agent.next().await, protect());
    for in_hand in (0..1_000).chain([0, 1, 0]) {
        worker.in_hand(in_hand);
    }
    drop(worker);
    protection.release().await;
    assert_eq!(agent.next().await, release());
    agent.nothing_more();
}

#[tokio::test]
async fn a_task_that_never_had_a_message_calls_nobody() {
    let mut agent = agent(granted).await;
    let protection = Protection::start(&agent.uri).unwrap();
    let mut worker = protection.share();
    worker.in_hand(0);
    drop(worker);
    protection.release().await;
    agent.nothing_more();
}

/// tokio's paused clock skips ten seconds and half an hour while everything waits.
#[tokio::test(start_paused = true)]
async fn a_busy_task_is_renewed_and_an_idle_one_released() {
    let mut agent = agent(granted).await;
    let protection = Protection::start(&agent.uri).unwrap();
    let mut worker = protection.share();
    worker.in_hand(1);
    let began = Instant::now();
    for _ in 0..3 {
        assert_eq!(agent.next().await, protect());
    }
    let renewed_twice = Duration::from_secs(3_600);
    assert!(began.elapsed() >= renewed_twice && began.elapsed() < renewed_twice + Duration::from_secs(60));
    worker.in_hand(0);
    let idle = Instant::now();
    assert_eq!(agent.next().await, release());
    assert!(idle.elapsed() >= Duration::from_secs(9) && idle.elapsed() < Duration::from_secs(30));
    drop(worker);
    protection.release().await;
    agent.nothing_more();
}

#[tokio::test]
async fn each_form_of_refusal_is_an_error_in_the_agents_words() {
    let denied = json!({ "requestID": "12345-abc", "error": {
        "Arn": "arn:aws:ecs:…", "Code": "AccessDeniedException", "Message": "not authorized to perform: ecs:UpdateTaskProtection",
    }});
    let invalid =
        json!({ "failure": { "Arn": "arn:aws:ecs:…", "Detail": null, "Reason": "TASK_NOT_VALID" } });
    let table = [
        (StatusCode::OK, invalid.to_string(), "TASK_NOT_VALID"),
        (
            StatusCode::FORBIDDEN,
            denied.to_string(),
            "AccessDeniedException: not authorized to perform: ecs:UpdateTaskProtection",
        ),
        (StatusCode::OK, "{}".into(), "the answer does not say whether the task is protected"),
        (StatusCode::OK, granted(false).1, "the answer says the opposite of what was asked for"),
        (
            StatusCode::BAD_GATEWAY,
            "<html>".into(),
            "the answer has the status 502 Bad Gateway and is not understood",
        ),
        (
            StatusCode::INTERNAL_SERVER_ERROR,
            granted(true).1,
            "the answer has the status 500 Internal Server Error and is not understood",
        ),
        (StatusCode::OK, "x".repeat(100_000), "length limit exceeded"),
    ];
    for (status, body, expected) in table {
        let fake = agent(move |_| (status, body.clone())).await;
        let error = Agent::new(&fake.uri).unwrap().set(true).await.unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
}

/// The agent refuses three calls, and the worker tries again.
#[tokio::test(start_paused = true)]
async fn a_call_that_failed_is_made_again() {
    let mut failures = 3;
    let mut agent = agent(move |protects| {
        if failures > 0 {
            failures -= 1;
            return (
                StatusCode::TOO_MANY_REQUESTS,
                json!({ "error": { "Code": "ThrottlingException" } }).to_string(),
            );
        }
        granted(protects)
    })
    .await;
    let protection = Protection::start(&agent.uri).unwrap();
    let mut worker = protection.share();
    worker.in_hand(1);
    let began = Instant::now();
    for _ in 0..4 {
        assert_eq!(agent.next().await, protect());
    }
    assert!(began.elapsed() >= Duration::from_secs(14), "after 2, 4 and 8 seconds: {:?}", began.elapsed());
    drop(worker);
    protection.release().await;
    assert_eq!(agent.next().await, release());
    agent.nothing_more();
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_worker_waits_two_seconds_for_an_agent_that_hangs() {
    // It listens, and never answers.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let protection = Protection::start(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
    let mut worker = protection.share();
    worker.in_hand(1);
    let (_held, _) = listener.accept().await.unwrap();
    let began = Instant::now();
    drop(worker);
    protection.release().await;
    assert!(began.elapsed() <= RELEASE_TIMEOUT + Duration::from_millis(100), "{:?}", began.elapsed());
}

#[test]
fn the_url_of_the_agent_is_checked_and_named() {
    for uri in ["http://169.254.170.2/api/x", "http://[fd00:ec2::2]:80/api/x/", "http://localhost:51678"] {
        assert!(Agent::new(uri).is_ok(), "{uri}");
    }
    for uri in ["", "169.254.170.2", "https://169.254.170.2/api", "http://", "http:// x"] {
        let error = Agent::new(uri).unwrap_err();
        assert_eq!(error, format!("ECS_AGENT_URI is {uri:?}, allowed: a URL that begins with http://"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_is_protected_while_any_of_its_workers_has_messages() {
    let mut agent = agent(granted).await;
    let protection = Protection::start(&agent.uri).unwrap();
    let [mut orders, mut mails] = [protection.share(), protection.share()];
    orders.in_hand(1);
    assert_eq!(agent.next().await, protect());
    mails.in_hand(2);
    orders.in_hand(0);
    tokio::time::sleep(Duration::from_secs(60)).await;
    agent.nothing_more();
    drop(mails);
    assert_eq!(agent.next().await, release());
    drop(orders);
    protection.release().await;
    agent.nothing_more();
}
