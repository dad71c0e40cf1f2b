//! The client of Lambda's Runtime API.
//! <https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html>

use std::fmt;

use bytes::Bytes;
use http_body_util::{BodyExt, Either, Full};
use hyper::body::Incoming;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Method, Request, Response};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;

/// Bytes in memory, or a stream that is passed on.
pub(crate) type Body = Either<Full<Bytes>, Incoming>;

pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("lambda-runtime-aws-request-id");
pub(crate) const DEADLINE: HeaderName = HeaderName::from_static("lambda-runtime-deadline-ms");
pub(crate) const ERROR_TYPE: HeaderName = HeaderName::from_static("lambda-runtime-function-error-type");
/// A trailer with an error report in base64.
pub(crate) const ERROR_BODY: HeaderName = HeaderName::from_static("lambda-runtime-function-error-body");
/// Runtime clients return it with the answer.
pub(crate) const INVOCATION_ID: HeaderName = HeaderName::from_static("lambda-runtime-invocation-id");
pub(crate) const API: &str = "/2018-06-01/runtime";

/// Headers that belong to one connection and are not passed on.
const HOP_BY_HOP: [HeaderName; 6] = [
    header::CONNECTION,
    header::CONTENT_LENGTH,
    header::EXPECT,
    header::HOST,
    HeaderName::from_static("keep-alive"),
    header::TRANSFER_ENCODING,
];

/// An invocation as Lambda sends it.
#[derive(Debug, Clone)]
pub(crate) struct Invocation {
    pub(crate) headers: HeaderMap,
    pub(crate) payload: Bytes,
}

impl Invocation {
    pub(crate) fn header(&self, name: &HeaderName) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

/// A client of Lambda's Runtime API.
#[derive(Clone)]
pub(crate) struct Lambda {
    client: Client<HttpConnector, Body>,
    /// URL of the API, such as `http://127.0.0.1:9001`.
    base: String,
}

impl Lambda {
    /// Creates a client for the value of `AWS_LAMBDA_RUNTIME_API`.
    pub(crate) fn at(address: &str) -> Self {
        let base = if address.contains("://") { address.to_owned() } else { format!("http://{address}") };
        let client = Client::builder(TokioExecutor::new()).build_http();
        Self { client, base: base.trim_end_matches('/').to_owned() }
    }

    /// Waits for the next invocation. `headers` are those with which the runtime asked for it.
    pub(crate) async fn next(&self, headers: &HeaderMap) -> Result<Invocation, String> {
        let path = format!("{API}/invocation/next");
        let response = self.send(Method::GET, &path, headers.clone(), body(Bytes::new())).await?;
        let (parts, payload) = response.into_parts();
        let payload = payload.collect().await.map_err(|error| failed(&error))?.to_bytes();
        if !parts.status.is_success() {
            return Err(format!("Lambda answered {} to {path}", parts.status));
        }
        for name in [REQUEST_ID, DEADLINE] {
            if !parts.headers.contains_key(&name) {
                return Err(format!("Lambda sent an invocation without the header {name}"));
            }
        }
        Ok(Invocation { headers: end_to_end(parts.headers), payload })
    }

    /// Answers an invocation. If Lambda refuses the answer, this is only logged.
    pub(crate) async fn respond(&self, to: &Invocation, response: Bytes) -> Result<(), String> {
        self.answer(to, "response", response, HeaderMap::new()).await
    }

    /// Fails an invocation.
    pub(crate) async fn fail(&self, to: &Invocation, kind: &str, message: &str) -> Result<(), String> {
        let (report, headers) = report(kind, message);
        self.answer(to, "error", report, headers).await
    }

    async fn answer(
        &self,
        to: &Invocation,
        how: &str,
        report: Bytes,
        mut headers: HeaderMap,
    ) -> Result<(), String> {
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.extend(to.headers.get(&INVOCATION_ID).map(|id| (INVOCATION_ID, id.clone())));
        let id = to.header(&REQUEST_ID).unwrap_or_default();
        let path = format!("{API}/invocation/{id}/{how}");
        let response = self.send(Method::POST, &path, headers, body(report)).await?;
        if !response.status().is_success() {
            tracing::error!(
                request_id = id,
                status = response.status().as_u16(),
                "Lambda refused the answer"
            );
        }
        // Reads the rest, so that the connection can be used again.
        response.into_body().collect().await.map_err(|error| failed(&error))?;
        Ok(())
    }

    /// Reports that the process cannot start.
    pub(crate) async fn fail_init(&self, kind: &str, message: &str) -> Result<(), String> {
        let (report, headers) = report(kind, message);
        self.send(Method::POST, &format!("{API}/init/error"), headers, body(report)).await.map(drop)
    }

    /// Sends a request of the runtime as it is, and returns Lambda's response as it is.
    pub(crate) async fn pass_on(&self, parts: Parts, body: Incoming) -> Result<Response<Body>, String> {
        let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
        let response = self.send(parts.method, path, parts.headers, Either::Right(body)).await?;
        let (mut parts, body) = response.into_parts();
        parts.headers = end_to_end(parts.headers);
        Ok(Response::from_parts(parts, Either::Right(body)))
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        headers: HeaderMap,
        body: Body,
    ) -> Result<Response<Incoming>, String> {
        let mut request = Request::new(body);
        *request.method_mut() = method;
        let uri = format!("{}{path}", self.base);
        *request.uri_mut() =
            uri.parse().map_err(|error| format!("AWS_LAMBDA_RUNTIME_API: {uri}: {error}"))?;
        *request.headers_mut() = end_to_end(headers);
        self.client.request(request).await.map_err(|error| failed(&error))
    }
}

impl fmt::Debug for Lambda {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lambda").field("base", &self.base).finish_non_exhaustive()
    }
}

pub(crate) fn body(bytes: Bytes) -> Body {
    Either::Left(Full::new(bytes))
}

/// Returns the body and the headers of an error report.
fn report(kind: &str, message: &str) -> (Bytes, HeaderMap) {
    let report = serde_json::json!({ "errorType": kind, "errorMessage": message }).to_string();
    let kind = HeaderValue::from_str(kind).ok();
    (report.into(), kind.map(|kind| (ERROR_TYPE, kind)).into_iter().collect())
}

fn end_to_end(mut headers: HeaderMap) -> HeaderMap {
    HOP_BY_HOP.iter().for_each(|name| drop(headers.remove(name)));
    headers
}

fn failed(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source()).map(ToString::to_string);
    format!("Lambda's Runtime API: {}", causes.collect::<Vec<_>>().join(": "))
}
