//! Writes answers in each protocol.

use bytes::Bytes;
use ciborium::Value;
use http::{Method, Request, Response, StatusCode};
use serde::Serialize;
use serde_json::json;
use uuid::Uuid;

use super::call::{Format, Syntax, is_of_queue};
use super::{Answer, AwsError, UNKNOWN_OPERATION, form, query_json, xml};

impl Format<'_> {
    pub(super) fn output(self, operation: &str, output: &impl Serialize) -> Bytes {
        match self {
            Self::Json(_) | Self::Rest(_) => serde_json::to_vec(output).expect(PLAIN).into(),
            Self::Cbor => cbor(output),
            Self::Query(query, Syntax::Xml) => {
                xml::result(query, operation, &Value::serialized(output).expect(PLAIN))
            }
            Self::Query(query, Syntax::Json) => query_json::result(query, operation, output),
        }
    }

    pub(super) fn nothing(self) -> Bytes {
        match self {
            Self::Json(_) => Bytes::from_static(b"{}"),
            Self::Cbor => cbor(&json!({})),
            Self::Query(..) | Self::Rest(_) => Bytes::new(),
        }
    }

    /// Writes an answer. Clients in `query_mode` once used the query protocol, and still expect its statuses.
    pub(super) fn respond(self, operation: &str, result: Answer, query_mode: bool) -> Response<Bytes> {
        let id = Uuid::new_v4().to_string();
        let error = result.as_ref().err();
        let status = match (self, error) {
            (_, Some(error)) => error.status(query_mode || matches!(self, Self::Query(..))),
            (Self::Rest(status), None) => StatusCode::from_u16(status).expect("it is a status of HTTP"),
            (_, None) => StatusCode::OK,
        };
        let mut response = Response::builder()
            .status(status)
            .header("content-type", self.content_type())
            .header("x-amzn-requestid", &id);
        if let Self::Cbor = self {
            response = response.header("smithy-protocol", "rpc-v2-cbor");
        }
        response = match (self, error) {
            // Some SDKs match on the code of the query protocol.
            (Self::Json("1.0") | Self::Cbor, Some(error)) => {
                response.header("x-amzn-query-error", format!("{};{}", error.code(), error.fault()))
            }
            (Self::Rest(_), Some(error)) => response.header("x-amzn-errortype", error.name()),
            _ => response,
        };
        let body = match (self, result) {
            (Self::Query(query, Syntax::Xml), Ok(result)) => xml::success(query, operation, &result, &id),
            (Self::Query(query, Syntax::Xml), Err(error)) => xml::failure(query, &error, &id),
            (Self::Query(_, Syntax::Json), Ok(result)) => query_json::success(operation, &result, &id),
            (Self::Query(_, Syntax::Json), Err(error)) => query_json::failure(&error, &id),
            (_, Ok(output)) => output,
            (Self::Cbor, Err(error)) => cbor(&described(&error, error.shape())),
            (Self::Json("1.0"), Err(error)) => described(&error, error.shape()).to_string().into(),
            (Self::Json(_), Err(error)) => described(&error, error.name()).to_string().into(),
            (Self::Rest(_), Err(error)) => {
                // The message's key differs between exceptions of the model.
                let is_capital = error.name().starts_with("Resource") || error.name() == "ConflictException";
                let key = if is_capital { "Message" } else { "message" };
                json!({ "Type": "User", key: error.message() }).to_string().into()
            }
        };
        response.body(body).expect("the headers are valid")
    }

    fn content_type(self) -> String {
        match self {
            Self::Json(version) => format!("application/x-amz-json-{version}"),
            Self::Cbor => "application/cbor".to_owned(),
            Self::Query(_, Syntax::Xml) => "text/xml".to_owned(),
            Self::Query(_, Syntax::Json) | Self::Rest(_) => "application/json".to_owned(),
        }
    }
}

/// Returns the answer to a request that is for none of these services. AWS was observed to answer a GET of a queue's URL
/// without an action in XML, even to a client that accepts JSON:
/// <https://github.com/localstack/localstack/blob/8b9a79f/tests/aws/services/sqs/test_sqs.py>
pub(crate) fn unknown_service(request: &Request<Bytes>) -> Response<Bytes> {
    let has_action = || form::parameter(request, &[], "Action").is_some();
    if request.method() == Method::GET && is_of_queue(request.uri().path()) && !has_action() {
        let body = Bytes::from_static(b"<UnknownOperationException/>");
        let answer = Response::builder().status(StatusCode::NOT_FOUND).header("content-type", "text/xml");
        return answer.body(body).expect("the headers are valid");
    }
    let named = request.headers().get("x-amz-target").and_then(|target| target.to_str().ok());
    let named = named.map_or_else(|| format!("{} {}", request.method(), request.uri().path()), str::to_owned);
    let message = format!(
        "redrive-local supports SQS (AWS JSON 1.0, query), CloudWatch (Smithy RPC v2 CBOR, AWS JSON 1.0, \
         query), Lambda, CloudWatch Logs, CloudFormation and STS, but not {named}"
    );
    Format::Json("1.0").respond("", Err(UNKNOWN_OPERATION.error(message)), false)
}

fn described(error: &AwsError, shape: &str) -> serde_json::Value {
    match error.message() {
        "" => json!({ "__type": shape }),
        message => json!({ "__type": shape, "message": message }),
    }
}

fn cbor(output: &impl Serialize) -> Bytes {
    let mut bytes = Vec::new();
    write(&mut bytes, &Value::serialized(output).expect(PLAIN));
    bytes.into()
}

/// Writes CBOR as AWS does: lists and maps have no length, and floats are not shortened.
fn write(bytes: &mut Vec<u8>, value: &Value) {
    const LIST: u8 = 0x9f;
    const MAP: u8 = 0xbf;
    const END: u8 = 0xff;
    const TIMESTAMP: u8 = 0xc1;
    const DOUBLE: u8 = 0xfb;
    match value {
        Value::Array(items) => {
            bytes.push(LIST);
            items.iter().for_each(|item| write(bytes, item));
            bytes.push(END);
        }
        Value::Map(members) => {
            bytes.push(MAP);
            members.iter().flat_map(|(name, value)| [name, value]).for_each(|each| write(bytes, each));
            bytes.push(END);
        }
        Value::Tag(1, at) => {
            bytes.push(TIMESTAMP);
            write(bytes, at);
        }
        Value::Float(number) => {
            bytes.push(DOUBLE);
            bytes.extend(number.to_be_bytes());
        }
        plain => ciborium::into_writer(plain, bytes).expect(PLAIN),
    }
}

const PLAIN: &str = "plain values can be written";
