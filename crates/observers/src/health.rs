//! `/livez`, `/readyz` and `/metrics` over HTTP/1.1, for probes and for Prometheus.

mod clients;

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use http_body_util::Full;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::time::sleep;

use self::clients::{Clients, Seat};
use crate::vitals::WorkerGroup;

/// Time in which a client must send the headers of its request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(2);

/// Time in which the client must then read the answer.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(3);

/// Most bytes of a request before its body, which nobody reads.
const MAX_REQUEST_BYTES: usize = 16 * 1024;

/// Connections that may wait to be accepted. Beyond it, Linux drops a client's first packet. The client repeats it after a
/// second, too late for a probe. The 128 of [`TcpListener::bind`] are full within a few milliseconds of a flood.
const LISTEN_BACKLOG: u32 = 4_096;

/// Pause after a connection could not be accepted, for example because file descriptors ran out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

const JSON: &str = "application/json";
const TEXT: &str = "text/plain; charset=utf-8";
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Listens at once, in the context of a runtime. Returns a future that answers requests and never ends.
///
/// # Errors
/// It cannot listen on the address. The error names the address and the setting.
pub fn serve(address: SocketAddr, workers: &WorkerGroup) -> io::Result<impl Future<Output = ()> + Send> {
    Ok(answer_all(listen(address)?, workers))
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let bound = || {
        let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
        // As `TcpListener::bind` does. Otherwise, a restarted worker waits for the connections of the last one.
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        socket.listen(LISTEN_BACKLOG)
    };
    bound().map_err(|error| {
        let text = format!("REDRIVE_HEALTH is {address}, which cannot be listened on: {error}");
        io::Error::new(error.kind(), text)
    })
}

async fn answer_all(listener: TcpListener, workers: &WorkerGroup) {
    let (mut open, mut clients) = (FuturesUnordered::new(), Clients::default());
    loop {
        tokio::select! {
            // Ends connections before it accepts others, so that there are never more connections than seats.
            biased;
            Some(left) = open.next() => clients.free(left),
            accepted = listener.accept() => match accepted {
                Ok((stream, from)) => open.push(answer_one(stream, clients.seat(from.ip()), workers)),
                Err(_) => sleep(ACCEPT_PAUSE).await,
            },
        }
    }
}

/// Answers one request and ends the connection, so that no client keeps it for longer than a request may take. Returns the number
/// of the seat.
async fn answer_one(stream: TcpStream, seat: Seat, workers: &WorkerGroup) -> u64 {
    let Seat { number, has_asked, mut lost } = seat;
    let service = service_fn(|request| {
        has_asked.store(true, Ordering::Relaxed);
        async move { Ok::<_, Infallible>(answer(&request, workers)) }
    });
    let mut http = http1::Builder::new();
    let connection = http
        .keep_alive(false)
        .max_buf_size(MAX_REQUEST_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    let is_slow = async {
        sleep(REQUEST_TIMEOUT).await;
        if has_asked.load(Ordering::Relaxed) {
            sleep(RESPONSE_TIMEOUT).await;
        }
    };
    tokio::select! {
        // Ignores clients that leave or are too slow.
        _ = connection => {}
        () = is_slow => {}
        _ = &mut lost => {}
    }
    number
}

fn answer<B>(request: &Request<B>, workers: &WorkerGroup) -> Response<Full<Bytes>> {
    let path = request.uri().path();
    if !matches!(path, "/livez" | "/readyz" | "/metrics") {
        return text(StatusCode::NOT_FOUND, TEXT, "not found; known: /livez, /readyz, /metrics\n");
    }
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let mut response = text(StatusCode::METHOD_NOT_ALLOWED, TEXT, "allowed: GET, HEAD\n");
        response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return response;
    }
    if path == "/metrics" {
        return text(StatusCode::OK, OPEN_METRICS, workers.open_metrics());
    }
    let liveness = workers.liveness();
    let is_good = if path == "/livez" { liveness.is_alive } else { liveness.is_ready };
    let status = if is_good { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let body = serde_json::to_string(&liveness).expect("it is made of numbers and booleans");
    text(status, JSON, body + "\n")
}

fn text(status: StatusCode, kind: &'static str, body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

#[cfg(test)]
mod tests;
