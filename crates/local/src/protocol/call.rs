//! One request for an operation.

use std::borrow::Cow;

use bytes::Bytes;
use http::{Request, header};
use percent_encoding::percent_decode_str;
use serde::de::DeserializeOwned;

use super::input::Input;
use super::{AwsError, ErrorKind, Query};

/// A request for an operation of a service.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    /// The operation's name, such as `ReceiveMessage`.
    pub(crate) operation: String,
    pub(super) format: Format<'a>,
    pub(super) input: Result<Input, AwsError>,
    pub(super) request: &'a Request<Bytes>,
    pub(super) unreadable: (ErrorKind, &'static str),
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Format<'a> {
    /// AWS JSON of this version.
    Json(&'static str),
    Cbor,
    /// A form in, XML or JSON out.
    Query(&'a Query, Syntax),
    /// REST JSON, with the status of success.
    Rest(u16),
}

/// The syntax of an answer in the query protocol.
#[derive(Debug, Clone, Copy)]
pub(super) enum Syntax {
    Xml,
    Json,
}

impl Syntax {
    /// Returns JSON if the client accepts it, even among other types. AWS was observed to do this for a GET of SQS. For POST,
    /// CloudWatch and CloudFormation it is an assumption.
    pub(super) fn accepted_by(request: &Request<Bytes>) -> Self {
        let accepted =
            request.headers().get_all(header::ACCEPT).iter().filter_map(|accepted| accepted.to_str().ok());
        let mut media_types = accepted.flat_map(|accepted| accepted.split(',')).map(media_type);
        if media_types.any(|media_type| media_type.eq_ignore_ascii_case("application/json")) {
            Self::Json
        } else {
            Self::Xml
        }
    }
}

/// Returns a media type without its parameters.
fn media_type(range: &str) -> &str {
    range.split(';').next().unwrap_or_default().trim()
}

impl Call<'_> {
    pub(crate) fn input<T: DeserializeOwned>(&self) -> Result<T, AwsError> {
        let (kind, message) = self.unreadable;
        let input = self.input.as_ref().map_err(Clone::clone)?;
        input.read().map_err(|reason| kind.error(message.replace("{}", &reason)))
    }

    /// Returns the host under which the client found the endpoint.
    pub(crate) fn host(&self) -> &str {
        self.header(header::HOST.as_str())
            .or_else(|| self.request.uri().authority().map(|host| host.as_str()))
            .unwrap_or("localhost")
    }

    pub(crate) fn path(&self) -> &str {
        self.request.uri().path()
    }

    /// Returns the access key with which the request is signed.
    /// <https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html>
    pub(crate) fn access_key(&self) -> Option<&str> {
        self.header("authorization")?.split_once("Credential=")?.1.split('/').next()
    }

    /// Returns a header, unless it is empty.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.request.headers().get(name)?.to_str().ok().filter(|value| !value.is_empty())
    }

    /// Returns true if a client sent the request in the query protocol to the URL of a queue.
    pub(crate) fn is_query_at_queue(&self) -> bool {
        matches!(self.format, Format::Query(..)) && is_of_queue(self.path())
    }

    /// Returns the resource in a path of REST JSON, which is the third part in all operations that have one.
    pub(crate) fn subject(&self) -> String {
        parts(self.path()).get(2).map(|part| part.clone().into_owned()).unwrap_or_default()
    }

    pub(crate) fn parameter(&self, name: &str) -> Option<String> {
        let mut all = form_urlencoded::parse(self.request.uri().query().unwrap_or_default().as_bytes());
        all.find(|(known, _)| known == name).map(|(_, value)| value.into_owned())
    }
}

/// Splits a path, such as `/2015-03-31/functions/orders/configuration`, into its parts.
pub(super) fn parts(path: &str) -> Vec<Cow<'_, str>> {
    let parts = path.split('/').filter(|part| !part.is_empty());
    parts.map(|part| percent_decode_str(part).decode_utf8_lossy()).collect()
}

/// Returns true for the path of a queue's URL: an account of twelve digits, and a name.
pub(super) fn is_of_queue(path: &str) -> bool {
    let is_account = |part: &str| part.len() == 12 && part.bytes().all(|byte| byte.is_ascii_digit());
    matches!(parts(path).as_slice(), [account, name] if is_account(account) && redrive_sqs::is_queue_name(name))
}
