//! The three protocols of CloudWatch, around one set of operations: Smithy RPC v2 CBOR, which today's SDKs speak, AWS
//! JSON 1.0, and the query protocol of older ones. What they carry is the same, so all become one kind of value.
//! <https://smithy.io/2.0/additional-specs/protocols/smithy-rpc-v2.html>
//! <https://smithy.io/2.0/aws/protocols/aws-json-1_0-protocol.html>
//! <https://smithy.io/2.0/aws/protocols/aws-query-protocol.html>

mod body;
pub(super) mod field;
mod json;
mod query;
mod refusal;
mod xml;

use std::time::SystemTime;

use bytes::Bytes;
use ciborium::Value;
use http::{HeaderMap, Request, Response, StatusCode, header};
use uuid::Uuid;

#[cfg(test)]
pub(super) use json::to_json as as_json;
pub(super) use refusal::Refusal;

use super::CloudWatch;
use super::api::{self, Asked};
use crate::clock::ClientClock;

const TARGET: &str = "GraniteServiceVersion20100801.";
const PATH: &str = "/service/GraniteServiceVersion20100801/operation/";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Protocol {
    Cbor,
    Json,
    Query,
}

/// Whether the request is for CloudWatch, in any of its protocols.
pub(crate) fn is_cloudwatch(request: &Request<Bytes>) -> bool {
    protocol(request).is_some()
}

/// Answers a request of a client with this clock, and names the operation. Whatever it holds, there is an answer.
pub(crate) fn answer(
    cloudwatch: &mut CloudWatch,
    request: &Request<Bytes>,
    now: SystemTime,
    clock: ClientClock,
) -> (Response<Bytes>, String) {
    let protocol = protocol(request).unwrap_or(Protocol::Cbor);
    cloudwatch.sweep(now);
    let (operation, result) = match read(protocol, request) {
        Ok((operation, input)) => {
            let result = api::perform(&operation, &input, &mut Asked { cloudwatch, now, clock });
            (operation, result)
        }
        Err(refusal) => (named(protocol, request), Err(refusal)),
    };
    let id = Uuid::new_v4().to_string();
    let (status, body) = match &result {
        Ok(output) => (StatusCode::OK, protocol.write(&operation, output, &id)),
        Err(refusal) => (refusal.status(), protocol.write_refusal(refusal, &id)),
    };
    let mut response = Response::builder()
        .status(status)
        .header(header::CONTENT_TYPE, protocol.content_type())
        .header("x-amzn-requestid", id);
    if protocol == Protocol::Cbor {
        response = response.header("smithy-protocol", "rpc-v2-cbor");
    }
    if let (Err(refusal), Protocol::Cbor | Protocol::Json) = (&result, protocol) {
        response = response.header("x-amzn-query-error", refusal.query_error());
    }
    (response.body(body).expect("the headers are valid"), operation)
}

fn protocol(request: &Request<Bytes>) -> Option<Protocol> {
    let headers = request.headers();
    if request.uri().path().starts_with(PATH) {
        return Some(Protocol::Cbor);
    }
    if text(headers, "x-amz-target").starts_with(TARGET) {
        return Some(Protocol::Json);
    }
    // No other service here compresses a form.
    let is_form = text(headers, "content-type").starts_with("application/x-www-form-urlencoded");
    (is_form && (body::is_gzipped(headers) || query::is_cloudwatch(request.body())))
        .then_some(Protocol::Query)
}

fn read(protocol: Protocol, request: &Request<Bytes>) -> Result<(String, Value), Refusal> {
    let body = body::plain(request)?;
    match protocol {
        Protocol::Cbor => Ok((named(protocol, request), body::cbor(&body)?)),
        Protocol::Json => Ok((named(protocol, request), json::read(&body)?)),
        Protocol::Query => Ok(query::read(&body)),
    }
}

/// The operation, as far as it is named outside of the body.
fn named(protocol: Protocol, request: &Request<Bytes>) -> String {
    match protocol {
        Protocol::Cbor => request.uri().path().trim_start_matches(PATH).to_owned(),
        Protocol::Json => text(request.headers(), "x-amz-target").trim_start_matches(TARGET).to_owned(),
        Protocol::Query => String::new(),
    }
}

fn text<'headers>(headers: &'headers HeaderMap, name: &str) -> &'headers str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

impl Protocol {
    fn content_type(self) -> &'static str {
        match self {
            Self::Cbor => "application/cbor",
            Self::Json => "application/x-amz-json-1.0",
            Self::Query => "text/xml",
        }
    }

    fn write(self, operation: &str, output: &Value, request_id: &str) -> Bytes {
        match self {
            Self::Cbor => body::to_cbor(output),
            Self::Json => json::write(output),
            Self::Query => xml::response(operation, output, request_id),
        }
    }

    fn write_refusal(self, refusal: &Refusal, request_id: &str) -> Bytes {
        match self {
            Self::Cbor => body::to_cbor(&refusal.to_value()),
            Self::Json => json::write(&refusal.to_value()),
            Self::Query => xml::refusal(refusal, request_id),
        }
    }
}

#[cfg(test)]
mod tests;
