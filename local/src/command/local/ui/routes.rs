//! What the page asks for over HTTP.

use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Path, Request, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde_json::{Value, json};

use super::shared::Shared;
use super::{actions, assets, details, guard, search, stream};

/// Above the largest message of SQS, 1 MiB of text in which every character is escaped.
const LARGEST_REQUEST: usize = 8 << 20;

pub(super) fn router(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/events", get(stream::events))
        .route("/message/{id}", get(message))
        .route("/invocation/{id}", get(invocation))
        .route("/messages", post(actions::send))
        .route("/retry", post(actions::retry))
        .route("/clock", post(actions::clock))
        .route("/search", post(search::search))
        .fallback(asset)
        .layer(DefaultBodyLimit::max(LARGEST_REQUEST))
        .layer(from_fn(guarded))
        .with_state(shared)
}

async fn guarded(request: Request, next: Next) -> Response {
    let refusal = guard::refusal(request.method(), request.headers());
    let mut response = match refusal {
        Some((status, reason)) => error(status, &reason),
        None => next.run(request).await,
    };
    guard::protect(response.headers_mut());
    response
}

async fn asset(request: Request) -> Response {
    let path = request.uri().path();
    assets::find(path).unwrap_or_else(|| error(StatusCode::NOT_FOUND, &format!("there is no {path}")))
}

async fn message(State(shared): State<Arc<Shared>>, Path(id): Path<String>) -> Response {
    match details::message(&shared, &id) {
        Some(details) => respond(StatusCode::OK, &details),
        None => error(StatusCode::NOT_FOUND, &format!("message {id} is unknown, or no longer kept")),
    }
}

async fn invocation(State(shared): State<Arc<Shared>>, Path(id): Path<String>) -> Response {
    respond(StatusCode::OK, &details::invocation(&shared, &id))
}

pub(super) fn error(status: StatusCode, reason: &str) -> Response {
    respond(status, &json!({ "error": reason }))
}

pub(super) fn respond(status: StatusCode, body: &Value) -> Response {
    (status, [(CONTENT_TYPE, "application/json")], body.to_string()).into_response()
}
