//! An SQS on loopback that a test scripts, and that records its requests.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// A call for several entries.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) operation: String,
    pub(crate) entries: Vec<Value>,
}

/// What is said to a call.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Say {
    Done,
    /// Every entry fails with this code, and the sender is blamed.
    EntriesFail(&'static str),
    /// The call as a whole is refused with this code.
    Refused(&'static str),
}

#[derive(Debug)]
pub(crate) struct Scripted {
    pub(crate) url: String,
    calls: Arc<Mutex<Vec<Call>>>,
    _server: JoinSet<()>,
}

type Script = Arc<dyn Fn(&Call, usize) -> Say + Send + Sync>;

impl Scripted {
    /// The script is told the call, and how many of its operation came before.
    pub(crate) async fn start(script: impl Fn(&Call, usize) -> Say + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let calls = Arc::default();
        let script: Script = Arc::new(script);
        let routes = Router::new().fallback(answer).with_state((script, Arc::clone(&calls)));
        let mut server = JoinSet::new();
        server.spawn(async move { axum::serve(listener, routes).await.unwrap() });
        Self { url, calls, _server: server }
    }

    /// One that takes everything.
    pub(crate) async fn obliging() -> Self {
        Self::start(|_, _| Say::Done).await
    }

    /// The entries of all calls of an operation, in order.
    pub(crate) fn entries(&self, operation: &str) -> Vec<Value> {
        self.calls(operation).into_iter().flat_map(|call| call.entries).collect()
    }

    /// The calls of an operation, in the order of their arrival.
    pub(crate) fn calls(&self, operation: &str) -> Vec<Call> {
        let calls = self.calls.lock().unwrap();
        calls.iter().filter(|call| call.operation == operation).cloned().collect()
    }
}

impl Call {
    /// The bodies of its letters.
    pub(crate) fn bodies(&self) -> Vec<&str> {
        self.entries.iter().map(|entry| entry["MessageBody"].as_str().unwrap()).collect()
    }

    /// How many of its letters have a note.
    pub(crate) fn notes(&self) -> usize {
        let has_note =
            |entry: &&Value| entry["MessageAttributes"][redrive::DeadLetter::ATTRIBUTE].is_object();
        self.entries.iter().filter(has_note).count()
    }
}

async fn answer(
    State((script, calls)): State<(Script, Arc<Mutex<Vec<Call>>>)>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let (_, operation) = headers["x-amz-target"].to_str().unwrap().split_once('.').unwrap();
    let body: Value = serde_json::from_slice(&body).unwrap();
    let call = Call { operation: operation.to_owned(), entries: body["Entries"].as_array().unwrap().clone() };
    let said = {
        let mut calls = calls.lock().unwrap();
        let before = calls.iter().filter(|before| before.operation == call.operation).count();
        let said = script(&call, before);
        calls.push(call.clone());
        said
    };
    let (mut done, mut failed) = (Vec::new(), Vec::new());
    for entry in &call.entries {
        match said {
            Say::Done => {
                done.push(json!({ "Id": entry["Id"], "MessageId": "m", "MD5OfMessageBody": "0" }));
            }
            Say::EntriesFail(code) => {
                failed.push(json!({ "Id": entry["Id"], "SenderFault": true, "Code": code }));
            }
            Say::Refused(code) => {
                let error = json!({ "__type": format!("com.amazonaws.sqs#{code}"), "message": "refused" });
                return (StatusCode::BAD_REQUEST, error.to_string()).into_response();
            }
        }
    }
    json!({ "Successful": done, "Failed": failed }).to_string().into_response()
}
