//! An SQS on loopback that takes everything, and tells what it was asked.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::HeaderMap;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// An operation and an entry of its call.
type Asked = (String, Value);

#[derive(Debug)]
pub(crate) struct Recorder {
    pub(crate) url: String,
    asked: Arc<Mutex<Vec<Asked>>>,
    _server: JoinSet<()>,
}

impl Recorder {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::default();
        let routes = Router::new().fallback(answer).with_state(Arc::clone(&asked));
        let mut server = JoinSet::new();
        server.spawn(async move { axum::serve(listener, routes).await.unwrap() });
        Self { url, asked, _server: server }
    }

    /// The entries of all calls of an operation, in order.
    pub(crate) fn entries(&self, operation: &str) -> Vec<Value> {
        let asked = self.asked.lock().unwrap();
        asked.iter().filter(|(called, _)| called == operation).map(|(_, entry)| entry.clone()).collect()
    }
}

async fn answer(State(asked): State<Arc<Mutex<Vec<Asked>>>>, headers: HeaderMap, body: Bytes) -> String {
    let target = headers["x-amz-target"].to_str().unwrap();
    let operation = target.rsplit('.').next().unwrap();
    let body: Value = serde_json::from_slice(&body).unwrap();
    let mut done = Vec::new();
    for entry in body["Entries"].as_array().unwrap() {
        done.push(json!({ "Id": entry["Id"], "MessageId": "m", "MD5OfMessageBody": "x" }));
        asked.lock().unwrap().push((operation.to_owned(), entry.clone()));
    }
    json!({ "Successful": done, "Failed": [] }).to_string()
}
