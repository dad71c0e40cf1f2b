//! The AWS endpoint: SQS, CloudWatch, Lambda, CloudWatch Logs and CloudFormation on one port of the loopback interface.

mod skip;

use std::future::pending;
use std::sync::Arc;
use std::time::SystemTime;

use axum::Router;
use axum::body::Body;
use axum::extract;
use axum::routing::post;
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use tokio::time::Instant;

use super::start::ACCESS_KEY;
use super::state::State;
use super::world::World;
use crate::clock::ClientClock;
use crate::cloudformation::api as cloudformation;
use crate::cloudwatch::api as cloudwatch;
use crate::door;
use crate::lambda::api as lambda;
use crate::logs::api as logs;
use crate::protocol::{Call, Service, Wait, unknown_service};
use crate::sqs::api as sqs;

/// Above the largest request of SQS, 1 MiB of text in which every character is escaped.
const LARGEST_REQUEST: usize = 16 << 20;

/// Operations that may change which queues redrive policies name.
const ADMINISTRATION: [&str; 3] = ["CreateQueue", "DeleteQueue", "SetQueueAttributes"];

pub(super) fn router(world: Arc<World>) -> Router {
    Router::new().route("/_redrive/skip", post(skip::skip)).fallback(answer).with_state(world)
}

async fn answer(extract::State(world): extract::State<Arc<World>>, request: Request<Body>) -> Response<Body> {
    if request.headers().get("sec-fetch-mode").is_some_and(|mode| mode == "navigate") {
        // By a link in a mail, say: to a browser that is no request of another site.
        return door::refused("this is an endpoint for AWS clients, not a page for a browser".to_owned());
    }
    let (parts, body) = request.into_parts();
    let Ok(body) = axum::body::to_bytes(body, LARGEST_REQUEST).await else {
        return too_large();
    };
    let request = Request::from_parts(parts, body);
    let response = if let Some(call) = sqs::SERVICE.read(&request) {
        of_sqs(&world, &call).await
    } else if let Some(call) = cloudwatch::SERVICE.read(&request) {
        world.act(|state, now| {
            let response = serve(&cloudwatch::SERVICE, &call, state, |state| &mut state.cloudwatch, now);
            if response.status().is_success() {
                state.change();
            }
            response
        })
    } else if let Some(call) = lambda::SERVICE.read(&request) {
        world.act(|state, now| {
            let before = state.lambda.revision();
            let response = serve(&lambda::SERVICE, &call, state, |state| &mut state.lambda, now);
            if state.lambda.revision() != before {
                state.change();
            }
            response
        })
    } else if let Some(call) = logs::SERVICE.read(&request) {
        world.act(|state, now| serve(&logs::SERVICE, &call, state, |state| &mut state.logs, now))
    } else if let Some(call) = cloudformation::SERVICE.read(&request) {
        let service = &cloudformation::SERVICE;
        world.act(|state, now| serve(service, &call, state, |state| &mut state.cloudformation, now))
    } else {
        unknown_service(&request)
    };
    response.map(Body::from)
}

/// Answers at once, or lets a receive wait for messages until its time is up. That of a worker is real time: its client
/// gives up on an answer that comes late, and with one that comes early it would call without end.
async fn of_sqs(world: &World, call: &Call<'_>) -> Response<Bytes> {
    let mut changes = world.changes();
    let (begun, really_begun) = (world.clock.now(), Instant::now());
    let mut first = true;
    loop {
        changes.mark_unchanged();
        // Time must not leap between a receive and the moment from which it is known that a client holds messages.
        let running = world.clock.running();
        let (response, wait) = world.act(|state, now| {
            let (response, wait) = sqs::SERVICE.answer(call, &mut state.sqs, now, ClientClock::default());
            if ADMINISTRATION.contains(&call.operation.as_str()) {
                state.find_dead_letter_queues();
            }
            match call.operation.as_str() {
                "StartMessageMoveTask" => state.change(),
                "DeleteQueue" | "PurgeQueue" => state.forget_client_holds(now),
                _ => (),
            }
            if std::mem::take(&mut first) {
                note(state, "sqs", call);
            }
            let wait = wait.and_then(|Wait { queue, longest, receivable }| {
                let (end, real_end) = (begun + longest, really_begun + longest);
                let is_worker = state.poll(&queue);
                let is_over = match is_worker {
                    true => state.worker_holds.is_draining || real_end <= Instant::now(),
                    false => end <= now,
                };
                if is_over {
                    state.sqs.end_empty_receive(&queue);
                    return None;
                }
                let next = receivable.into_iter().chain((!is_worker).then_some(end)).min();
                Some((next, is_worker.then_some(real_end)))
            });
            (response, wait)
        });
        drop(running);
        let Some((next, real_end)) = wait else { return response };
        let next = async {
            match next {
                Some(next) => world.clock.sleep_until(next).await,
                None => pending().await,
            }
        };
        let real_end = async {
            match real_end {
                Some(end) => tokio::time::sleep_until(end).await,
                None => pending().await,
            }
        };
        tokio::select! {
            _ = changes.changed() => (),
            () = next => (),
            () = real_end => (),
        }
    }
}

fn serve<S>(
    service: &Service<S>,
    call: &Call<'_>,
    state: &mut State,
    part: impl Fn(&mut State) -> &mut S,
    now: SystemTime,
) -> Response<Bytes> {
    note(state, service.name, call);
    let clock = ClientClock::showing(SystemTime::now(), now);
    service.answer(call, part(state), now, clock).0
}

fn note(state: &mut State, service: &str, call: &Call<'_>) {
    let is_ours = call.access_key() == Some(ACCESS_KEY);
    state.tracker.call(format!("{service}.{}", call.operation), is_ours);
}

fn too_large() -> Response<Body> {
    let reason = format!("a request is larger than {LARGEST_REQUEST} bytes or was cut off");
    let mut response = Response::new(Body::from(reason));
    *response.status_mut() = StatusCode::PAYLOAD_TOO_LARGE;
    response
}
