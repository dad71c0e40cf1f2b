//! The two protocols of SQS: AWS JSON 1.0, and the older query protocol with forms and XML.
//!
//! They differ in how an operation, its input and its output are written, and in nothing else. An operation reads its
//! input and writes its output by the names of JSON.

use bytes::Bytes;
use http::{Request, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{json, query, xml};
use crate::queue::{ErrorKind, SqsError};

/// The input of an operation.
#[derive(Debug)]
pub(super) enum Input<'a> {
    Json(&'a [u8]),
    /// A form, as JSON would have it, and the name of the operation, which XML repeats.
    Query {
        operation: &'a str,
        form: Value,
    },
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Protocol<'a> {
    Json,
    Query { operation: &'a str },
}

/// The name of the operation that a request of SQS is for, if it is one.
pub(super) fn operation(request: &Request<Bytes>) -> Option<String> {
    json::operation(request).map(str::to_owned).or_else(|| query::operation(request))
}

impl<'a> Input<'a> {
    pub(super) fn new(request: &'a Request<Bytes>, operation: &'a str) -> Self {
        match json::operation(request) {
            Some(_) => Self::Json(request.body()),
            None => Self::Query { operation, form: query::read(request) },
        }
    }

    pub(super) fn protocol(&self) -> Protocol<'a> {
        match self {
            Self::Json(_) => Protocol::Json,
            Self::Query { operation, .. } => Protocol::Query { operation },
        }
    }

    pub(super) fn read<T: DeserializeOwned>(&self) -> Result<T, SqsError> {
        let read = match self {
            Self::Json(bytes) => serde_json::from_slice(bytes),
            Self::Query { form, .. } => T::deserialize(form),
        };
        read.map_err(unreadable)
    }
}

impl Protocol<'_> {
    pub(super) fn output(self, output: &impl Serialize) -> Result<Bytes, SqsError> {
        match self {
            Self::Json => serde_json::to_vec(output).map(Bytes::from),
            Self::Query { operation } => {
                serde_json::to_value(output).map(|output| xml::result(operation, &output))
            }
        }
        .map_err(unreadable)
    }

    pub(super) fn nothing(self) -> Bytes {
        match self {
            Self::Json => Bytes::from_static(b"{}"),
            Self::Query { .. } => Bytes::new(),
        }
    }

    pub(super) fn response(self, result: Result<Bytes, SqsError>) -> Response<Bytes> {
        match (self, result) {
            (Self::Json, Ok(output)) => json::success(output),
            (Self::Json, Err(error)) => json::failure(&error),
            (Self::Query { operation }, Ok(output)) => xml::success(operation, &output),
            (Self::Query { .. }, Err(error)) => xml::failure(&error),
        }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is what map_err takes")]
fn unreadable(error: serde_json::Error) -> SqsError {
    SqsError::new(ErrorKind::SerializationException, error.to_string())
}
