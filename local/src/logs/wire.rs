//! AWS JSON 1.1: the operation in a header, JSON in and out.
//! <https://smithy.io/2.0/aws/protocols/aws-json-1_1-protocol.html>

use bytes::Bytes;
use http::{Request, Response, StatusCode, header};
use uuid::Uuid;

use super::refusal::Refusal;
use super::request::Asked;
use super::{Logs, perform};

const TARGET: &str = "Logs_20140328.";

fn operation(request: &Request<Bytes>) -> Option<&str> {
    request.headers().get("x-amz-target")?.to_str().ok()?.strip_prefix(TARGET)
}

/// Whether the request is for CloudWatch Logs.
pub(crate) fn is_logs(request: &Request<Bytes>) -> bool {
    operation(request).is_some()
}

/// Answers a request, and names the operation.
pub(crate) fn answer(logs: &Logs, request: &Request<Bytes>) -> (Response<Bytes>, String) {
    let name = operation(request).unwrap_or_default();
    let result = match perform::operation(name) {
        Some(perform) => Asked::new(logs, request.body()).and_then(|asked| perform(&asked)),
        None => Err(Refusal::unknown(name)),
    };
    let (status, body) = match result {
        Ok(output) => (StatusCode::OK, output),
        Err(refusal) => (StatusCode::BAD_REQUEST, refusal.body()),
    };
    let response = Response::builder()
        .status(status)
        .header(header::CONTENT_TYPE, "application/x-amz-json-1.1")
        .header("x-amzn-requestid", Uuid::new_v4().to_string())
        .body(Bytes::from(body.to_string()));
    (response.expect("the headers are valid"), name.to_owned())
}
