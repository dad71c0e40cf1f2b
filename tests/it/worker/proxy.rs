//! A proxy between a worker and its SQS, in which calls go wrong.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Request, Response, StatusCode, header};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::support::function::PATIENCE;

/// What becomes of a call.
#[derive(Debug, Clone, Copy)]
pub(super) enum Fate {
    Pass,
    /// It is done so much later.
    Slow(Duration),
    /// It is done, and the answer comes so much later.
    Late(Duration),
    /// It is neither done nor answered.
    Hang,
    /// It is done, and never answered.
    LoseAnswer,
    /// It is not done, with this status and code.
    Refuse(u16, &'static str),
    /// Every second entry is not done, for a fault of the service.
    Half,
}

#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) operation: String,
    pub(super) body: Value,
    pub(super) at: Instant,
    pub(super) answered: Option<Value>,
}

type Decide = Arc<dyn Fn(&Call, usize) -> Fate + Send + Sync>;

#[derive(Clone)]
struct Shared {
    behind: String,
    decide: Arc<Mutex<Decide>>,
    calls: watch::Sender<Vec<Call>>,
}

pub(super) struct Proxy {
    pub(super) url: String,
    port: u16,
    shared: Shared,
    server: JoinSet<()>,
}

/// So much of the first calls of an operation.
pub(super) fn at_first(
    operation: &'static str,
    times: usize,
    fate: Fate,
) -> impl Fn(&Call, usize) -> Fate + Send + Sync {
    move |call, before| if call.operation == operation && before < times { fate } else { Fate::Pass }
}

impl Call {
    /// The messages that a receive has brought.
    pub(super) fn messages(&self) -> Vec<Value> {
        let answer = self.answered.as_ref().map(|answer| answer["Messages"].clone());
        answer.and_then(|messages| messages.as_array().cloned()).unwrap_or_default()
    }

    pub(super) fn handles(&self) -> Vec<&str> {
        let entries = self.body["Entries"].as_array().into_iter().flatten();
        entries.map(|entry| entry["ReceiptHandle"].as_str().unwrap()).collect()
    }
}

impl Proxy {
    /// Before this endpoint. The fate is told the call, and how many of its operation came before.
    pub(super) async fn before(
        endpoint: &str,
        decide: impl Fn(&Call, usize) -> Fate + Send + Sync + 'static,
    ) -> Self {
        Self::at(0, endpoint, decide).await
    }

    pub(super) async fn at(
        port: u16,
        endpoint: &str,
        decide: impl Fn(&Call, usize) -> Fate + Send + Sync + 'static,
    ) -> Self {
        let behind = endpoint.trim_start_matches("http://").trim_end_matches('/').to_owned();
        let decide: Decide = Arc::new(decide);
        let shared = Shared { behind, decide: Arc::new(Mutex::new(decide)), calls: watch::Sender::default() };
        let mut proxy = Self { url: String::new(), port, shared, server: JoinSet::new() };
        proxy.listen().await;
        proxy
    }

    /// Refuses connections, and cuts those that there are.
    pub(super) async fn close(&mut self) {
        self.server.shutdown().await;
    }

    pub(super) async fn listen(&mut self) {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, self.port));
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        (self.port, self.url) = (address.port(), format!("http://{address}"));
        let shared = self.shared.clone();
        self.server.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let shared = shared.clone();
                let service = service_fn(move |request: Request<Incoming>| {
                    let shared = shared.clone();
                    async move { Ok::<_, Infallible>(handle(&shared, request).await) }
                });
                connections.spawn(async move {
                    // The worker may be gone.
                    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
                });
            }
        });
    }

    pub(super) fn decide(&self, decide: impl Fn(&Call, usize) -> Fate + Send + Sync + 'static) {
        *self.shared.decide.lock().unwrap() = Arc::new(decide);
    }

    /// The calls of an operation.
    pub(super) fn calls(&self, operation: &str) -> Vec<Call> {
        let calls = self.shared.calls.borrow();
        calls.iter().filter(|call| call.operation == operation).cloned().collect()
    }

    /// Waits for calls that look like this.
    pub(super) async fn until(&self, what: &str, mut holds: impl FnMut(&[Call]) -> bool) {
        let mut calls = self.shared.calls.subscribe();
        let found = timeout(PATIENCE, calls.wait_for(|calls| holds(calls))).await.is_ok();
        assert!(found, "{what} never happens: {:#?}", self.shared.calls.borrow());
    }

    /// Waits for so many calls of an operation.
    pub(super) async fn until_called(&self, operation: &str, count: usize) {
        let is_it = |call: &&Call| call.operation == operation;
        self.until(operation, |calls| calls.iter().filter(is_it).count() >= count).await;
    }
}

async fn handle(shared: &Shared, request: Request<Incoming>) -> Response<Body> {
    let (head, body) = request.into_parts();
    let headers = head.headers;
    let (_, operation) = headers["x-amz-target"].to_str().unwrap().split_once('.').unwrap();
    let operation = operation.to_owned();
    let body = to_bytes(Body::new(body), usize::MAX).await.unwrap();
    let body: Value = serde_json::from_slice(&body).unwrap();
    let call = Call { operation, body, at: Instant::now(), answered: None };
    let (mut number, mut before) = (0, 0);
    shared.calls.send_modify(|calls| {
        before = calls.iter().filter(|earlier| earlier.operation == call.operation).count();
        number = calls.len();
        calls.push(call.clone());
    });
    let decide = Arc::clone(&shared.decide.lock().unwrap());
    let answer = |answer: Value| {
        shared.calls.send_modify(|calls| calls[number].answered = Some(answer.clone()));
        answer.to_string()
    };
    let (mut sent, mut refused) = (call.body.clone(), Vec::new());
    let fate = decide(&call, before);
    match fate {
        Fate::Pass | Fate::LoseAnswer | Fate::Late(_) => {}
        Fate::Slow(later) => tokio::time::sleep(later).await,
        Fate::Hang => std::future::pending().await,
        Fate::Refuse(status, code) => {
            let error = json!({ "__type": format!("com.amazonaws.sqs#{code}"), "message": "as told" });
            return response(StatusCode::from_u16(status).unwrap(), answer(error));
        }
        Fate::Half => {
            let entries = call.body["Entries"].as_array().cloned().unwrap_or_default();
            let (odd, even): (Vec<_>, Vec<_>) =
                entries.into_iter().enumerate().partition(|(at, _)| at % 2 == 1);
            let fault = |id: &Value| json!({ "Id": id, "SenderFault": false, "Code": "InternalError" });
            // A call has at least one entry.
            let (kept, left) = if odd.is_empty() { (even, odd) } else { (odd, even) };
            sent["Entries"] = kept.into_iter().map(|(_, entry)| entry).collect();
            refused = left.iter().map(|(_, entry)| fault(&entry["Id"])).collect();
        }
    }
    let (status, mut said) = forward(&shared.behind, headers, &sent).await;
    match fate {
        Fate::LoseAnswer => std::future::pending().await,
        Fate::Late(later) => tokio::time::sleep(later).await,
        _ => {}
    }
    if !refused.is_empty() {
        said["Failed"] = refused.into();
    }
    response(status, answer(said))
}

fn response(status: StatusCode, body: String) -> Response<Body> {
    Response::builder().status(status).body(Body::from(body)).unwrap()
}

async fn forward(to: &str, mut headers: HeaderMap, body: &Value) -> (StatusCode, Value) {
    let stream = TcpStream::connect(to).await.unwrap();
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    headers.remove(header::CONTENT_LENGTH);
    headers.insert(header::HOST, to.parse().unwrap());
    let mut request = Request::post("/").body(Body::from(body.to_string())).unwrap();
    *request.headers_mut() = headers;
    let response = sender.send_request(request).await.unwrap();
    let status = response.status();
    let body = to_bytes(Body::new(response.into_body()), usize::MAX).await.unwrap();
    (status, serde_json::from_slice(&body).unwrap_or_default())
}
