//! The gate of every server on this machine: decides which clients may call, and how long a request may take.

mod guard;

use std::convert::Infallible;
use std::io::{self, ErrorKind};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use futures_util::{StreamExt, stream};
use http::{HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

/// Serves these routes to programs of this machine only, until it is dropped.
///
/// Requests from web pages of other sites get a 403 and reach no route. A request's `Host` must be `localhost` or a
/// loopback address, its `Origin`, if it has one, that of the host, and its `Sec-Fetch-Site`, if it has one, `none` or
/// `same-origin`. A connection is closed if its first request does not arrive within 10 s, the next one within 120 s,
/// or the next part of a body within 30 s.
pub async fn serve(listener: TcpListener, routes: Router) {
    serve_within(LIMITS, listener, routes, Callers::default()).await;
}

/// Serves these routes to clients on other machines too, which call this one by one of these names.
///
/// A browser marks what a page does to a name that is not `localhost` only by an `Origin`, which images have not and people can
/// turn off. So a request by such a name needs a signature of AWS, unless it reads a `public` path.
pub(crate) async fn serve_hosts(
    listener: TcpListener,
    routes: Router,
    hosts: Vec<String>,
    public: &'static [&'static str],
) {
    serve_within(LIMITS, listener, routes, Callers { hosts: hosts.into(), public, on_link: None }).await;
}

/// Serves a page to which other sites may link. A browser that follows such a link to `/` gets the answer of `on_link`.
pub async fn serve_page(listener: TcpListener, routes: Router, on_link: OnLink) {
    serve_within(LIMITS, listener, routes, Callers { on_link: Some(on_link), ..Callers::default() }).await;
}

/// The clients beside those of this machine, and those that follow a link.
#[derive(Debug, Clone, Default)]
struct Callers {
    /// Names by which clients on other machines call this one.
    hosts: Arc<[String]>,
    /// The paths that these may read without a signature.
    public: &'static [&'static str],
    on_link: Option<OnLink>,
}

/// A function that returns the page which asks whether to follow a link.
pub type OnLink = fn() -> Response<Body>;

#[derive(Debug, Clone, Copy)]
struct Limits {
    /// Limit of its first request, without the body.
    first: Duration,
    /// Limit of each later request: more than the 90 s for which clients keep idle connections. So clients close them, and no
    /// request meets a closing connection.
    next: Duration,
    /// Limit of the next part of a body.
    part: Duration,
}

const LIMITS: Limits =
    Limits { first: Duration::from_secs(10), next: Duration::from_secs(120), part: Duration::from_secs(30) };

/// Limit of a first request while the process has no file descriptor left for another client.
const CROWDED_LIMIT: Duration = Duration::from_millis(500);

/// Pause before the next try to accept a client.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

async fn serve_within(limits: Limits, listener: TcpListener, routes: Router, callers: Callers) {
    let routes = TowerToHyperService::new(routes);
    let crowd = Arc::new(Notify::new());
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(serve_connection(limits, stream, routes.clone(), Arc::clone(&crowd), callers.clone()));
                }
                Err(error) if is_of_one_client(&error) => (),
                Err(_) => {
                    crowd.notify_waiters();
                    sleep(ACCEPT_PAUSE).await;
                }
            },
            Some(_) = connections.join_next() => (),
        }
    }
}

fn is_of_one_client(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::ConnectionRefused | ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset
    )
}

/// Serves a connection. Idle clients are disconnected when there is no room.
async fn serve_connection(
    limits: Limits,
    stream: TcpStream,
    routes: TowerToHyperService<Router>,
    crowd: Arc<Notify>,
    callers: Callers,
) {
    let (opened, asked) = (Instant::now(), AtomicBool::new(false));
    let has_asked = || asked.load(Ordering::Relaxed);
    let service = service_fn(|request| {
        asked.store(true, Ordering::Relaxed);
        answer(&routes, request, limits.part, &callers)
    });
    let mut server = http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(limits.next);
    let mut connection = pin!(server.serve_connection(TokioIo::new(stream), service));
    let mut patience = pin!(sleep(limits.first));
    loop {
        tokio::select! {
            _ = connection.as_mut() => return,
            () = patience.as_mut(), if !has_asked() => if !has_asked() { return },
            () = crowd.notified() => {
                if has_asked() {
                    // Closes the connection immediately, or after the answer that is due.
                    connection.as_mut().graceful_shutdown();
                } else if opened.elapsed() >= CROWDED_LIMIT {
                    return;
                }
            }
        }
    }
}

async fn answer(
    routes: &TowerToHyperService<Router>,
    request: Request<Incoming>,
    part: Duration,
    callers: &Callers,
) -> Result<Response<Body>, Infallible> {
    let is_link = || request.method() == Method::GET && guard::is_link(request.uri(), request.headers());
    match (guard::refusal(&request, callers), callers.on_link) {
        (Some(_), Some(on_link)) if is_link() => Ok(on_link()),
        (Some(reason), _) => Ok(refused(reason)),
        (None, _) => routes.call(request.map(|body| bounded(Body::new(body), part))).await,
    }
}

pub(crate) fn refused(reason: String) -> Response<Body> {
    let mut response = Response::new(Body::from(reason + "\n"));
    *response.status_mut() = StatusCode::FORBIDDEN;
    for (name, value) in [
        ("content-type", "text/plain; charset=utf-8"),
        ("cross-origin-resource-policy", "same-origin"),
        ("x-content-type-options", "nosniff"),
    ] {
        response.headers_mut().insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    response
}

/// Returns a body that ends with an error if no part of it arrives in time.
fn bounded(body: Body, part: Duration) -> Body {
    let parts = stream::try_unfold(body.into_data_stream(), move |mut rest| async move {
        match timeout(part, rest.next()).await {
            Ok(next) => Ok(next.transpose()?.map(|bytes| (bytes, rest))),
            Err(late) => Err(axum::Error::new(late)),
        }
    });
    Body::from_stream(parts)
}

#[cfg(test)]
mod tests;
