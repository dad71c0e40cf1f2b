//! The AWS endpoint: SQS, CloudWatch, Lambda, CloudWatch Logs, CloudFormation and STS on one port.

use std::future::pending;
use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::Router;
use axum::body::Body;
use axum::extract;
use axum::routing::{get, post};
use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderName};
use http::{Request, Response, StatusCode};
use redrive_sqs::Quoted;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::start::ACCESS_KEY;
use super::world::World;
use crate::account::{AwsService, ServiceCall};
use crate::clock::ClientClock;
use crate::gate;
use crate::protocol::{Wait, unknown_service};

/// Largest request in bytes: more than SQS's largest, 1 MiB of text, with every character escaped.
const LARGEST_REQUEST: usize = 16 << 20;

/// The paths that say whether the endpoint answers: a short one, and that of LocalStack, which scripts and containers wait for.
/// <https://docs.localstack.cloud/aws/capabilities/networking/internal-endpoints/>
pub(super) const PUBLIC: [&str; 2] = ["/health", "/_localstack/health"];

pub(super) fn router(world: Arc<World>) -> Router {
    let routes = PUBLIC.into_iter().fold(Router::new(), |routes, path| routes.route(path, get(health)));
    routes.route("/_redrive/skip", post(skip)).fallback(answer).with_state(world)
}

async fn health() -> ([(HeaderName, &'static str); 1], String) {
    let services = ServiceCall::SERVICES.map(|name| (name.to_owned(), "running".into()));
    let services = Value::Object(services.into_iter().collect());
    let health = json!({"services": services, "edition": "redrive", "version": env!("CARGO_PKG_VERSION")});
    ([(CONTENT_TYPE, "application/json")], health.to_string())
}

async fn answer(extract::State(world): extract::State<Arc<World>>, request: Request<Body>) -> Response<Body> {
    if request.headers().get("sec-fetch-mode").is_some_and(|mode| mode == "navigate") {
        // A user followed a link in a mail for example, which browsers do not report as a request of another site.
        return gate::refused("this is an endpoint for AWS clients, not a page for a browser".to_owned());
    }
    let (parts, body) = request.into_parts();
    let Ok(body) = axum::body::to_bytes(body, LARGEST_REQUEST).await else {
        return too_large();
    };
    let request = Request::from_parts(parts, body);
    let response = match ServiceCall::read(&request) {
        Some(call) => of_service(&world, &call, &request).await,
        None => unknown_service(&request),
    };
    response.map(Body::from)
}

/// Answers immediately, or lets a receive wait for messages until its time is up. A worker's receive waits in real time,
/// because its client gives up on a late answer, and would poll without pause after early ones.
async fn of_service(world: &World, call: &ServiceCall<'_>, request: &Request<Bytes>) -> Response<Bytes> {
    let mut changes = world.changes();
    let (begun, really_begun) = (world.clock.now(), Instant::now());
    let mut first = true;
    loop {
        changes.mark_unchanged();
        // Time must not jump between a receive and the moment at which the clock knows that a client has messages in hand.
        let running = world.clock.running();
        let (response, wait) = world.act(|state, now| {
            if std::mem::take(&mut first) {
                state.messages.call(call.name(), call.call.access_key() == Some(ACCESS_KEY));
            }
            let clock = ClientClock::showing(SystemTime::now(), now);
            let revision = state.account.lambda.revision();
            let folder = state.folder.as_mut().filter(|_| call.service == AwsService::Sqs);
            let operation = &call.call.operation;
            if let Some(folder) = folder
                && let Err(error) = folder.record(operation, request, &state.account.sqs, now)
            {
                return (not_recorded(&error), None);
            }
            let (response, wait) = state.account.perform(call, now, clock);
            let folder = state.folder.as_mut().filter(|_| call.service == AwsService::Sqs);
            folder.into_iter().for_each(|folder| folder.forget_empty_receive(operation, &state.account.sqs));
            match call.service {
                AwsService::Sqs => state.administered(&call.call.operation, now),
                AwsService::CloudWatch if response.status().is_success() => state.change(),
                AwsService::Lambda if state.account.lambda.revision() != revision => state.change(),
                AwsService::Scheduler => state.change(),
                AwsService::CloudWatch
                | AwsService::Lambda
                | AwsService::Logs
                | AwsService::CloudFormation
                | AwsService::Sts => (),
            }
            let wait = wait.and_then(|Wait { queue, longest, receivable }| {
                let (end, real_end) = (begun + longest, really_begun + longest);
                let is_worker = state.polled(&queue);
                let is_over = match is_worker {
                    true => state.messages.worked.is_draining || real_end <= Instant::now(),
                    false => end <= now,
                };
                if is_over {
                    state.account.sqs.end_empty_receive(&queue);
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

fn not_recorded(error: &io::Error) -> Response<Bytes> {
    let reason = json!({"__type": "ServiceUnavailable", "message": format!("the state folder: {error}")});
    let mut response = Response::new(Bytes::from(reason.to_string()));
    *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    response
}

fn too_large() -> Response<Body> {
    let reason = format!("a request is larger than {LARGEST_REQUEST} bytes or was cut off");
    let mut response = Response::new(Body::from(reason));
    *response.status_mut() = StatusCode::PAYLOAD_TOO_LARGE;
    response
}

/// Longest skip in seconds: a year, longer than any wait of SQS and CloudWatch.
const LONGEST_SKIP: f64 = 31_536_000.0;

/// Skips the number of seconds in the body, and answers with the new time in seconds since 1970. `curl -d 3600
/// http://127.0.0.1:PORT/_redrive/skip` skips an hour.
async fn skip(
    extract::State(world): extract::State<Arc<World>>,
    body: String,
) -> Result<String, (StatusCode, String)> {
    let seconds = seconds(&body).map_err(|reason| (StatusCode::BAD_REQUEST, reason))?;
    world.clock.skip(seconds).await;
    world.act(|state, now| state.keep_queues(now));
    Ok(world.clock.now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64().to_string())
}

fn seconds(body: &str) -> Result<Duration, String> {
    match body.trim().parse() {
        Ok(seconds) if (0.0..=LONGEST_SKIP).contains(&seconds) => Ok(Duration::from_secs_f64(seconds)),
        _ => Err(format!("seconds to skip: {}, allowed: 0 to {LONGEST_SKIP}", Quoted(body))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_body_is_a_number_of_seconds() {
        assert_eq!(seconds("3600\n"), Ok(Duration::from_secs(3_600)));
        assert_eq!(seconds("0.5"), Ok(Duration::from_millis(500)));
        for wrong in ["", "-1", "NaN", "inf", "31536001", "soon"] {
            let reason = seconds(wrong).unwrap_err();
            assert_eq!(reason, format!("seconds to skip: {wrong:?}, allowed: 0 to 31536000"));
        }
    }
}
