//! The HTTP server that messages are posted to.

use std::collections::HashSet;
use std::error::Error;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, bail};
use bytes::Bytes;
use http::header::{
    CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER, TRANSFER_ENCODING,
    USER_AGENT,
};
use http::uri::PathAndQuery;
use http::{Extensions, Method, Request, StatusCode, Uri, Version};
use http_body_util::{BodyExt, Full};
use hyper::body::{Body as _, Incoming};
use hyper_util::client::legacy::connect::{CaptureConnection, HttpConnector, HttpInfo, capture_connection};
use hyper_util::client::legacy::{self as client, Client};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::answer::{Answer, Response};
use crate::span;
use crate::tell::tell;

/// Time after which an idle connection is closed. Servers close them too: gunicorn after 2 s, Node after 5 s. A request that is
/// sent meanwhile is lost.
const IDLE: Duration = Duration::from_secs(1);
/// Timeout of a connection.
const CONNECT: Duration = Duration::from_secs(5);
/// Interval of probes on an idle connection, so that a request to a host that is gone ends.
const KEEPALIVE: Duration = Duration::from_secs(30);
/// Time for an app to get ready.
const READY: Duration = Duration::from_secs(300);
/// Interval of checks until it is ready.
const LOOK: Duration = Duration::from_millis(250);
/// Time that requests wait for an app that refuses connections, such as one that restarts.
const AWAY: Duration = Duration::from_secs(60);
/// Interval of checks until it is back.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Timeout of a request: SQS's own limit for a message.
const LONGEST: Duration = Duration::from_secs(12 * 3_600);
/// User agent. Apps recognize Elastic Beanstalk's daemon by its start.
const AGENT: &str = concat!("aws-sqsd redrive/", env!("CARGO_PKG_VERSION"));

/// A server, and the settings of all requests.
#[derive(Debug, Clone)]
pub(super) struct App {
    client: Client<HttpConnector, Full<Bytes>>,
    uri: Uri,
    version: Version,
    headers: HeaderMap,
    time_limit: Option<Duration>,
    /// Path that it answers with 2xx once it is ready.
    ready: Option<PathAndQuery>,
    /// Local addresses of the connections that had responses.
    used: Arc<Mutex<HashSet<SocketAddr>>>,
    /// Time since which it refuses connections.
    away_since: Arc<Mutex<Option<Instant>>>,
    /// True once a signal has ended the worker.
    is_ending: watch::Receiver<bool>,
}

/// The use of a response's body, which decides how much of it is read, and for how long.
#[derive(Debug, Clone, Copy)]
pub(super) enum Body {
    /// Only the status matters.
    Unimportant,
    /// The body is the result.
    Result,
}

impl Body {
    const fn most(self) -> usize {
        match self {
            Self::Unimportant => 64 * 1_024,
            Self::Result => 1_024 * 1_024,
        }
    }

    /// Returns the time for the body. An app may begin a response before it has a result.
    const fn time(self) -> Duration {
        match self {
            Self::Unimportant => Duration::from_secs(1),
            Self::Result => LONGEST,
        }
    }
}

/// Parses a URL.
pub(super) fn url(text: &str) -> Result<Uri, String> {
    let is_plain = |uri: &Uri| {
        let host = uri.host().unwrap_or_default();
        let port = uri.port_u16().map_or(String::new(), |port| format!(":{port}"));
        // This excludes a user name, and a port out of range.
        let is_whole = uri.authority().is_some_and(|authority| authority.as_str() == format!("{host}{port}"));
        uri.scheme_str() == Some("http") && !host.is_empty() && is_whole
    };
    text.parse().ok().filter(is_plain).ok_or_else(|| "allowed: http://HOST:PORT/PATH".to_owned())
}

/// Parses a path.
pub(super) fn path(text: &str) -> Result<PathAndQuery, String> {
    let path = text.parse().ok().filter(|_| text.starts_with('/'));
    path.ok_or_else(|| "allowed: a path that begins with /".to_owned())
}

impl App {
    pub(super) fn new(
        uri: Uri,
        version: Version,
        content_type: HeaderValue,
        queue: &str,
        time_limit: Option<Duration>,
        ready: Option<PathAndQuery>,
        is_ending: watch::Receiver<bool>,
    ) -> anyhow::Result<Self> {
        let mut connector = HttpConnector::new();
        connector.set_connect_timeout(Some(CONNECT));
        connector.set_nodelay(true);
        connector.set_keepalive(Some(KEEPALIVE));
        let client = Client::builder(TokioExecutor::new())
            .pool_idle_timeout(IDLE)
            .pool_timer(TokioTimer::new())
            .http2_only(version == Version::HTTP_2)
            .build(connector);
        let headers = HeaderMap::from_iter([
            (CONTENT_TYPE, content_type),
            (USER_AGENT, HeaderValue::from_static(AGENT)),
            (HeaderName::from_static("x-aws-sqsd-queue"), HeaderValue::from_str(queue)?),
        ]);
        let (used, away_since) = (Arc::default(), Arc::default());
        Ok(Self { client, uri, version, headers, time_limit, ready, used, away_since, is_ending })
    }

    /// Waits until the app accepts connections, and answers its path with 2xx if there is one.
    ///
    /// # Errors
    /// It was not ready within five minutes.
    pub(super) async fn ready(&self) -> anyhow::Result<()> {
        let (begun, mut has_waited) = (Instant::now(), false);
        while let Err(error) = self.look().await {
            if begun.elapsed() > READY {
                bail!("{} is not ready after {}: {error:#}", self.uri, span::words(READY));
            }
            if !std::mem::replace(&mut has_waited, true) {
                tell(format_args!("redrive: waiting until {} is ready: {error:#}", self.uri));
            }
            sleep(LOOK).await;
        }
        if has_waited {
            tell(format_args!("redrive: {} is ready after {}", self.uri, span::words(begun.elapsed())));
        }
        Ok(())
    }

    /// Waits until an app that refuses connections is ready, for a minute in all, and not while the worker ends.
    async fn is_back(&self, error: &str) -> bool {
        let since = *self.away_since().get_or_insert_with(|| {
            tell(format_args!("redrive: waiting for the app: {error}"));
            Instant::now()
        });
        let back = async {
            loop {
                sleep(LOOK_AGAIN).await;
                if self.look().await.is_ok() {
                    return;
                }
            }
        };
        let mut is_ending = self.is_ending.clone();
        tokio::select! {
            biased;
            _ = is_ending.wait_for(|is_ending| *is_ending) => false,
            waited = timeout_at(since + AWAY, back) => waited.is_ok(),
        }
    }

    fn away_since(&self) -> MutexGuard<'_, Option<Instant>> {
        self.away_since.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn look(&self) -> anyhow::Result<()> {
        let stream = self.connect().await?;
        if self.version == Version::HTTP_2 {
            timeout(CONNECT, speak_http2(stream)).await.context("no HTTP/2 response")??;
        }
        let Some(path) = &self.ready else { return Ok(()) };
        let mut parts = self.uri.clone().into_parts();
        parts.path_and_query = Some(path.clone());
        let response = timeout(CONNECT, self.client.get(Uri::from_parts(parts)?)).await;
        match response.context("no response")? {
            Ok(response) if response.status().is_success() => Ok(()),
            Ok(response) => bail!("{path} answers with HTTP {}", response.status().as_u16()),
            Err(error) => bail!("{}", cause(&error)),
        }
    }

    async fn connect(&self) -> io::Result<TcpStream> {
        let host = self.uri.host().unwrap_or_default().trim_matches(['[', ']']);
        let port = self.uri.port_u16().unwrap_or(80);
        timeout(CONNECT, TcpStream::connect((host, port))).await?
    }

    /// Posts a request and returns the answer. Waits first if the app is away. Closes the connection if the future is dropped.
    pub(super) async fn post(&self, headers: HeaderMap, body: impl Into<Bytes>, wanted: Body) -> Answer {
        let mut request = Request::new(Full::new(body.into()));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.uri.clone();
        *request.headers_mut() = headers;
        request.headers_mut().extend(self.headers.clone());
        loop {
            let exchange = self.exchange(request.clone(), wanted);
            let answer = match self.time_limit {
                None => exchange.await,
                Some(limit) => timeout(limit, exchange).await.unwrap_or(Answer::TimedOut(limit)),
            };
            // If the app is away, no request has reached it.
            let Answer::Away(error) = &answer else {
                if let Some(since) = self.away_since().take() {
                    tell(format_args!("redrive: the app is back after {}", span::words(since.elapsed())));
                }
                return answer;
            };
            if !self.is_back(error).await {
                return answer;
            }
        }
    }

    async fn exchange(&self, request: Request<Full<Bytes>>, wanted: Body) -> Answer {
        let (mut first, again) = (request.clone(), request);
        let connection = capture_connection(&mut first);
        let response = match self.client.request(first).await {
            // The server may have closed an idle connection before the request arrived.
            Err(error) if is_closed(&error) && self.was_used(&connection) => self.client.request(again).await,
            response => response,
        };
        let response = match response {
            Ok(response) => response,
            Err(error) => return self.lost(&error),
        };
        if let Some(connection) = response.extensions().get::<HttpInfo>() {
            self.used().insert(connection.local_addr());
        }
        let (head, body) = response.into_parts();
        let retry_after = head.headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok());
        let retry_after = retry_after.map(str::to_owned);
        let status = head.status.as_u16();
        if matches!(wanted, Body::Unimportant) && head.status.is_success() {
            // The rest is read only to use the connection again.
            if !body.is_end_stream() {
                tokio::spawn(read(body, wanted));
            }
            return Answer::Response(Response { status, retry_after, body: Vec::new(), is_complete: true });
        }
        // Without any of these, the body of a server that dies ends like a complete one.
        let has_end = head.version == Version::HTTP_2
            || head.status == StatusCode::NO_CONTENT
            || head.headers.contains_key(CONTENT_LENGTH)
            || head.headers.contains_key(TRANSFER_ENCODING);
        let (body, is_complete) = read(body, wanted).await;
        Answer::Response(Response { status, retry_after, body, is_complete: is_complete && has_end })
    }

    /// Returns true if a failed connection had responses before.
    fn was_used(&self, connection: &CaptureConnection) -> bool {
        let mut about = Extensions::new();
        connection.connection_metadata().iter().for_each(|connected| connected.get_extras(&mut about));
        about.get::<HttpInfo>().is_some_and(|connection| self.used().remove(&connection.local_addr()))
    }

    fn used(&self) -> MutexGuard<'_, HashSet<SocketAddr>> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Interprets a failed request. An app that refuses connections is away. If it closes the connection of a request, or sends an
    /// unreadable header, the request's messages may be at fault.
    fn lost(&self, error: &client::Error) -> Answer {
        let cause = cause(error);
        if error.is_connect() {
            return Answer::Away(format!("{}: {cause}", self.uri));
        }
        let hyper = error.source().and_then(|source| source.downcast_ref::<hyper::Error>());
        match hyper {
            // Other parse errors may depend on the message.
            Some(hyper) if hyper.is_parse() && hyper.to_string().contains("version") => {
                Answer::Foreign(format!("the app does not speak HTTP: {cause}"))
            }
            Some(hyper) if hyper.is_parse() => {
                Answer::Broken(format!("the app does not speak HTTP: {cause}"))
            }
            _ => Answer::Broken(format!("the app closed the connection: {cause}")),
        }
    }
}

/// Checks that the server speaks HTTP/2: it then begins with its settings.
/// <https://www.rfc-editor.org/rfc/rfc9113#section-3.4>
async fn speak_http2(mut stream: TcpStream) -> anyhow::Result<()> {
    const SETTINGS: u8 = 4;
    stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await?;
    stream.write_all(&[0, 0, 0, SETTINGS, 0, 0, 0, 0, 0]).await?;
    let mut head = [0; 9];
    let read = stream.read_exact(&mut head).await;
    if read.is_ok() && head[3] == SETTINGS { Ok(()) } else { bail!("it does not speak HTTP/2") }
}

/// Returns true if the connection ended before a response.
fn is_closed(error: &client::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionReset};
    let is_end = |error: &(dyn Error + 'static)| {
        error.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_incomplete_message)
            || error
                .downcast_ref::<io::Error>()
                .is_some_and(|it| [BrokenPipe, ConnectionReset].contains(&it.kind()))
    };
    std::iter::successors(error.source(), |error| (*error).source()).any(is_end)
}

/// Reads the wanted part of a body, and returns whether it is complete.
async fn read(mut body: Incoming, wanted: Body) -> (Vec<u8>, bool) {
    let mut bytes = Vec::new();
    let until = Instant::now() + wanted.time();
    while let Ok(frame) = timeout_at(until, body.frame()).await {
        match frame {
            None => return (bytes, true),
            Some(Err(_)) => break,
            Some(Ok(frame)) => bytes.extend(frame.into_data().unwrap_or_default()),
        }
        if bytes.len() > wanted.most() {
            break;
        }
    }
    (bytes, false)
}

/// Describes the cause without the client's own words.
fn cause(error: &client::Error) -> String {
    let causes = std::iter::successors(error.source(), |error| (*error).source());
    let texts: Vec<_> = causes.map(ToString::to_string).collect();
    if texts.is_empty() { error.to_string() } else { texts.join(": ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_has_no_user_and_no_tls() {
        for right in ["http://127.0.0.1:8080/", "http://app/sqs?x=1", "http://[::1]:8080"] {
            assert!(url(right).is_ok(), "{right}");
        }
        for wrong in [
            "",
            "127.0.0.1:8080",
            "https://app/",
            "http://",
            "http:///x",
            "http://me@app/",
            "http://127.0.0.1:80800/",
            "http://app:/",
            "/x",
            "http://a b/",
        ] {
            assert!(url(wrong).is_err_and(|error| error.contains("allowed: http://")), "{wrong}");
        }
        assert!(path("/ready?x=1").is_ok());
        assert!(["", "ready", "http://app/ready"].into_iter().all(|wrong| path(wrong).is_err()));
    }
}
