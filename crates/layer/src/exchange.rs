//! The Runtime API that one process of the runtime sees.

use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::http::request::Parts;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use crate::lambda::{API, Body, ERROR_BODY, ERROR_TYPE, INVOCATION_ID, Lambda, REQUEST_ID, body};

/// The largest response of a function, in bytes.
/// <https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html>
const LARGEST_RESPONSE: usize = 6_291_556;

/// Most bytes of headers. For an error, a header and the trailer of a streamed response have the whole stack, up to 1 MiB.
const LARGEST_HEADERS: usize = 2 << 20;

/// <https://docs.aws.amazon.com/lambda/latest/dg/runtimes-extensions-api.html>
const REGISTER: &str = "/2020-01-01/extension/register";

/// Requests that Lambda answers itself. Any other request of a process could reach the invocation of the whole batch.
/// <https://docs.aws.amazon.com/lambda/latest/dg/runtimes-extensions-api.html>
/// <https://docs.aws.amazon.com/lambda/latest/dg/telemetry-api.html>
/// <https://docs.aws.amazon.com/lambda/latest/dg/runtimes-logs-api.html>
const PASSED_ON: [(Method, &str); 7] = [
    (Method::POST, REGISTER),
    (Method::GET, "/2020-01-01/extension/event/next"),
    (Method::POST, "/2020-01-01/extension/init/error"),
    (Method::POST, "/2020-01-01/extension/exit/error"),
    (Method::PUT, "/2020-08-15/logs"),
    (Method::PUT, "/2022-07-01/telemetry"),
    (Method::GET, "/2018-06-01/runtime/restore/next"),
];

/// The runtime's request for its next invocation.
#[derive(Debug)]
pub(crate) struct NextRequest {
    pub(crate) headers: HeaderMap,
    pub(crate) answer: oneshot::Sender<Offer>,
}

/// An invocation for the runtime.
#[derive(Debug)]
pub(crate) struct Offer {
    pub(crate) headers: HeaderMap,
    pub(crate) event: Bytes,
}

/// The runtime's answer to an invocation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    Response(Bytes),
    Error(ErrorReport),
    /// The runtime cannot start.
    InitError(ErrorReport),
    /// The answer was passed on to Lambda.
    Passed,
}

/// An error that the runtime reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ErrorReport {
    pub(crate) kind: String,
    pub(crate) message: String,
}

/// Recipient of the answer to the current invocation.
#[derive(Debug, PartialEq, Eq)]
enum Recipient {
    Layer { invocation_id: Option<HeaderValue> },
    Lambda,
}

/// Passes invocations and answers between the server of a process and the handler.
#[derive(Debug)]
pub(crate) struct Exchange {
    lambda: Lambda,
    /// True while Lambda waits for the init of this process.
    is_init: AtomicBool,
    /// True if the process has registered an extension inside of it.
    has_extension: AtomicBool,
    current: Mutex<Option<(HeaderValue, Recipient)>>,
    next_requests: mpsc::Sender<NextRequest>,
    answers: mpsc::Sender<Answer>,
}

/// The handler's end of an exchange, with the server of the process.
#[derive(Debug)]
pub(crate) struct RuntimeApi {
    exchange: Arc<Exchange>,
    pub(crate) next_requests: mpsc::Receiver<NextRequest>,
    pub(crate) answers: mpsc::Receiver<Answer>,
    _server: JoinSet<()>,
}

impl RuntimeApi {
    /// Starts a server, and returns its address too. Dropping the value ends the server.
    pub(crate) async fn start(lambda: Lambda, is_init: bool) -> std::io::Result<(Self, String)> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?.to_string();
        let ((requested, next_requests), (answered, answers)) = (mpsc::channel(1), mpsc::channel(1));
        let is_init = AtomicBool::new(is_init);
        let (has_extension, current) = (AtomicBool::default(), Mutex::default());
        let exchange =
            Exchange { lambda, is_init, has_extension, current, next_requests: requested, answers: answered };
        let exchange = Arc::new(exchange);
        let mut server = JoinSet::new();
        server.spawn(serve(listener, Arc::clone(&exchange)));
        Ok((Self { exchange, next_requests, answers, _server: server }, address))
    }

    /// Gives an invocation to the runtime, whose answer the layer receives. Returns it if the runtime does not listen any more.
    pub(crate) fn offer(&self, request: NextRequest, offer: Offer) -> Option<Offer> {
        let invocation_id = offer.headers.get(&INVOCATION_ID).cloned();
        self.give(request, offer, Recipient::Layer { invocation_id })
    }

    /// Does the same for an invocation whose answer goes to Lambda.
    pub(crate) fn pass(&self, request: NextRequest, offer: Offer) -> Option<Offer> {
        self.give(request, offer, Recipient::Lambda)
    }

    pub(crate) fn has_extension(&self) -> bool {
        self.exchange.has_extension.load(Ordering::Relaxed)
    }

    /// Stops accepting an answer to the current invocation. Returns false if an answer has begun already.
    pub(crate) fn withdraw(&self) -> bool {
        self.exchange.current().take().is_some()
    }

    fn give(&self, request: NextRequest, offer: Offer, recipient: Recipient) -> Option<Offer> {
        let request_id = offer.headers.get(&REQUEST_ID).cloned().unwrap_or(HeaderValue::from_static(""));
        *self.exchange.current() = Some((request_id, recipient));
        self.exchange.is_init.store(false, Ordering::Relaxed);
        request.answer.send(offer).err()
    }
}

async fn serve(listener: TcpListener, exchange: Arc<Exchange>) {
    let mut connections = JoinSet::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else { return };
        // Small messages follow each other closely, and Nagle's algorithm would delay them.
        let _ = stream.set_nodelay(true);
        let exchange = Arc::clone(&exchange);
        let service = service_fn(move |request| {
            let exchange = Arc::clone(&exchange);
            async move { exchange.answer(request).await }
        });
        connections.spawn(async move {
            // The connection ends with the runtime.
            let mut http = http1::Builder::new();
            http.max_header_size(LARGEST_HEADERS).max_buf_size(LARGEST_HEADERS);
            let _ = http.serve_connection(TokioIo::new(stream), service).await;
        });
        while connections.try_join_next().is_some() {}
    }
}

impl Exchange {
    async fn answer(&self, request: Request<Incoming>) -> Result<Response<Body>, String> {
        let (parts, body) = request.into_parts();
        let path = parts.uri.path().strip_prefix(API).unwrap_or_default().to_owned();
        let words: Vec<_> = path.split('/').skip(1).collect();
        match (&parts.method, words.as_slice()) {
            (&Method::GET, ["invocation", "next"]) => Ok(self.next(parts.headers).await),
            (&Method::POST, ["invocation", id, how @ ("response" | "error")]) => {
                match self.take(id, parts.headers.get(&INVOCATION_ID)) {
                    None => Ok(refusal(
                        StatusCode::BAD_REQUEST,
                        "InvalidRequestID",
                        "the request id is not that of the current invocation",
                    )),
                    Some(Recipient::Lambda) => {
                        let response = self.lambda.pass_on(parts, body).await;
                        self.report(Answer::Passed).await;
                        response
                    }
                    Some(Recipient::Layer { .. }) => self.ended(*how == "error", &parts, body).await,
                }
            }
            (&Method::POST, ["init" | "restore", "error"]) if self.is_init.load(Ordering::Relaxed) => {
                let response = self.lambda.pass_on(parts, body).await;
                self.report(Answer::Passed).await;
                response
            }
            (&Method::POST, ["init" | "restore", "error"]) => {
                let (report, _) = read(body).await?;
                self.report(Answer::InitError(ErrorReport::of(&parts.headers, &report))).await;
                Ok(accepted())
            }
            // Lambda has restored the snapshot already.
            (&Method::GET, ["restore", "next"]) if !self.is_init.load(Ordering::Relaxed) => {
                Ok(respond(StatusCode::OK, &json!({})))
            }
            (method, _) if !PASSED_ON.contains(&(method.clone(), parts.uri.path())) => {
                let message = format!("redrive does not pass {method} {} on to Lambda", parts.uri.path());
                Ok(refusal(StatusCode::NOT_FOUND, "NotFound", &message))
            }
            _ => {
                let registers = parts.uri.path() == REGISTER;
                let response = self.lambda.pass_on(parts, body).await?;
                self.has_extension.fetch_or(registers && response.status().is_success(), Ordering::Relaxed);
                Ok(response)
            }
        }
    }

    async fn next(&self, headers: HeaderMap) -> Response<Body> {
        let (answer, offer) = oneshot::channel();
        let _ = self.next_requests.send(NextRequest { headers, answer }).await;
        let Ok(Offer { headers, event }) = offer.await else {
            return refusal(StatusCode::FORBIDDEN, "InvalidStateTransition", "another request waits already");
        };
        let mut response = Response::new(body(event));
        *response.headers_mut() = headers;
        response
    }

    async fn ended(&self, is_error: bool, parts: &Parts, body: Incoming) -> Result<Response<Body>, String> {
        let (bytes, trailers) = match read(body).await {
            Ok(read) => read,
            Err(message) => {
                let kind = "Function.TruncatedResponse".to_owned();
                self.report(Answer::Error(ErrorReport { kind, message: message.clone() })).await;
                return Err(message);
            }
        };
        if bytes.len() > LARGEST_RESPONSE {
            let message = format!("the response is larger than {LARGEST_RESPONSE} bytes");
            let refused = refusal(StatusCode::PAYLOAD_TOO_LARGE, "RequestEntityTooLarge", &message);
            let kind = "Function.ResponseSizeTooLarge".to_owned();
            self.report(Answer::Error(ErrorReport { kind, message })).await;
            return Ok(refused);
        }
        // A streamed response ends with its error.
        let streamed = trailers.filter(|trailers| trailers.contains_key(&ERROR_TYPE));
        self.report(match (is_error, streamed) {
            (true, _) => Answer::Error(ErrorReport::of(&parts.headers, &bytes)),
            (false, Some(trailers)) => Answer::Error(ErrorReport::streamed(&trailers)),
            (false, None) => Answer::Response(bytes),
        })
        .await;
        Ok(accepted())
    }

    async fn report(&self, answer: Answer) {
        // Nobody listens to a process that is given up.
        let _ = self.answers.send(answer).await;
    }

    /// Takes the recipient of an answer, if it answers the current invocation.
    fn take(&self, request_id: &str, invocation_id: Option<&HeaderValue>) -> Option<Recipient> {
        let is_current = |(current, recipient): &mut (HeaderValue, Recipient)| {
            let is_same = match recipient {
                Recipient::Layer { invocation_id: current } => {
                    invocation_id.is_none() || invocation_id == current.as_ref()
                }
                Recipient::Lambda => true,
            };
            is_same && current == request_id
        };
        self.current().take_if(is_current).map(|(_, recipient)| recipient)
    }

    fn current(&self) -> std::sync::MutexGuard<'_, Option<(HeaderValue, Recipient)>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads a body to its end. If it is larger than a response may be, keeps only as much as shows this.
///
/// # Errors
/// The runtime ended before the body did.
async fn read(mut body: Incoming) -> Result<(Bytes, Option<HeaderMap>), String> {
    let (mut bytes, mut trailers) = (Vec::new(), None);
    while let Some(frame) = body.frame().await {
        match frame.map_err(|error| error.to_string())?.into_data() {
            Ok(data) if bytes.len() <= LARGEST_RESPONSE => bytes.extend_from_slice(&data),
            Ok(_) => {}
            Err(frame) => trailers = frame.into_trailers().ok(),
        }
    }
    Ok((bytes.into(), trailers))
}

/// Number of invocations of this environment that were numbered.
static NUMBERED: AtomicU64 = AtomicU64::new(0);

impl Offer {
    /// Gives the invocation its own ids. Messages of a batch share Lambda's request id, so a late answer to one would count for the next.
    pub(crate) fn numbered(mut self) -> Self {
        let number = NUMBERED.fetch_add(1, Ordering::Relaxed) + 1;
        let of_lambda = self.headers.get(&REQUEST_ID).and_then(|id| id.to_str().ok()).unwrap_or_default();
        let request_id = HeaderValue::try_from(format!("{of_lambda}-{number}"));
        self.headers.insert(REQUEST_ID, request_id.expect("both parts are ASCII"));
        self.headers.insert(INVOCATION_ID, HeaderValue::from(number));
        self
    }
}

impl ErrorReport {
    pub(crate) fn unanswered() -> Self {
        let message = "the runtime asked for the next invocation without an answer to this one".to_owned();
        Self { kind: "Runtime.NoAnswer".to_owned(), message }
    }

    fn streamed(trailers: &HeaderMap) -> Self {
        let body = trailers.get(&ERROR_BODY).and_then(|body| STANDARD.decode(body).ok());
        Self::of(trailers, &body.unwrap_or_default())
    }

    /// Reads an error report from the body, else from the headers.
    fn of(headers: &HeaderMap, body: &[u8]) -> Self {
        #[derive(Deserialize, Default)]
        #[serde(rename_all = "camelCase", default)]
        struct Reported {
            error_type: Value,
            error_message: Value,
        }
        let text = |value: Value| match value {
            Value::String(text) => Some(text).filter(|text| !text.is_empty()),
            Value::Null => None,
            value => Some(value.to_string()),
        };
        let reported = serde_json::from_slice::<Reported>(body);
        let is_json = reported.is_ok();
        let Reported { error_type, error_message } = reported.unwrap_or_default();
        let of_header = headers.get(&ERROR_TYPE).and_then(|kind| kind.to_str().ok());
        let kind = text(error_type).unwrap_or_else(|| of_header.unwrap_or("Runtime.Unknown").to_owned());
        let beginning = || String::from_utf8_lossy(&body[..body.len().min(1_024)]).into_owned();
        let message = match is_json {
            true => text(error_message).unwrap_or_default(),
            false => beginning(),
        };
        Self { kind, message }
    }
}

fn accepted() -> Response<Body> {
    respond(StatusCode::ACCEPTED, &json!({ "status": "OK" }))
}

fn refusal(status: StatusCode, kind: &str, message: &str) -> Response<Body> {
    respond(status, &json!({ "errorType": kind, "errorMessage": message }))
}

fn respond(status: StatusCode, content: &Value) -> Response<Body> {
    let mut response = Response::new(body(content.to_string().into()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
