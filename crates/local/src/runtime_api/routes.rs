//! The routes of the Runtime API of one process.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::response::Response;
use axum::routing::{get, post};
use bytes::Bytes;
use http::StatusCode;
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

use super::{Ended, LARGEST_PAYLOAD};

/// An invocation on its way to the process.
#[derive(Debug)]
pub struct Offer {
    /// Its id.
    pub request_id: String,
    /// The headers of the invocation, one of which has the id.
    pub headers: Vec<(&'static str, String)>,
    /// The event as JSON.
    pub event: Bytes,
}

/// A process's call to the Runtime API.
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "for benchmarks alone")]
pub enum Reply {
    /// The process requested work.
    Ready,
    /// The process cannot start.
    InitError(String),
    /// The process ended its invocation.
    Ended(Ended),
}

/// The two channels of a Runtime API: offers to the process, and its replies.
#[derive(Debug)]
pub struct Exchange {
    offers: tokio::sync::Mutex<UnboundedReceiver<Offer>>,
    replies: UnboundedSender<Reply>,
    current: Mutex<Option<String>>,
}

impl Exchange {
    /// Creates an exchange without a present invocation.
    #[must_use]
    pub fn new(offers: UnboundedReceiver<Offer>, replies: UnboundedSender<Reply>) -> Self {
        Self { offers: tokio::sync::Mutex::new(offers), replies, current: Mutex::new(None) }
    }

    /// Ends the process's invocation. Returns false if it does not have this one.
    fn end(&self, request_id: &str) -> bool {
        let mut current = self.current.lock().expect("nothing panics while it holds the invocation");
        current.take_if(|current| current == request_id).is_some()
    }

    fn begin(&self, request_id: &str) {
        *self.current.lock().expect("nothing panics while it holds the invocation") = Some(request_id.into());
    }

    /// Sends a reply. The receiver is gone only if the process is about to end too.
    fn reply(&self, reply: Reply) {
        let _ = self.replies.send(reply);
    }
}

/// Returns the routes below a path that only the process knows.
pub(super) fn router(path: &str, exchange: Exchange) -> Router {
    Router::new().nest(&format!("/{path}"), routes(exchange)).fallback(unknown)
}

/// Returns the routes at the root.
pub fn routes(exchange: Exchange) -> Router {
    Router::new()
        .route("/2018-06-01/runtime/invocation/next", get(next))
        .route("/2018-06-01/runtime/invocation/{request_id}/response", post(response))
        .route("/2018-06-01/runtime/invocation/{request_id}/error", post(error))
        .route("/2018-06-01/runtime/init/error", post(init_error))
        .with_state(Arc::new(exchange))
}

async fn next(State(exchange): State<Arc<Exchange>>) -> Response {
    exchange.reply(Reply::Ready);
    let Some(offer) = exchange.offers.lock().await.recv().await else {
        return refusal(StatusCode::INTERNAL_SERVER_ERROR, "Container", "the function is being stopped");
    };
    exchange.begin(&offer.request_id);
    let mut response = Response::builder().header(http::header::CONTENT_TYPE, "application/json");
    for (name, value) in offer.headers {
        response = response.header(name, value);
    }
    response.body(Body::from(offer.event)).expect("the headers are valid")
}

async fn response(
    State(exchange): State<Arc<Exchange>>,
    Path(request_id): Path<String>,
    request: Request,
) -> Response {
    let body = axum::body::to_bytes(request.into_body(), LARGEST_PAYLOAD).await;
    if !exchange.end(&request_id) {
        return unknown_request_id();
    }
    match body {
        Ok(body) => {
            exchange.reply(Reply::Ended(Ended::Response(body)));
            accepted()
        }
        Err(_) => {
            let limit = format!("response payload is larger than {LARGEST_PAYLOAD} bytes");
            exchange.reply(Reply::Ended(Ended::Error(format!("Function.ResponseSizeTooLarge: {limit}"))));
            refusal(StatusCode::PAYLOAD_TOO_LARGE, "RequestEntityTooLarge", &limit)
        }
    }
}

async fn error(
    State(exchange): State<Arc<Exchange>>,
    Path(request_id): Path<String>,
    request: Request,
) -> Response {
    let text = error_text(request).await;
    if !exchange.end(&request_id) {
        return unknown_request_id();
    }
    exchange.reply(Reply::Ended(Ended::Error(text)));
    accepted()
}

async fn init_error(State(exchange): State<Arc<Exchange>>, request: Request) -> Response {
    let text = error_text(request).await;
    exchange.reply(Reply::InitError(text));
    accepted()
}

async fn unknown(request: Request) -> Response {
    let text = format!("the Runtime API has no {} {}", request.method(), request.uri().path());
    refusal(StatusCode::NOT_FOUND, "UnknownRoute", &text)
}

/// Returns `type: message` of an error that a function reports as JSON, or else the beginning of its text.
async fn error_text(request: Request) -> String {
    let named = request.headers().get("lambda-runtime-function-error-type");
    let named = named.and_then(|kind| kind.to_str().ok()).unwrap_or("Runtime.UnknownReason").to_owned();
    let body = axum::body::to_bytes(request.into_body(), LARGEST_PAYLOAD).await.unwrap_or_default();
    let report = serde_json::from_slice::<Value>(&body).unwrap_or_default();
    let field = |name: &str| report.get(name).and_then(Value::as_str);
    let kind = field("errorType").unwrap_or(&named);
    match field("errorMessage") {
        Some(message) => format!("{kind}: {message}"),
        None if body.is_empty() => kind.to_owned(),
        None => format!("{kind}: {}", String::from_utf8_lossy(&body[..body.len().min(256)])),
    }
}

fn accepted() -> Response {
    respond(StatusCode::ACCEPTED, &json!({ "status": "OK" }))
}

fn unknown_request_id() -> Response {
    refusal(
        StatusCode::BAD_REQUEST,
        "InvalidRequestID",
        "the request id is not that of the current invocation",
    )
}

fn refusal(status: StatusCode, kind: &str, message: &str) -> Response {
    respond(status, &json!({ "errorType": kind, "errorMessage": message }))
}

fn respond(status: StatusCode, body: &Value) -> Response {
    Response::builder()
        .status(status)
        .header(http::header::CONTENT_TYPE, "application/json")
        .body(Body::from(body.to_string()))
        .expect("the headers are valid")
}
