//! A client of one service, for the tests of all services.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use http::{Request, Response, request::Builder};
use serde_json::{Value, json};

use super::{Service, Wait};
use crate::clock::ClientClock;

/// Start of tests in seconds since 1970: 21 November 2026, 12:00 UTC.
pub(crate) const BEGIN: u64 = 1_795_262_400;

/// A service with its state, and the time of the next request.
pub(crate) struct Client<S: 'static> {
    pub(crate) service: &'static Service<S>,
    pub(crate) state: S,
    pub(crate) now: SystemTime,
}

/// A refusal as a client sees it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) status: u16,
    /// The shape's name without its namespace.
    pub(crate) shape: String,
    /// The code of the query protocol, if there is one.
    pub(crate) code: String,
    pub(crate) message: String,
}

/// Returns the time this many seconds after the start.
pub(crate) fn at(seconds: i64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(BEGIN.saturating_add_signed(seconds))
}

impl<S> Client<S> {
    pub(crate) fn new(service: &'static Service<S>, state: S) -> Self {
        Self { service, state, now: at(0) }
    }

    /// Makes a request in JSON that must succeed.
    pub(crate) fn ask(&mut self, operation: &str, input: Value) -> Value {
        accepted(&self.call(operation, input).0)
    }

    /// Makes a request in JSON that must be refused.
    pub(crate) fn refused(&mut self, operation: &str, input: Value) -> Refused {
        refused(&self.call(operation, input).0)
    }

    #[expect(clippy::needless_pass_by_value, reason = "callers write json!() in place")]
    pub(crate) fn call(&mut self, operation: &str, input: Value) -> (Response<Bytes>, Option<Wait>) {
        let (target, _) = self.service.target.expect("the service speaks AWS JSON");
        let request = Request::post("/").header("x-amz-target", format!("{target}.{operation}"));
        self.send(request, &input.to_string())
    }

    /// Sends a form of the query protocol. Returns the status and the answer, with `-` for the request id.
    pub(crate) fn form(&mut self, form: &str) -> String {
        let version = self.service.query.as_ref().expect("the service speaks the query protocol").version;
        let request = Request::post("/").header("content-type", "application/x-www-form-urlencoded");
        let (response, _) = self.send(request, &format!("Version={version}&{form}"));
        let id = response.headers()["x-amzn-requestid"].to_str().unwrap().to_owned();
        format!("{} {}", response.status().as_u16(), text(&response).replace(&id, "-"))
    }

    /// Makes a request of REST JSON.
    pub(crate) fn rest(&mut self, method: &str, path: &str, body: &str) -> Response<Bytes> {
        self.send(Request::builder().method(method).uri(path), body).0
    }

    pub(crate) fn send(&mut self, request: Builder, body: &str) -> (Response<Bytes>, Option<Wait>) {
        let request = request.header("host", "127.0.0.1:4566").body(Bytes::copy_from_slice(body.as_bytes()));
        let request = request.unwrap();
        let call = self.service.read(&request).expect("the request is for the service");
        self.service.answer(&call, &mut self.state, self.now, ClientClock::default())
    }
}

/// Returns the output of a successful answer in JSON or CBOR.
pub(crate) fn accepted(response: &Response<Bytes>) -> Value {
    assert!(response.status().is_success(), "{}", text(response));
    body(response)
}

pub(crate) fn refused(response: &Response<Bytes>) -> Refused {
    assert!(!response.status().is_success(), "{}", text(response));
    let header = |name: &str| Some(response.headers().get(name)?.to_str().unwrap().to_owned());
    let body = body(response);
    let member = |name: &str| body.get(name).and_then(Value::as_str).map(str::to_owned);
    let shape = header("x-amzn-errortype").or(member("__type")).unwrap_or_default();
    Refused {
        status: response.status().as_u16(),
        shape: shape.rsplit('#').next().unwrap().to_owned(),
        code: header("x-amzn-query-error").map(|code| code.replace(";Sender", "")).unwrap_or_default(),
        message: member("message").or(member("Message")).unwrap_or_default(),
    }
}

pub(crate) fn text(response: &Response<Bytes>) -> String {
    String::from_utf8_lossy(response.body()).into_owned()
}

fn body(response: &Response<Bytes>) -> Value {
    if response.headers()["content-type"] != "application/cbor" {
        return serde_json::from_slice(response.body()).unwrap_or_default();
    }
    to_json(&ciborium::from_reader(response.body().as_ref()).unwrap())
}

/// Converts CBOR to JSON, without the tags of timestamps.
fn to_json(value: &ciborium::Value) -> Value {
    match value {
        ciborium::Value::Tag(_, inner) => to_json(inner),
        ciborium::Value::Array(items) => items.iter().map(to_json).collect(),
        ciborium::Value::Map(members) => {
            members.iter().map(|(name, value)| (name.as_text().unwrap().to_owned(), to_json(value))).collect()
        }
        plain => json!(plain),
    }
}
