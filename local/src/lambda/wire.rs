//! REST JSON: the operation is the method and the path, JSON is in the bodies.
//! <https://smithy.io/2.0/aws/protocols/aws-restjson1-protocol.html>

use std::time::SystemTime;

use bytes::Bytes;
use http::{Request, Response, StatusCode, header};
use uuid::Uuid;

use super::refusal::Refusal;
use super::request::{Asked, parts};
use super::{Lambda, perform};
use crate::clock::ClientClock;

/// Whether the request is for Lambda, whose paths begin with a date.
pub(crate) fn is_lambda(request: &Request<Bytes>) -> bool {
    let parts = parts(request.uri().path());
    let is_date = |part: &str| {
        part.len() == 10
            && part.bytes().enumerate().all(|(place, byte)| match place {
                4 | 7 => byte == b'-',
                _ => byte.is_ascii_digit(),
            })
    };
    parts.len() > 1 && is_date(&parts[0])
}

/// Answers a request of a client with this clock, and names the operation.
pub(crate) fn answer(
    lambda: &mut Lambda,
    request: &Request<Bytes>,
    now: SystemTime,
    clock: ClientClock,
) -> (Response<Bytes>, String) {
    let Some(operation) = perform::operation(request) else {
        let named = format!("{} {}", request.method(), request.uri().path());
        return (refused(&Refusal::unknown(&named)), named);
    };
    let result = (operation.perform)(&mut Asked::new(lambda, request, now, clock));
    let response = match result {
        Ok(_) if operation.status == 204 => respond(StatusCode::NO_CONTENT, Bytes::new(), None),
        Ok(output) => {
            let status = StatusCode::from_u16(operation.status).expect("it is a status of HTTP");
            respond(status, Bytes::from(output.to_string()), None)
        }
        Err(refusal) => refused(&refusal),
    };
    (response, operation.name.to_owned())
}

fn refused(refusal: &Refusal) -> Response<Bytes> {
    respond(refusal.status(), Bytes::from(refusal.body().to_string()), Some(refusal.shape()))
}

fn respond(status: StatusCode, body: Bytes, error: Option<&str>) -> Response<Bytes> {
    let mut response = Response::builder()
        .status(status)
        .header(header::CONTENT_TYPE, "application/json")
        .header("x-amzn-requestid", Uuid::new_v4().to_string());
    if let Some(error) = error {
        response = response.header("x-amzn-errortype", error);
    }
    response.body(body).expect("the headers are valid")
}
