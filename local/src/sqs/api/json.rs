//! AWS JSON 1.0: the operation in a header, JSON in and out.
//!
//! An error carries the shape's name in its body and the code of the query protocol in a header, since some SDKs match
//! on one and some on the other.

use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode, header};
use serde_json::json;
use uuid::Uuid;

use crate::queue::SqsError;

/// The name of the operation, if the request names one of SQS in this protocol's header.
pub(super) fn operation(request: &Request<Bytes>) -> Option<&str> {
    request.headers().get("x-amz-target")?.to_str().ok()?.strip_prefix("AmazonSQS.")
}

pub(super) fn success(output: Bytes) -> Response<Bytes> {
    response(StatusCode::OK, output)
}

pub(super) fn failure(error: &SqsError) -> Response<Bytes> {
    let body = json!({ "__type": error.shape(), "message": error.to_string() });
    let mut response = response(error.status(), Bytes::from(body.to_string()));
    if let Ok(value) = HeaderValue::from_str(&format!("{};Sender", error.code())) {
        response.headers_mut().insert("x-amzn-query-error", value);
    }
    response
}

fn response(status: StatusCode, body: Bytes) -> Response<Bytes> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/x-amz-json-1.0"));
    if let Ok(id) = HeaderValue::from_str(&Uuid::new_v4().to_string()) {
        headers.insert("x-amzn-requestid", id);
    }
    response
}
