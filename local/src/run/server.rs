//! The AWS endpoint: SQS, CloudWatch, Lambda, CloudWatch Logs and CloudFormation on one port of the loopback interface.

mod skip;

use std::sync::Arc;
use std::time::SystemTime;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::routing::post;
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use serde_json::json;

use super::World;
use crate::clock::ClientClock;
use crate::sqs::api as sqs;
use crate::{cloudformation, cloudwatch, lambda, logs};

/// Above the largest request of SQS, 1 MiB of text in which every character is escaped.
const LARGEST_REQUEST: usize = 16 << 20;

/// Operations that may change which queues redrive policies name.
const ADMINISTRATION: [&str; 3] = ["CreateQueue", "DeleteQueue", "SetQueueAttributes"];

pub(crate) fn router(world: Arc<World>) -> Router {
    Router::new().route("/_redrive/skip", post(skip::skip)).fallback(answer).with_state(world)
}

async fn answer(State(world): State<Arc<World>>, request: Request<Body>) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let Ok(body) = axum::body::to_bytes(body, LARGEST_REQUEST).await else {
        let message = format!("a request is larger than {LARGEST_REQUEST} bytes or was cut off");
        return refusal(StatusCode::PAYLOAD_TOO_LARGE, "RequestEntityTooLarge", &message);
    };
    let request = Request::from_parts(parts, body);
    if sqs::is_sqs(&request) {
        sqs(&world, &request).await.map(Body::from)
    } else if cloudwatch::is_cloudwatch(&request) {
        metrics_of(&world, &request).map(Body::from)
    } else if lambda::is_lambda(&request) {
        lambda(&world, &request).map(Body::from)
    } else if logs::is_logs(&request) {
        logs(&world, &request).map(Body::from)
    } else if cloudformation::is_cloudformation(&request) {
        cloudformation(&world, &request).map(Body::from)
    } else {
        unknown(&request)
    }
}

/// Answers at once, or lets a receive wait for messages until its time is up.
async fn sqs(world: &World, request: &Request<Bytes>) -> Response<Bytes> {
    let mut changes = world.changes();
    let begun = world.clock.now();
    let mut first = true;
    loop {
        changes.mark_unchanged();
        let (response, wait, now) = world.act(|state, now| {
            let (response, call) = sqs::answer(&mut state.sqs, request, now);
            if ADMINISTRATION.contains(&call.operation.as_str()) {
                state.find_dead_letter_queues();
            }
            if call.operation == "StartMessageMoveTask" {
                state.change();
            }
            if std::mem::take(&mut first) {
                state.tracker.call(format!("sqs.{}", call.operation));
            }
            (response, call.wait.map(|wait| (begun + wait.longest, wait.receivable)), now)
        });
        let Some((end, receivable)) = wait.filter(|(end, _)| *end > now) else { return response };
        tokio::select! {
            _ = changes.changed() => (),
            () = world.clock.sleep_until(receivable.map_or(end, |receivable| receivable.min(end))) => (),
        }
    }
}

fn metrics_of(world: &World, request: &Request<Bytes>) -> Response<Bytes> {
    world.act(|state, now| {
        let clock = ClientClock::showing(SystemTime::now(), now);
        let (response, operation) = cloudwatch::answer(&mut state.cloudwatch, request, now, clock);
        state.tracker.call(format!("cloudwatch.{operation}"));
        if response.status().is_success() {
            state.change();
        }
        response
    })
}

fn lambda(world: &World, request: &Request<Bytes>) -> Response<Bytes> {
    world.act(|state, now| {
        let clock = ClientClock::showing(SystemTime::now(), now);
        let before = state.lambda.revision();
        let (response, operation) = lambda::answer(&mut state.lambda, request, now, clock);
        state.tracker.call(format!("lambda.{operation}"));
        if state.lambda.revision() != before {
            state.change();
        }
        response
    })
}

fn logs(world: &World, request: &Request<Bytes>) -> Response<Bytes> {
    world.act(|state, _| {
        let (response, operation) = logs::answer(&state.logs, request);
        state.tracker.call(format!("logs.{operation}"));
        response
    })
}

fn cloudformation(world: &World, request: &Request<Bytes>) -> Response<Bytes> {
    world.act(|state, now| {
        let clock = ClientClock::showing(SystemTime::now(), now);
        let (response, operation) = cloudformation::answer(&state.cloudformation, request, clock);
        state.tracker.call(format!("cloudformation.{operation}"));
        response
    })
}

fn unknown(request: &Request<Bytes>) -> Response<Body> {
    let named = request.headers().get("x-amz-target").and_then(|target| target.to_str().ok());
    let named = named.map_or_else(|| format!("{} {}", request.method(), request.uri().path()), str::to_owned);
    let message = format!(
        "redrive-local speaks SQS (AWS JSON 1.0, query), CloudWatch (Smithy RPC v2 CBOR, AWS JSON 1.0, query), \
         Lambda, CloudWatch Logs and CloudFormation, \
         which {named} is not"
    );
    refusal(StatusCode::BAD_REQUEST, "UnknownOperationException", &message)
}

fn refusal(status: StatusCode, kind: &str, message: &str) -> Response<Body> {
    Response::builder()
        .status(status)
        .header(http::header::CONTENT_TYPE, "application/x-amz-json-1.0")
        .body(Body::from(json!({ "__type": kind, "message": message }).to_string()))
        .expect("the headers are valid")
}
