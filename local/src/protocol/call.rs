//! One request for an operation.

use std::borrow::Cow;

use bytes::Bytes;
use http::{Request, header};
use percent_encoding::percent_decode_str;
use serde::de::DeserializeOwned;

use super::input::Input;
use super::query::Query;
use super::{AwsError, ErrorKind};

/// A request for an operation of a service.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    /// The operation's name, as in `ReceiveMessage`.
    pub(crate) operation: String,
    pub(super) format: Format<'a>,
    pub(super) input: Result<Input, AwsError>,
    pub(super) request: &'a Request<Bytes>,
    pub(super) unreadable: (ErrorKind, &'static str),
}

/// How an answer is written.
#[derive(Debug, Clone, Copy)]
pub(super) enum Format<'a> {
    /// AWS JSON of this version.
    Json(&'static str),
    Cbor,
    Query(&'a Query),
    /// REST JSON, with the status of success.
    Rest(u16),
}

impl Call<'_> {
    pub(crate) fn input<T: DeserializeOwned>(&self) -> Result<T, AwsError> {
        let (kind, message) = self.unreadable;
        let input = self.input.as_ref().map_err(Clone::clone)?;
        input.read().map_err(|reason| kind.error(message.replace("{}", &reason)))
    }

    /// Where the client has found the endpoint.
    pub(crate) fn host(&self) -> &str {
        let host = self.request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
        host.or_else(|| self.request.uri().authority().map(|host| host.as_str())).unwrap_or("localhost")
    }

    pub(crate) fn path(&self) -> &str {
        self.request.uri().path()
    }

    /// What a path of REST JSON is about: its third part, in all operations that have one.
    pub(crate) fn subject(&self) -> String {
        parts(self.path()).get(2).map(|part| part.clone().into_owned()).unwrap_or_default()
    }

    /// A parameter of the URL.
    pub(crate) fn parameter(&self, name: &str) -> Option<String> {
        let mut all = form_urlencoded::parse(self.request.uri().query().unwrap_or_default().as_bytes());
        all.find(|(known, _)| known == name).map(|(_, value)| value.into_owned())
    }
}

/// A path, such as `/2015-03-31/functions/orders/configuration`, as the parts of it.
pub(super) fn parts(path: &str) -> Vec<Cow<'_, str>> {
    let parts = path.split('/').filter(|part| !part.is_empty());
    parts.map(|part| percent_decode_str(part).decode_utf8_lossy()).collect()
}
