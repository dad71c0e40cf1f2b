//! The HTTP routes of the page.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::{get, post};

use super::shared::Shared;
use super::{actions, assets, details, search, stream};
use crate::command::page::{error, guarded, respond};

pub(super) fn router(shared: Arc<Shared>) -> Router {
    let routes = Router::new()
        .route("/events", get(stream::events))
        .route("/message/{id}", get(message))
        .route("/invocation/{id}", get(invocation))
        .route("/messages", post(actions::send))
        .route("/retry", post(actions::retry))
        .route("/clock", post(actions::clock))
        .route("/search", post(search::search));
    guarded(routes.with_state(shared), assets::FILES)
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
