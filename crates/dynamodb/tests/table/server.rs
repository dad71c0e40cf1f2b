//! A server on loopback whose answers a test sets.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::{BehaviorVersion, Builder, Credentials, Region, retry::RetryConfig};
use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Response};
use redrive_dynamodb::aws_sdk_dynamodb;
use serde_json::{Value, json};
use tokio::sync::Barrier;

type Answer = (u16, String);

/// A server that listens until its test ends.
pub(crate) struct Server {
    pub(crate) endpoint: String,
    state: Arc<State>,
}

struct State {
    /// Answers by operation. The empty name stands for all others.
    answers: Mutex<HashMap<String, Answer>>,
    calls: Mutex<Vec<(String, Value)>>,
    /// Makes calls wait for each other, so that they are answered together.
    together: Barrier,
    hangs: bool,
    /// The item of a shared rate, if the server keeps one.
    item: Option<Mutex<Value>>,
}

impl Server {
    pub(crate) async fn that_answers(status: u16, body: &str) -> Self {
        Self::start((status, body.to_owned()), 1, false).await
    }

    pub(crate) async fn that_answers_ten_at_a_time() -> Self {
        Self::start((200, "{}".to_owned()), 10, false).await
    }

    pub(crate) async fn that_hangs() -> Self {
        Self::start((200, "{}".to_owned()), 1, true).await
    }

    /// Starts a server that updates the item of a shared rate if it is still the one that was read, as DynamoDB does.
    pub(crate) async fn that_keeps_an_item() -> Self {
        Self::start_with((200, "{}".to_owned()), 1, false, Some(Mutex::new(Value::Null))).await
    }

    /// Sets a different answer to one operation.
    pub(crate) fn answers_to(&self, operation: &str, status: u16, body: &str) {
        self.state.answers.lock().unwrap().insert(operation.to_owned(), (status, body.to_owned()));
    }

    /// Returns the operations that were called.
    pub(crate) fn calls(&self) -> Vec<String> {
        self.state.calls.lock().unwrap().iter().map(|(operation, _)| operation.clone()).collect()
    }

    pub(crate) fn bodies(&self) -> Vec<Value> {
        self.state.calls.lock().unwrap().iter().map(|(_, body)| body.clone()).collect()
    }

    pub(crate) fn client(&self) -> Client {
        Client::from_conf(config(&self.endpoint).build())
    }

    async fn start(answer: Answer, together: usize, hangs: bool) -> Self {
        Self::start_with(answer, together, hangs, None).await
    }

    async fn start_with(answer: Answer, together: usize, hangs: bool, item: Option<Mutex<Value>>) -> Self {
        let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let answers = Mutex::new(HashMap::from([(String::new(), answer)]));
        let state = Arc::new(State {
            answers,
            calls: Mutex::default(),
            together: Barrier::new(together),
            hangs,
            item,
        });
        let serving = Arc::clone(&state);
        let router = Router::new().fallback(async move |headers: HeaderMap, body: String| {
            let target = headers["x-amz-target"].to_str().unwrap();
            serving.answer(target.rsplit('.').next().unwrap(), &body).await
        });
        tokio::spawn(async { axum::serve(listener, router).await });
        Self { endpoint, state }
    }
}

impl State {
    async fn answer(&self, operation: &str, body: &str) -> Response<Body> {
        self.calls.lock().unwrap().push((operation.to_owned(), serde_json::from_str(body).unwrap()));
        self.together.wait().await;
        if self.hangs {
            std::future::pending::<()>().await;
        }
        let answers = self.answers.lock().unwrap();
        let mut answer = answers.get(operation).unwrap_or(&answers[""]).clone();
        if let Some(item) = &self.item {
            answer = update(&mut item.lock().unwrap(), body);
        }
        let (status, body) = answer;
        let response =
            Response::builder().status(status).header("content-type", "application/x-amz-json-1.0");
        response.body(Body::from(body)).unwrap()
    }
}

fn update(item: &mut Value, call: &str) -> Answer {
    let call: Value = serde_json::from_str(call).unwrap();
    let values = &call["ExpressionAttributeValues"];
    if [&values[":read_level"], &values[":read_at"]] != [&item["level"], &item["at"]] {
        let failed = json!({ "__type": "ConditionalCheckFailedException", "Item": item });
        return (400, failed.to_string());
    }
    *item = json!({ "id": call["Key"]["id"], "level": values[":level"], "at": values[":at"] });
    (200, "{}".to_owned())
}

pub(crate) fn config(endpoint: &str) -> Builder {
    aws_sdk_dynamodb::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("eu-west-1"))
        .credentials_provider(Credentials::new("id", "secret", None, None, "test"))
        .endpoint_url(endpoint)
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .retry_config(
            RetryConfig::standard().with_max_attempts(1).with_initial_backoff(Duration::from_millis(1)),
        )
}
